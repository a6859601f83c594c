// The conveniences of the SDK, which are made of several operations: what programs call most, each as its user
// writes it.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { ShareServiceClient, type ShareClient } from '@azure/storage-file-share'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'

const MIB = 1024 * 1024
/** Off any boundary, and different at every place. */
const BIG = Buffer.alloc(9 * MIB + 3)
for (let at = 0; at + 4 <= BIG.length; at += 4) BIG.writeUInt32LE(at, at)

let server: TestServer
let service: ShareServiceClient
let share: ShareClient
let folder: string

before(async () => {
  server = await startTestServer()
  service = ShareServiceClient.fromConnectionString(server.connectionString)
  share = (await service.createShare('box', { metadata: { a: '1' } })).shareClient
  folder = tempFolder('file-sdk')
})
after(async () => {
  await server.close()
  await cleanUp()
})

test('a share is created and deleted by the service; what is there or gone already is no error', async () => {
  const { shareClient } = await service.createShare('second')
  assert.equal((await shareClient.createIfNotExists()).succeeded, false)
  const names: string[] = []
  for await (const page of service.listShares().byPage({ maxPageSize: 1 }))
    names.push(...(page.shareItems ?? []).map(({ name }) => name))
  assert.deepEqual(names, ['box', 'second'])
  await service.deleteShare('second')
  assert.equal((await shareClient.deleteIfExists()).succeeded, false)
})

test('subdirectories and files, made and deleted by their directory', async () => {
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

test('pages of a directory and of its handles', async () => {
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

test('a big file from bytes, a stream and a file, in ranges, and back', async () => {
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

test('a file of a snapshot', async () => {
  const file = share.rootDirectoryClient.getFileClient('past')
  await file.uploadData(Buffer.from('first'))
  const { snapshot = '' } = await share.createSnapshot()
  await file.uploadData(Buffer.from('second'))
  assert.equal(String(await file.withShareSnapshot(snapshot).downloadToBuffer()), 'first')
})
