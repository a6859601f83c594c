// List Handles shows the handles of SMB clients, and Force Close Handles closes them: the client's next request fails,
// and operations that the handle prevented succeed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareClient } from '@azure/storage-file-share'
import { newFile, run } from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION, SHARE } from './client-message.ts'
import { statusOf, type SmbClient } from './smb-client.ts'

const world = await openRestAndSmb()
const client = await world.smb()

describe('List Handles', () => {
  for (const [access, expected] of [
    [ACCESS.read, ['Read']],
    [ACCESS.write, ['Write']],
    [ACCESS.delete, ['Delete']],
    [ACCESS.read | ACCESS.write, ['Read', 'Write']],
    [ACCESS.all, ['Read', 'Write', 'Delete']],
  ] as const) {
    test(`shows a handle with access ${expected.join(', ')}`, async () => {
      const file = await newFile(world)
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

  test('shows every open handle of every client', async () => {
    const file = await newFile(world)
    const other = await world.smb()
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

  test('shows handles of the root and, separately, of a snapshot', async () => {
    const { snapshot = '' } = await world.share.createSnapshot()
    const label = `@GMT-${snapshot.slice(0, 10).replaceAll('-', '.')}-${snapshot.slice(11, 19).replaceAll(':', '.')}`
    const lone = await world.smb()
    await lone.open('', { options: OPTION.directory })
    await lone.open(`${label}\\source`)
    const isLone = ({ clientIp }: { readonly clientIp: string }) =>
      clientIp === `127.0.0.1:${lone.localPort}`
    const pathsOf = async (at: ShareClient) => {
      const handles = await itemsOf(at.rootDirectoryClient.listHandles({ recursive: true }))
      return handles.filter(isLone).map(({ path }) => path)
    }
    assert.deepEqual(await pathsOf(world.share), [''])
    assert.deepEqual(await pathsOf(world.share.withSnapshot(snapshot)), ['source'])
  })

  test('shows the new path after a rename by SMB', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.all })
    const name = world.newName()
    await handle.rename(name)
    const renamed = world.share.rootDirectoryClient.getFileClient(name)
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
    test(`makes ${what} on the handle fail with FILE_CLOSED`, async () => {
      const file = await newFile(world)
      const handle = await client.open(file.path, { access: ACCESS.all })
      const { closedHandlesCount } = await file.forceCloseAllHandles()
      assert.equal(closedHandlesCount, 1)
      assert.equal(await statusOf(use(handle)), 'FILE_CLOSED')
    })
  }

  test('closes one handle by its id', async () => {
    const file = await newFile(world)
    const handles = [await client.open(file.path), await client.open(file.path)] as const
    const id = String(handles[0].opened.fileId.readBigUInt64LE(0))
    await file.forceCloseHandle(id)
    assert.equal(await statusOf(handles[0].read(0, 1)), 'FILE_CLOSED')
    assert.equal(await statusOf(handles[1].read(0, 1)), 'SUCCESS')
  })

  test('removes locks, share modes and a deletion mark', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.all, share: SHARE.none })
    await handle.lock(0, 1)
    assert.equal(await outcomeOf(run('Put Range', file, world)), '409 SharingViolation')
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(run('Put Range', file, world)), 'ok')
    assert.equal(await statusOf(client.open(file.path, { access: ACCESS.all })), 'SUCCESS')
  })

  test('deletes a file that was marked for deletion', async () => {
    const file = await newFile(world)
    const options = OPTION.deleteOnClose
    await client.open(file.path, { access: ACCESS.delete, options })
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })

  test('closes handles in a directory and below it', async () => {
    const directory = world.share.getDirectoryClient(world.newName())
    await directory.create()
    await directory.createSubdirectory('sub')
    const terms = { disposition: DISPOSITION.create, access: ACCESS.all }
    const inside = await client.open(`${directory.path}\\sub\\a`, terms)
    const itself = await client.open(directory.path, { options: OPTION.directory })
    const beside = await client.open((await newFile(world)).path)
    assert.equal((await itemsOf(directory.listHandles({ recursive: true }))).length, 2)
    assert.equal((await itemsOf(directory.listHandles({ recursive: false }))).length, 1)
    const { closedHandlesCount } = await directory.forceCloseAllHandles({ recursive: true })
    assert.equal(closedHandlesCount, 2)
    assert.equal(await statusOf(inside.read(0, 1)), 'FILE_CLOSED')
    assert.equal(await statusOf(itself.names()), 'FILE_CLOSED')
    assert.equal(await statusOf(beside.read(0, 1)), 'SUCCESS')
  })

  test('ends a waiting CHANGE_NOTIFY', async () => {
    const directory = world.share.getDirectoryClient(world.newName())
    await directory.create()
    const handle = await client.open(directory.path, { options: OPTION.directory })
    const { pending, changes } = handle.watch(NOTIFY.fileName)
    const ended = statusOf(changes)
    await pending
    await directory.forceCloseAllHandles()
    assert.equal(await ended, 'NOTIFY_CLEANUP')
  })
})
