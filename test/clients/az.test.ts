// The Blob service with `az storage`, as scripts use it. Every call takes a second to start, so there are few of them,
// two at a time, and the SDK checks their results.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { AZ_SUITE, azStorage } from './az.ts'
import type { Client } from './program.ts'

/** az uploads more than 64 MiB in blocks of 4 MiB. */
const BLOCK_BYTES = 4 * 1024 * 1024
const BIG = Buffer.alloc(16 * BLOCK_BYTES + 5)
for (let at = 0; at < BIG.length; at += 4_096) BIG.write(`piece at ${at}`, at)

describe('az storage', AZ_SUITE, () => {
  let server: TestServer
  let az: Client
  let service: BlobServiceClient
  let box: ContainerClient
  let folder: string

  before(async () => {
    server = await startTestServer()
    folder = tempFolder('az')
    az = azStorage(server.connectionString)
    const created = await az.ok('container', 'create', '--name', 'box', '--metadata', 'owner=me')
    assert.deepEqual(JSON.parse(created), { created: true })
    service = BlobServiceClient.fromConnectionString(server.connectionString)
    box = service.getContainerClient('box')
    assert.deepEqual((await box.getProperties()).metadata, { owner: 'me' })
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  /** Arguments that name a blob of the container. */
  const blobNamed = (name: string): string[] => ['--container-name', 'box', '--name', name]

  async function put(name: string, text: string): Promise<void> {
    await box.getBlockBlobClient(name).upload(text, Buffer.byteLength(text))
  }

  async function text(name: string): Promise<string> {
    return (await box.getBlobClient(name).downloadToBuffer()).toString()
  }

  test('blob upload, show, download', async () => {
    const file = join(folder, 'größe & co.txt')
    writeFileSync(file, 'grüße')
    const name = blobNamed('texts/größe & co.txt')
    const settings = ['--content-cache', 'no-cache', '--metadata', 'k=v', 'm=w']
    await az.ok('blob', 'upload', ...name, '--file', file, ...settings)
    const returned: unknown = JSON.parse(await az.ok('blob', 'show', ...name))
    assert.partialDeepStrictEqual(returned, {
      name: 'texts/größe & co.txt',
      metadata: { k: 'v', m: 'w' },
      properties: {
        blobType: 'BlockBlob',
        contentLength: Buffer.byteLength('grüße'),
        contentSettings: { contentType: 'text/plain', cacheControl: 'no-cache' },
        lease: { state: 'available', status: 'unlocked' },
      },
    })
    const back = join(folder, 'back.txt')
    await az.ok('blob', 'download', ...name, '--file', back)
    assert.equal(readFileSync(back, 'utf8'), 'grüße')
  })

  test('blob upload of a big file, in blocks, with tags', async () => {
    const file = join(folder, 'big.bin')
    writeFileSync(file, BIG)
    await az.ok('blob', 'upload', ...blobNamed('big'), '--file', file, '--tags', 'kind=big')
    const blob = box.getBlockBlobClient('big')
    const { committedBlocks } = await blob.getBlockList('committed')
    const sizes = committedBlocks?.map(({ size }) => size)
    assert.deepEqual(sizes, [...Array.from({ length: 16 }, () => BLOCK_BYTES), 5])
    assert(BIG.equals(await blob.downloadToBuffer()))
    assert.deepEqual((await blob.getTags()).tags, { kind: 'big' })
  })

  test('blob list by prefix and delimiter', async () => {
    for (const name of ['list/a', 'list/b/1', 'list/b/2', 'list/c']) await put(name, 'x')
    const flags = ['--prefix', 'list/', '--delimiter', '/', '--query', '[].name']
    const listed = await az.ok('blob', 'list', '--container-name', 'box', ...flags)
    // az lists the folders of a page before its blobs.
    assert.deepEqual(JSON.parse(listed), ['list/b/', 'list/a', 'list/c'])
  })

  test('blob lease, without which a write is refused', async () => {
    await put('leased', 'first')
    const name = ['--container-name', 'box', '--blob-name', 'leased']
    const id: unknown = JSON.parse(await az.ok('blob', 'lease', 'acquire', ...name))
    assert(typeof id === 'string')
    const upload = ['blob', 'upload', ...blobNamed('leased'), '--overwrite', '--data', 'second']
    assert.match(await az.fails(...upload), /ErrorCode:LeaseIdMissing/)
    assert.equal(await text('leased'), 'first')
    await az.ok('blob', 'lease', 'release', ...name, '--lease-id', id)
    await put('leased', 'second')
  })

  test('blob upload over an existing blob only with --overwrite', async () => {
    await put('there', 'first')
    const output = await az.fails('blob', 'upload', ...blobNamed('there'), '--data', 'second')
    assert.match(output, /ErrorCode:BlobAlreadyExists/)
    assert.equal(await text('there'), 'first')
  })

  test('blob copy start', async () => {
    await put('copy/source', 'copied')
    const source = ['--source-container', 'box', '--source-blob', 'copy/source']
    const target = ['--destination-container', 'box', '--destination-blob', 'copy/target']
    const copied: unknown = JSON.parse(await az.ok('blob', 'copy', 'start', ...source, ...target))
    assert.partialDeepStrictEqual(copied, { copy_status: 'success' })
    assert.equal(await text('copy/target'), 'copied')
  })

  test('blob snapshot', async () => {
    await put('kept', 'first')
    const output = await az.ok('blob', 'snapshot', ...blobNamed('kept'), '--query', 'snapshot')
    const snapshot: unknown = JSON.parse(output)
    assert(typeof snapshot === 'string')
    await put('kept', 'second')
    const kept = await box.getBlobClient('kept').withSnapshot(snapshot).downloadToBuffer()
    assert.equal(kept.toString(), 'first')
  })

  test('blob upload to an append blob appends', async () => {
    const log = box.getAppendBlobClient('log')
    await log.create()
    await log.appendBlock('one,', 4)
    const file = join(folder, 'log.txt')
    writeFileSync(file, 'two')
    await az.ok('blob', 'upload', ...blobNamed('log'), '--type', 'append', '--file', file)
    assert.equal(await text('log'), 'one,two')
  })

  test('blob delete-batch by pattern', async () => {
    for (const name of ['batch/1.log', 'batch/2.log', 'batch/3.txt']) await put(name, 'x')
    await az.ok('blob', 'delete-batch', '--source', 'box', '--pattern', 'batch/*.log')
    const names: string[] = []
    for await (const { name } of box.listBlobsFlat({ prefix: 'batch/' })) names.push(name)
    assert.deepEqual(names, ['batch/3.txt'])
  })

  test('container delete', async () => {
    const { containerClient } = await service.createContainer('gone')
    const deleted = await az.ok('container', 'delete', '--name', 'gone')
    assert.deepEqual(JSON.parse(deleted), { deleted: true })
    assert.equal(await containerClient.exists(), false)
  })
})
