// Copies of encrypted blobs: under the same scope slices are shared; under another key, or none, the bytes
// are encrypted anew and keep their blocks and holes. A source with a customer's key needs that key.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { rawRequest, startTestServer, type TestServer } from '../harness.ts'
import {
  keyHeaders,
  newKey,
  outcomeOf,
  startSecureServer,
  type SdkKey,
  type SecureServer,
} from './secure-server.ts'

const LONG = 'abc'.repeat(10_000)
type Headers = Readonly<Record<string, string>>

describe('scopes', () => {
  let server: TestServer
  let container: ContainerClient

  before(async () => {
    server = await startTestServer({ encryptionScopes: ['scope-1', 'scope-2'] })
    const service = BlobServiceClient.fromConnectionString(server.connectionString)
    container = service.getContainerClient('box')
    await container.create()
  })
  after(() => server.close())

  const SCOPES = [undefined, 'scope-1', 'scope-2']
  const inScope = (scope: string | undefined) =>
    scope === undefined ? {} : { encryptionScope: scope }

  function copy(from: string, to: string, scope: string | undefined, more: Headers = {}) {
    const headers: Record<string, string> = {
      'x-ms-copy-source': container.getBlobClient(from).url,
      ...more,
    }
    if (scope !== undefined) headers['x-ms-encryption-scope'] = scope
    return rawRequest(server, { method: 'PUT', path: `/box/${to}`, headers })
  }

  for (const from of SCOPES) {
    for (const to of SCOPES) {
      test(`from ${from ?? 'none'} to ${to ?? 'none'}`, async () => {
        const blocks = container.getBlockBlobClient('blocks')
        const ids = ['a', 'b'].map((text) => Buffer.from(text).toString('base64'))
        for (const id of ids) await blocks.stageBlock(id, LONG + id, LONG.length + 4, inScope(from))
        await blocks.commitBlockList(ids, inScope(from))
        const pages = container.getPageBlobClient('pages')
        await pages.create(2048, inScope(from))
        await pages.uploadPages(Buffer.alloc(512, 1), 512, 512, inScope(from))
        await pages.uploadPages(Buffer.alloc(512, 2), 1536, 512, inScope(from))
        const log = container.getAppendBlobClient('log')
        await log.create(inScope(from))
        for (const text of ['one', 'two']) await log.appendBlock(text, 3, inScope(from))
        await container.getBlockBlobClient('small').upload('text', 4, inScope(from))

        for (const name of ['blocks', 'pages', 'log', 'small']) {
          assert.equal(outcomeOf(await copy(name, `${name}-copy`, to)), '202')
          const source = await container.getBlobClient(name).downloadToBuffer()
          await container.getBlobClient(name).delete()
          await server.sweep()
          const client = container.getBlobClient(`${name}-copy`)
          assert.ok((await client.downloadToBuffer()).equals(source), name)
          assert.equal((await client.getProperties()).encryptionScope, to)
        }
        const list = await container.getBlockBlobClient('blocks-copy').getBlockList('committed')
        assert.deepEqual(
          list.committedBlocks?.map((block) => block.name),
          ids,
        )
        const ranges = await container.getPageBlobClient('pages-copy').getPageRanges()
        assert.deepEqual(
          ranges.pageRange?.map(({ offset }) => offset),
          [512, 1536],
        )
        await container.getAppendBlobClient('log-copy').appendBlock('three', 5, inScope(to))
        const text = await container.getBlobClient('log-copy').downloadToBuffer()
        assert.equal(text.toString(), 'onetwothree')
      })
    }
  }

  test('Copy and Put Blob From URL', async () => {
    await container.getBlockBlobClient('scoped').upload(LONG, LONG.length, inScope('scope-1'))
    for (const headers of [{ 'x-ms-requires-sync': 'true' }, { 'x-ms-blob-type': 'BlockBlob' }]) {
      const answer = await copy('scoped', 'rescoped', 'scope-2', headers)
      assert.equal(answer.headers['x-ms-encryption-scope'], 'scope-2')
      const bytes = await container.getBlobClient('rescoped').downloadToBuffer()
      assert.equal(bytes.toString(), LONG)
    }
  })

  test('a scope that is not there', async () => {
    await container.getBlockBlobClient('plain').upload('x', 1)
    assert.equal(outcomeOf(await copy('plain', 'x', 'scope-9')), '404 EncryptionScopeNotFound')
  })
})

describe("a customer's key", () => {
  let server: SecureServer
  let container: ContainerClient
  const [key, other] = [newKey(), newKey()]

  before(async () => {
    server = await startSecureServer({ silent: true, logLevel: 'error' })
    container = server.client.getContainerClient('box')
    await container.create()
    const options = { customerProvidedKey: key }
    await container.getBlockBlobClient('secret').upload(LONG, LONG.length, options)
  })
  after(() => server.close())

  const sourceKey = (of: SdkKey): Headers => {
    const named = Object.entries(keyHeaders(of))
    return Object.fromEntries(
      named.map(([name, value]) => [name.replace('x-ms-', 'x-ms-source-'), value]),
    )
  }

  const put = (path: string, headers: Headers) =>
    server.send({
      method: 'PUT',
      path,
      headers: { 'x-ms-copy-source': container.getBlobClient('secret').url, ...headers },
    })
  const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }

  test('the source is read with its key, and with no other', async () => {
    assert.equal(outcomeOf(await put('/box/copied', BLOCK)), '409 CannotVerifyCopySource')
    const wrong = { ...BLOCK, ...sourceKey(other) }
    assert.equal(outcomeOf(await put('/box/copied', wrong)), '409 CannotVerifyCopySource')
    assert.equal(outcomeOf(await put('/box/copied', { ...BLOCK, ...sourceKey(key) })), '201')
    const bytes = await container.getBlobClient('copied').downloadToBuffer()
    assert.equal(bytes.toString(), LONG)
  })

  test('the destination can have another', async () => {
    const headers = { ...BLOCK, ...sourceKey(key), ...keyHeaders(other) }
    assert.equal(outcomeOf(await put('/box/recoded', headers)), '201')
    const blob = container.getBlobClient('recoded')
    await assert.rejects(blob.downloadToBuffer(), { statusCode: 409 })
    const bytes = await blob.downloadToBuffer(0, undefined, { customerProvidedKey: other })
    assert.equal(bytes.toString(), LONG)
  })

  test('blocks and appended blocks too', async () => {
    const path = `/box/block?comp=block&blockid=${Buffer.from('a').toString('base64')}`
    assert.equal(outcomeOf(await put(path, {})), '409 CannotVerifyCopySource')
    assert.equal(outcomeOf(await put(path, sourceKey(key))), '201')
    await container.getAppendBlobClient('log').create()
    assert.equal(outcomeOf(await put('/box/log?comp=appendblock', sourceKey(key))), '201')
  })

  test('Copy Blob has no way to name it', async () => {
    assert.equal(outcomeOf(await put('/box/copied', {})), '409 CannotVerifyCopySource')
  })
})
