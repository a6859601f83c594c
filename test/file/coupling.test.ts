// Other effects of SMB clients on REST: locked byte ranges, files marked for deletion, and the ReadOnly attribute,
// which both protocols respect.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import { rawRequest } from '../harness.ts'
import {
  DELETES,
  LENGTH_BYTES,
  NAMES,
  newFile,
  fileWorld,
  outcomeUnhindered,
  REPLACES,
  run,
  WRITES,
  type OperationName,
} from './file-operations.ts'
import { itemsOf, lockRange, markForDeletion, openPlace, outcomeOf, placeOf } from './smb-client.ts'

const world = await fileWorld('coupled')

const isOneOf = (names: readonly OperationName[], name: OperationName) => names.includes(name)
const place = (file: ShareFileClient) => placeOf(world.server, 'coupled', file.path)

async function newLocked(isExclusive: boolean): Promise<ShareFileClient> {
  const file = await newFile(world)
  await lockRange(
    world.server,
    await openPlace(world.server, await place(file)),
    600,
    10,
    isExclusive,
  )
  return file
}

const CONFLICT = '409 FileLockConflict'

describe('a file with a locked byte range', () => {
  for (const isExclusive of [true, false]) {
    for (const name of NAMES) {
      const isRefused =
        isOneOf([...WRITES, ...REPLACES], name) || (isExclusive && name === 'Get File')
      // The handle with the lock prevents the deletion, too.
      const isOpen = isOneOf(DELETES, name)
      const free = isOpen ? '409 SharingViolation' : outcomeUnhindered(name)
      const expected = isRefused ? CONFLICT : free
      test(`${isExclusive ? 'exclusively' : 'shared'}: ${name} → ${expected}`, async () => {
        const file = await newLocked(isExclusive)
        assert.equal(await outcomeOf(run(name, file, world)), expected)
      })
    }
  }

  for (const [offset, count, expected] of [
    [0, 600, 'ok'],
    [0, 601, CONFLICT],
    [609, 1, CONFLICT],
    [610, 100, 'ok'],
  ] as const) {
    test(`Get File from ${offset}, ${count} bytes → ${expected}`, async () => {
      const file = await newLocked(true)
      assert.equal(await outcomeOf(file.download(offset, count)), expected)
    })
  }

  test('refuses Put Range anywhere in the file', async () => {
    const file = await newLocked(false)
    assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), CONFLICT)
    assert.equal(await outcomeOf(file.uploadRange('x', 2_000, 1)), CONFLICT)
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(file.uploadRange('x', 605, 1)), 'ok')
  })
})

const PENDING = '409 SMBDeletePending'

describe('a file that is marked for deletion', () => {
  async function newPending(): Promise<ShareFileClient> {
    const file = await newFile(world)
    await openPlace(world.server, await place(file))
    await markForDeletion(world.server, await place(file), true)
    return file
  }
  const listed = async () => {
    const root = world.share.rootDirectoryClient
    return (await itemsOf(root.listFilesAndDirectories())).map(({ name }) => name)
  }

  for (const name of NAMES) {
    test(`${name} → ${PENDING}`, async () => {
      assert.equal(await outcomeOf(run(name, await newPending(), world)), PENDING)
    })
  }

  test(`Create Directory with its name → ${PENDING}`, async () => {
    const file = await newPending()
    assert.equal(await outcomeOf(world.share.createDirectory(file.path)), PENDING)
  })

  test('is hidden from lists until the mark is removed', async () => {
    const file = await newPending()
    assert.equal((await listed()).includes(file.name), false)
    await markForDeletion(world.server, await place(file), false)
    assert.equal((await listed()).includes(file.name), true)
    assert.equal(await outcomeOf(run('Get File Properties', file, world)), 'ok')
    assert.equal(await outcomeOf(run('Put Range', file, world)), 'ok')
  })

  test('is deleted with its last handle, which frees the name', async () => {
    const file = await newPending()
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(run('Get File Properties', file, world)), '404 ResourceNotFound')
    assert.equal(await outcomeOf(run('Put Range', file, world)), '404 ResourceNotFound')
    assert.equal((await listed()).includes(file.name), false)
    await file.create(LENGTH_BYTES)
  })

  test('no longer counts towards the usage of the share once deleted', async () => {
    const usage = async () => (await world.share.getStatistics()).shareUsageBytes
    const before = await usage()
    const file = await newPending()
    await file.forceCloseAllHandles()
    assert.equal(await usage(), before)
  })

  test('is unchanged in a snapshot', async () => {
    const file = await newFile(world)
    const { snapshot = '' } = await world.share.createSnapshot()
    await openPlace(world.server, await place(file))
    await markForDeletion(world.server, await place(file), true)
    const past = world.share.withSnapshot(snapshot).rootDirectoryClient
    assert.equal(await outcomeOf(run('Get File', past.getFileClient(file.name), world)), 'ok')
    const names = (await itemsOf(past.listFilesAndDirectories())).map(({ name }) => name)
    assert(names.includes(file.name))
    await file.forceCloseAllHandles()
    assert.equal(await outcomeOf(run('Get File', past.getFileClient(file.name), world)), 'ok')
  })
})

describe('a directory that is marked for deletion', () => {
  for (const [what, work] of [
    ['Get Directory Properties', (path) => world.share.getDirectoryClient(path).getProperties()],
    ['Set Directory Metadata', (path) => world.share.getDirectoryClient(path).setMetadata({})],
    ['Set Directory Properties', (path) => world.share.getDirectoryClient(path).setProperties()],
    ['Delete Directory', (path) => world.share.getDirectoryClient(path).delete()],
    ['Rename Directory', (path) => world.share.getDirectoryClient(path).rename(`${path}-new`)],
    ['Create Directory', (path) => world.share.createDirectory(path)],
    [
      'List Directories and Files',
      (path) => itemsOf(world.share.getDirectoryClient(path).listFilesAndDirectories()),
    ],
  ] as readonly (readonly [string, (path: string) => Promise<unknown>])[]) {
    // prettier-ignore
    test(`${what} → ${PENDING}`, async () => {
      const path = world.newName()
      await world.share.createDirectory(path)
      const directory = await placeOf(world.server, 'coupled', path)
      await openPlace(world.server, directory)
      await markForDeletion(world.server, directory, true)
      assert.equal(await outcomeOf(work(path)), PENDING)
      await world.share.getDirectoryClient(path).forceCloseAllHandles()
      const read = outcomeOf(world.share.getDirectoryClient(path).getProperties())
      assert.equal(await read, '404 ResourceNotFound')
    })
  }
})

describe('a ReadOnly file', () => {
  const READ_ONLY = '409 ReadOnlyAttribute'

  function send(path: string, headers: Readonly<Record<string, string>>) {
    return rawRequest({ blobPort: world.server.filePort }, { method: 'PUT', path, headers })
  }

  async function newReadOnly(): Promise<ShareFileClient> {
    const file = world.share.rootDirectoryClient.getFileClient(world.newName())
    const { status } = await send(`/coupled/${file.name}`, {
      'x-ms-type': 'file',
      'x-ms-content-length': String(LENGTH_BYTES),
      'x-ms-file-attributes': 'ReadOnly',
    })
    assert.equal(status, 201)
    return file
  }

  for (const name of NAMES) {
    const isRefused = isOneOf([...WRITES, ...REPLACES, ...DELETES], name)
    const expected = isRefused ? READ_ONLY : outcomeUnhindered(name)
    test(`${name} → ${expected}`, async () => {
      assert.equal(await outcomeOf(run(name, await newReadOnly(), world)), expected)
    })
  }

  test('can be made writable again', async () => {
    const file = await newReadOnly()
    const path = `/coupled/${file.name}?comp=properties`
    assert.equal((await send(path, { 'x-ms-file-attributes': 'None' })).status, 200)
    assert.equal(await outcomeOf(run('Put Range', file, world)), 'ok')
  })
})
