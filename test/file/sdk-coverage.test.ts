// The convenience methods of the SDK, which combine several operations and which programs use most.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { cleanUp, tempFolder } from '../server-process.ts'
import { startFileFixture } from './fixture.ts'

const MIB = 1024 * 1024
/** Not aligned, and different at every offset. */
const BIG = Buffer.alloc(9 * MIB + 3)
for (let at = 0; at + 4 <= BIG.length; at += 4) BIG.writeUInt32LE(at, at)

const { service, share } = await startFileFixture()
await share.setMetadata({ a: '1' })
const folder = tempFolder('file-sdk')
after(cleanUp)

test('the service client creates and deletes shares, and IfExists methods report existing and missing ones', async () => {
  const { shareClient } = await service.createShare('second')
  assert.equal((await shareClient.createIfNotExists()).succeeded, false)
  const names: string[] = []
  for await (const page of service.listShares().byPage({ maxPageSize: 1 }))
    names.push(...(page.shareItems ?? []).map(({ name }) => name))
  assert.deepEqual(names, ['box', 'second'])
  await service.deleteShare('second')
  assert.equal((await shareClient.deleteIfExists()).succeeded, false)
})

test('the directory client creates and deletes subdirectories and files', async () => {
  const { directoryClient } = await share.createDirectory('dir')
  const { directoryClient: inner } = await directoryClient.createSubdirectory('inner')
  assert.equal((await inner.createIfNotExists()).succeeded, false)
  const { fileClient } = await inner.createFile('file', 3)
  await inner.deleteFile('file')
  assert.equal((await fileClient.deleteIfExists()).succeeded, false)
  await directoryClient.deleteSubdirectory('inner')
  assert.equal((await inner.deleteIfExists()).succeeded, false)
  assert.equal((await directoryClient.deleteIfExists()).succeeded, true)
})

test('directories and handles are listed in pages', async () => {
  const { directoryClient } = await share.createDirectory('pages')
  for (const name of ['a', 'b', 'c']) await directoryClient.createFile(name, 1)
  const pages: string[][] = []
  for await (const { segment } of directoryClient
    .listFilesAndDirectories()
    .byPage({ maxPageSize: 2 }))
    pages.push(segment.fileItems.map(({ name }) => name))
  assert.deepEqual(pages, [['a', 'b'], ['c']])
  for await (const { handleList = [] } of directoryClient.listHandles().byPage({ maxPageSize: 2 }))
    assert.deepEqual(handleList, [])
  const closed = await directoryClient.forceCloseAllHandles({ recursive: true })
  assert.deepEqual(closed, { closedHandlesCount: 0, closeFailureCount: 0 })
})

test('a big file is uploaded from bytes, a stream and a file, and downloaded', async () => {
  const path = join(folder, 'big')
  writeFileSync(path, BIG)
  const root = share.rootDirectoryClient
  const options = { rangeSize: MIB, concurrency: 3 }
  await root.getFileClient('bytes').uploadData(BIG, options)
  await root.getFileClient('path').uploadFile(path, options)
  await root.getFileClient('stream').uploadStream(Readable.from([BIG]), BIG.length, MIB, 3)
  for (const name of ['bytes', 'path', 'stream']) {
    const file = root.getFileClient(name)
    const parallel = await file.downloadToBuffer(0, BIG.length, { rangeSize: MIB, concurrency: 3 })
    assert(BIG.equals(parallel), name)
    await file.downloadToFile(`${path}-back`)
    assert(BIG.equals(readFileSync(`${path}-back`)), name)
  }
})

test('a file of a snapshot is read', async () => {
  const file = share.rootDirectoryClient.getFileClient('past')
  await file.uploadData(Buffer.from('first'))
  const { snapshot = '' } = await share.createSnapshot()
  await file.uploadData(Buffer.from('second'))
  assert.equal(String(await file.withShareSnapshot(snapshot).downloadToBuffer()), 'first')
})
