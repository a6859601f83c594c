// The File service with `az storage share`, `directory` and `file`, as scripts use them. Every call takes a second to
// start, so there are few of them, two at a time, and the SDK checks their results.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ShareServiceClient, type ShareClient } from '@azure/storage-file-share'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { AZ_SUITE, azStorage } from './az.ts'
import type { Client } from './program.ts'

/** az uploads more than 4 MiB in several ranges. */
const BIG = Buffer.alloc(9 * 1024 * 1024 + 5)
for (let at = 0; at < BIG.length; at += 4_096) BIG.write(`piece at ${at}`, at)

describe('az storage share, directory, file', AZ_SUITE, () => {
  let server: TestServer
  let az: Client
  let share: ShareClient
  let folder: string

  before(async () => {
    server = await startTestServer()
    folder = tempFolder('az-file')
    az = azStorage(server.connectionString)
    share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('box')
    await share.create()
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  const IN_BOX = ['--share-name', 'box']

  async function put(path: string, text: string): Promise<void> {
    const file = share.rootDirectoryClient.getFileClient(path)
    await file.create(Buffer.byteLength(text))
    if (text !== '') await file.uploadRange(text, 0, Buffer.byteLength(text))
  }

  const textOf = async (path: string) =>
    String(await share.rootDirectoryClient.getFileClient(path).downloadToBuffer())

  const json = async (...args: string[]): Promise<unknown> => JSON.parse(await az.ok(...args))

  test('share create, show, update, exists, list, delete', async () => {
    const name = ['--name', 'made']
    const created = await json('share', 'create', ...name, '--quota', '5', '--metadata', 'owner=me')
    assert.deepEqual(created, { created: true })
    await az.ok('share', 'update', ...name, '--quota', '6')
    const returned = await json('share', 'show', ...name)
    assert.partialDeepStrictEqual(returned, { metadata: { owner: 'me' }, properties: { quota: 6 } })
    assert.deepEqual(await json('share', 'exists', ...name), { exists: true })
    const listed = await json('share', 'list', '--prefix', 'mad', '--query', '[].name')
    assert.deepEqual(listed, ['made'])
    assert.deepEqual(await json('share', 'delete', ...name), { deleted: true })
  })

  test('share metadata, stats, url, handles', async () => {
    await az.ok('share', 'metadata', 'update', '--name', 'box', '--metadata', 'a=1')
    assert.deepEqual((await share.getProperties()).metadata, { a: '1' })
    assert.equal(await json('share', 'url', '--name', 'box'), share.url)
    assert.equal(typeof (await json('share', 'stats', '--name', 'box')), 'string')
    const handles = await json('share', 'list-handle', '--name', 'box', '--recursive')
    assert.partialDeepStrictEqual(handles, { items: [] })
  })

  test('share snapshot, and a file in it', async () => {
    const kept = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient(
      'kept',
    )
    await kept.create()
    await kept.createFile('file', 5)
    const snapshot = await json('share', 'snapshot', '--name', 'kept', '--query', 'snapshot')
    assert(typeof snapshot === 'string')
    await kept.deleteFile('file')
    const where = ['--share-name', 'kept', '--path', 'file', '--snapshot', snapshot]
    const returned = await json('file', 'show', ...where, '--query', 'properties.contentLength')
    assert.equal(returned, 5)
    assert.match(await az.fails('share', 'delete', '--name', 'kept'), /ShareHasSnapshots/)
  })

  test('directory create, exists, show, metadata, list, delete', async () => {
    const name = [...IN_BOX, '--name', 'größe & co']
    const created = await json('directory', 'create', ...name, '--metadata', 'k=v')
    assert.deepEqual(created, { created: true })
    assert.deepEqual(await json('directory', 'exists', ...name), { exists: true })
    assert.partialDeepStrictEqual(await json('directory', 'show', ...name), {
      metadata: { k: 'v' },
    })
    await az.ok('directory', 'metadata', 'update', ...name, '--metadata', 'm=w')
    const listed = await json('directory', 'list', ...IN_BOX, '--query', '[].name')
    assert(Array.isArray(listed) && listed.includes('größe & co'), JSON.stringify(listed))
    assert.deepEqual(await json('directory', 'delete', ...name), { deleted: true })
  })

  test('file upload, show, download', async () => {
    const file = join(folder, 'größe & co.txt')
    writeFileSync(file, 'grüße')
    await share.createDirectory('texts')
    const at = [...IN_BOX, '--path', 'texts/größe & co.txt']
    const settings = ['--content-cache', 'no-cache', '--metadata', 'k=v', 'm=w']
    await az.ok('file', 'upload', ...at, '--source', file, ...settings)
    assert.partialDeepStrictEqual(await json('file', 'show', ...at), {
      name: 'größe & co.txt',
      metadata: { k: 'v', m: 'w' },
      properties: {
        contentLength: Buffer.byteLength('grüße'),
        contentSettings: { contentType: 'text/plain', cacheControl: 'no-cache' },
      },
    })
    const back = join(folder, 'back.txt')
    await az.ok('file', 'download', ...at, '--dest', back)
    assert.equal(readFileSync(back, 'utf8'), 'grüße')
  })

  test('file upload of a big file, in ranges', async () => {
    const file = join(folder, 'big.bin')
    writeFileSync(file, BIG)
    // az would treat a name without a dot as a directory.
    await az.ok('file', 'upload', ...IN_BOX, '--path', 'big.bin', '--source', file)
    assert(BIG.equals(await share.rootDirectoryClient.getFileClient('big.bin').downloadToBuffer()))
    const back = join(folder, 'big.back')
    await az.ok('file', 'download', ...IN_BOX, '--path', 'big.bin', '--dest', back)
    assert(BIG.equals(readFileSync(back)))
  })

  test('file resize, update, metadata, exists, url, delete', async () => {
    await put('changed', 'hello')
    const at = [...IN_BOX, '--path', 'changed']
    await az.ok('file', 'resize', ...at, '--size', '3')
    await az.ok('file', 'update', ...at, '--content-type', 'text/html')
    await az.ok('file', 'metadata', 'update', ...at, '--metadata', 'k=v')
    const file = share.rootDirectoryClient.getFileClient('changed')
    const { contentLength, contentType, metadata } = await file.getProperties()
    assert.deepEqual([contentLength, contentType, metadata], [3, 'text/html', { k: 'v' }])
    assert.deepEqual(await json('file', 'exists', ...at), { exists: true })
    assert.equal(await json('file', 'url', ...at), file.url)
    await az.ok('file', 'delete', ...at)
    assert.equal(await file.exists(), false)
    assert.match(await az.fails('file', 'delete', ...at), /ErrorCode:ResourceNotFound/)
  })

  test('file list', async () => {
    await share.createDirectory('list')
    for (const name of ['b', 'a']) await put(`list/${name}`, name)
    await share.createDirectory('list/c')
    const flags = ['--path', 'list', '--query', '[].[name, type]']
    const listed = await json('file', 'list', ...IN_BOX, ...flags)
    assert.deepEqual(listed, [
      ['c', 'dir'],
      ['a', 'file'],
      ['b', 'file'],
    ])
  })

  test('file copy start', async () => {
    await put('source', 'copied')
    const source = ['--source-share', 'box', '--source-path', 'source']
    const target = ['--destination-share', 'box', '--destination-path', 'target']
    const copied = await json('file', 'copy', 'start', ...source, ...target)
    assert.partialDeepStrictEqual(copied, { status: 'success' })
    assert.equal(await textOf('target'), 'copied')
  })

  test('file upload-batch, download-batch, delete-batch', async () => {
    const source = join(folder, 'tree')
    mkdirSync(join(source, 'inner'), { recursive: true })
    writeFileSync(join(source, 'one.txt'), '1')
    writeFileSync(join(source, 'inner', 'two.txt'), '2')
    const batch = ['--destination', 'box', '--destination-path', 'batch']
    await az.ok('file', 'upload-batch', '--source', source, ...batch)
    assert.deepEqual(
      [await textOf('batch/one.txt'), await textOf('batch/inner/two.txt')],
      ['1', '2'],
    )
    const back = join(folder, 'tree-back')
    mkdirSync(back)
    await az.ok('file', 'download-batch', '--source', 'box/batch', '--destination', back)
    assert.equal(readFileSync(join(back, 'inner', 'two.txt'), 'utf8'), '2')
    await az.ok('file', 'delete-batch', '--source', 'box/batch', '--pattern', '*.txt')
    assert.equal(await share.getDirectoryClient('batch').getFileClient('one.txt').exists(), false)
  })

  test('share policy and a SAS with it, and a SAS for a file', async () => {
    await put('guarded', 'x')
    const policy = ['--name', 'readers', '--permissions', 'r', '--expiry', '2099-01-01T00:00Z']
    await az.ok('share', 'policy', 'create', ...IN_BOX, ...policy)
    const standing = ['--name', 'box', '--policy-name', 'readers']
    const file = share.rootDirectoryClient.getFileClient('guarded').url
    for (const sas of [
      await json('share', 'generate-sas', ...standing),
      await json(
        'file',
        'generate-sas',
        ...IN_BOX,
        '--path',
        'guarded',
        '--permissions',
        'r',
        '--expiry',
        '2099-01-01T00:00Z',
      ),
    ]) {
      assert.equal(await (await fetch(`${file}?${String(sas)}`)).text(), 'x')
    }
  })
})
