// A change by one door is seen at the other at once: REST's by SMB clients that watch or list a directory, SMB's by
// List Directories and Files.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ShareDirectoryClient } from '@azure/storage-file-share'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION } from './client-message.ts'
import { statusOf, type SmbClient } from './smb-client.ts'

let doors: Doors
let client: SmbClient

before(async () => {
  doors = await openDoors()
  client = await doors.smb()
})
after(() => doors.close())

async function newDirectory(): Promise<ShareDirectoryClient> {
  const directory = doors.share.getDirectoryClient(doors.newName())
  await directory.create()
  await directory.getFileClient('there').create(100)
  return directory
}

const listed = async (directory: ShareDirectoryClient) =>
  (await itemsOf(directory.listFilesAndDirectories())).map(({ name }) => name)

describe('a client that watches a directory is told of', () => {
  const names = NOTIFY.fileName | NOTIFY.directoryName
  for (const [what, filter, work, expected] of [
    ['Create File', names, (at) => at.getFileClient('new').create(1), ['added new']],
    ['Create Directory', names, (at) => at.createSubdirectory('sub'), ['added sub']],
    ['Delete File', names, (at) => at.getFileClient('there').delete(), ['removed there']],
    [
      'Rename File',
      names,
      (at) => at.getFileClient('there').rename(`${at.path}/other`),
      ['from there', 'to other'],
    ],
    [
      'Put Range',
      NOTIFY.lastWrite,
      (at) => at.getFileClient('there').uploadRange('x', 0, 1),
      ['modified there'],
    ],
    ['Resize', NOTIFY.size, (at) => at.getFileClient('there').resize(7), ['modified there']],
  ] as readonly (readonly [
    string,
    number,
    (at: ShareDirectoryClient) => Promise<unknown>,
    readonly string[],
  ])[]) {
    test(`${what}: ${expected.join(', ')}`, async () => {
      const directory = await newDirectory()
      const handle = await client.open(directory.path, { options: OPTION.directory })
      const { pending, changes } = handle.watch(filter)
      await pending
      await work(directory)
      assert.deepEqual(await changes, expected)
    })
  }

  test('what happens below it, if it asks for that', async () => {
    const directory = await newDirectory()
    const sub = directory.getDirectoryClient('sub')
    await sub.create()
    const handle = await client.open(directory.path, { options: OPTION.directory })
    const { pending, changes } = handle.watch(NOTIFY.fileName, true)
    await pending
    await sub.getFileClient('deep').create(1)
    assert.deepEqual(await changes, ['added sub\\deep'])
  })
})

describe('what SMB', () => {
  test('creates is listed at once', async () => {
    const directory = await newDirectory()
    const disposition = DISPOSITION.create
    await client.open(`${directory.path}\\Made by SMB`, { access: ACCESS.all, disposition })
    await client.open(`${directory.path}\\Folder`, { disposition, options: OPTION.directory })
    assert.deepEqual((await listed(directory)).toSorted(), ['Folder', 'Made by SMB', 'there'])
  })

  test('writes is listed with what Get File Properties says of it', async () => {
    const directory = await newDirectory()
    const handle = await client.open(`${directory.path}\\there`, { access: ACCESS.all })
    await handle.write(500, 'x')
    const include = { includeTimestamps: true, includeEtag: true, includeAttributes: true }
    const [item] = await itemsOf(directory.listFilesAndDirectories(include))
    assert(item?.kind === 'file')
    const now = await directory.getFileClient('there').getProperties()
    assert.equal(item.properties.contentLength, 501)
    assert.equal(item.properties.etag, now.etag)
    assert.deepEqual(item.properties.lastWriteTime, now.fileLastWriteOn)
    assert.deepEqual(item.properties.changeTime, now.fileChangeOn)
  })

  test('renames is found by its new name, with its handle', async () => {
    const directory = await newDirectory()
    const handle = await client.open(`${directory.path}\\there`, { access: ACCESS.all })
    await handle.rename(`${directory.path}\\moved`)
    assert.deepEqual(await listed(directory), ['moved'])
    assert.equal(
      await outcomeOf(directory.getFileClient('there').getProperties()),
      '404 ResourceNotFound',
    )
    await handle.write(0, 'after the rename')
    const moved = directory.getFileClient('moved')
    assert.equal(String(await moved.downloadToBuffer(0, 16)), 'after the rename')
  })

  test('deletes is gone', async () => {
    const directory = await newDirectory()
    const access = ACCESS.delete
    const handle = await client.open(`${directory.path}\\there`, { access })
    await handle.setDisposition(true)
    await handle.close()
    assert.deepEqual(await listed(directory), [])
    assert.equal(await outcomeOf(directory.delete()), 'ok')
  })
})

describe('what REST', () => {
  test('creates, renames and deletes is what QUERY_DIRECTORY lists', async () => {
    const directory = await newDirectory()
    const handle = await client.open(directory.path, { options: OPTION.directory })
    assert.deepEqual(await handle.names(), ['there'])
    await directory.getFileClient('new').create(1)
    assert.deepEqual(await handle.names(), ['new', 'there'])
    await directory.getFileClient('there').rename(`${directory.path}/zebra`)
    assert.deepEqual(await handle.names(), ['new', 'zebra'])
    await directory.getFileClient('new').delete()
    assert.deepEqual(await handle.names(), ['zebra'])
  })

  test('renames under an SMB handle stays open under it', async () => {
    const directory = await newDirectory()
    const handle = await client.open(`${directory.path}\\there`, { access: ACCESS.all })
    await directory.getFileClient('there').rename(`${directory.path}/moved`)
    await handle.write(0, 'still mine')
    const moved = directory.getFileClient('moved')
    assert.equal(String(await moved.downloadToBuffer(0, 10)), 'still mine')
    assert.equal(await statusOf(client.open(`${directory.path}\\there`)), 'OBJECT_NAME_NOT_FOUND')
  })

  test('creates over a file that an SMB handle shares is what that handle reads', async () => {
    const directory = await newDirectory()
    const file = directory.getFileClient('there')
    const handle = await client.open(`${directory.path}\\there`, { access: ACCESS.all })
    await file.create(3)
    await file.uploadRange('new', 0, 3)
    assert.equal(String(await handle.read(0, 100)), 'new')
    await handle.write(3, '!')
    assert.equal(String(await file.downloadToBuffer()), 'new!')
  })
})
