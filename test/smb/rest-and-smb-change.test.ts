// Changes over one protocol are visible over the other at once: those by REST to SMB clients that watch or list a
// directory, those by SMB to List Directories and Files.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareDirectoryClient } from '@azure/storage-file-share'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION } from './client-message.ts'
import { statusOf } from './smb-client.ts'

const world = await openRestAndSmb()
const client = await world.smb()

async function newDirectory(): Promise<ShareDirectoryClient> {
  const directory = world.share.getDirectoryClient(world.newName())
  await directory.create()
  await directory.getFileClient('there').create(100)
  return directory
}

const listed = async (directory: ShareDirectoryClient) =>
  (await itemsOf(directory.listFilesAndDirectories())).map(({ name }) => name)

describe('a client that watches a directory is notified of', () => {
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

  test('changes below it, if it watches the whole tree', async () => {
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

describe('a file that SMB', () => {
  test('creates is listed at once', async () => {
    const directory = await newDirectory()
    const disposition = DISPOSITION.create
    await client.open(`${directory.path}\\Made by SMB`, { access: ACCESS.all, disposition })
    await client.open(`${directory.path}\\Folder`, { disposition, options: OPTION.directory })
    assert.deepEqual((await listed(directory)).toSorted(), ['Folder', 'Made by SMB', 'there'])
  })

  test('writes is listed with the values of Get File Properties', async () => {
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

describe('a file that REST', () => {
  test('creates, renames or deletes is listed accordingly by QUERY_DIRECTORY', async () => {
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

  test('renames stays open under an SMB handle', async () => {
    const directory = await newDirectory()
    const handle = await client.open(`${directory.path}\\there`, { access: ACCESS.all })
    await directory.getFileClient('there').rename(`${directory.path}/moved`)
    await handle.write(0, 'still mine')
    const moved = directory.getFileClient('moved')
    assert.equal(String(await moved.downloadToBuffer(0, 10)), 'still mine')
    assert.equal(await statusOf(client.open(`${directory.path}\\there`)), 'OBJECT_NAME_NOT_FOUND')
  })

  test('replaces is read by an existing SMB handle', async () => {
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
