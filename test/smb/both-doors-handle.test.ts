// List Handles shows what SMB clients have open, and Force Close Handles ends it: for the client, whose next request
// finds nothing, and for everybody who was kept out.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ShareClient } from '@azure/storage-file-share'
import { newFile, run } from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION, SHARE } from './client-message.ts'
import { statusOf, type SmbClient } from './smb-client.ts'

let doors: Doors
let client: SmbClient

before(async () => {
  doors = await openDoors()
  client = await doors.smb()
})
after(() => doors.close())

describe('List Handles', () => {
  for (const [access, expected] of [
    [ACCESS.read, ['Read']],
    [ACCESS.write, ['Write']],
    [ACCESS.delete, ['Delete']],
    [ACCESS.read | ACCESS.write, ['Read', 'Write']],
    [ACCESS.all, ['Read', 'Write', 'Delete']],
  ] as const) {
    test(`shows who has a file open for ${expected.join(', ')}`, async () => {
      const file = await newFile(doors)
      const { opened } = await client.open(file.path, { access })
      const [found, ...more] = await itemsOf(file.listHandles())
      assert(found !== undefined)
      assert.equal(more.length, 0)
      assert.equal(found.clientIp, `127.0.0.1:${client.localPort}`)
      assert.deepEqual(found.accessRightList, expected)
      assert.equal(found.path, file.path)
      assert.equal(BigInt(found.handleId), opened.fileId.readBigUInt64LE(0))
    })
  }

  test('shows every handle of every client, and no longer those that are closed', async () => {
    const file = await newFile(doors)
    const other = await doors.smb()
    const first = await client.open(file.path)
    const second = await other.open(file.path)
    await other.open(file.path)
    const handles = await itemsOf(file.listHandles())
    assert.equal(handles.length, 3)
    assert.equal(new Set(handles.map(({ sessionId }) => sessionId)).size, 2)
    await first.close()
    await second.close()
    assert.equal((await itemsOf(file.listHandles())).length, 1)
  })

  test('shows the root, and a snapshot its own', async () => {
    const { snapshot = '' } = await doors.share.createSnapshot()
    const label = `@GMT-${snapshot.slice(0, 10).replaceAll('-', '.')}-${snapshot.slice(11, 19).replaceAll(':', '.')}`
    const lone = await doors.smb()
    await lone.open('', { options: OPTION.directory })
    await lone.open(`${label}\\source`)
    const isLone = ({ clientIp }: { readonly clientIp: string }) =>
      clientIp === `127.0.0.1:${lone.localPort}`
    const pathsOf = async (at: ShareClient) => {
      const handles = await itemsOf(at.rootDirectoryClient.listHandles({ recursive: true }))
      return handles.filter(isLone).map(({ path }) => path)
    }
    assert.deepEqual(await pathsOf(doors.share), [''])
    assert.deepEqual(await pathsOf(doors.share.withSnapshot(snapshot)), ['source'])
  })

  test('follows a file that SMB renames', async () => {
    const file = await newFile(doors)
    const handle = await client.open(file.path, { access: ACCESS.all })
    const name = doors.newName()
    await handle.rename(name)
    const renamed = doors.share.rootDirectoryClient.getFileClient(name)
    const [found] = await itemsOf(renamed.listHandles())
    assert.equal(found?.path, name)
  })
})

describe('Force Close Handles', () => {
  const uses = [
    ['READ', (handle) => handle.read(0, 1)],
    ['WRITE', (handle) => handle.write(0, 'x')],
    ['LOCK', (handle) => handle.lock(0, 1)],
    ['QUERY_INFO', (handle) => handle.basic()],
    ['SET_INFO', (handle) => handle.setDisposition(true)],
    ['CLOSE', (handle) => handle.close()],
  ] as readonly (readonly [
    string,
    (handle: Awaited<ReturnType<SmbClient['open']>>) => Promise<unknown>,
  ])[]

  for (const [what, use] of uses) {
    test(`${what} on a handle that REST has closed → FILE_CLOSED`, async () => {
      const file = await newFile(doors)
      const handle = await client.open(file.path, { access: ACCESS.all })
      const { closedHandlesCount } = await file.forceCloseAllHandles()
      assert.equal(closedHandlesCount, 1)
      assert.equal(await statusOf(use(handle)), 'FILE_CLOSED')
    })
  }

  test('closes the one that is named', async () => {
    const file = await newFile(doors)
    const handles = [await client.open(file.path), await client.open(file.path)] as const
    const id = String(handles[0].opened.fileId.readBigUInt64LE(0))
    await file.forceCloseHandle(id)
    assert.equal(await statusOf(handles[0].read(0, 1)), 'FILE_CLOSED')
    assert.equal(await statusOf(handles[1].read(0, 1)), 'SUCCESS')
  })

  test('frees locks, share modes and the mark of a deletion', async () => {
    const file = await newFile(doors)
    const handle = await client.open(file.path, { access: ACCESS.all, share: SHARE.none })
    await handle.lock(0, 1)
    assert.equal(await outcomeOf(run('Put Range', file, doors)), '409 SharingViolation')
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(run('Put Range', file, doors)), 'ok')
    assert.equal(await statusOf(client.open(file.path, { access: ACCESS.all })), 'SUCCESS')
  })

  test('deletes what is to go with its last handle', async () => {
    const file = await newFile(doors)
    const options = OPTION.deleteOnClose
    await client.open(file.path, { access: ACCESS.delete, options })
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })

  test('goes through a directory and all below it', async () => {
    const directory = doors.share.getDirectoryClient(doors.newName())
    await directory.create()
    await directory.createSubdirectory('sub')
    const terms = { disposition: DISPOSITION.create, access: ACCESS.all }
    const inside = await client.open(`${directory.path}\\sub\\a`, terms)
    const itself = await client.open(directory.path, { options: OPTION.directory })
    const beside = await client.open((await newFile(doors)).path)
    assert.equal((await itemsOf(directory.listHandles({ recursive: true }))).length, 2)
    assert.equal((await itemsOf(directory.listHandles({ recursive: false }))).length, 1)
    const { closedHandlesCount } = await directory.forceCloseAllHandles({ recursive: true })
    assert.equal(closedHandlesCount, 2)
    assert.equal(await statusOf(inside.read(0, 1)), 'FILE_CLOSED')
    assert.equal(await statusOf(itself.names()), 'FILE_CLOSED')
    assert.equal(await statusOf(beside.read(0, 1)), 'SUCCESS')
  })

  test('ends a CHANGE_NOTIFY that waits', async () => {
    const directory = doors.share.getDirectoryClient(doors.newName())
    await directory.create()
    const handle = await client.open(directory.path, { options: OPTION.directory })
    const { pending, changes } = handle.watch(NOTIFY.fileName)
    const ended = statusOf(changes)
    await pending
    await directory.forceCloseAllHandles()
    assert.equal(await ended, 'NOTIFY_CLEANUP')
  })
})
