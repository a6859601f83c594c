// Copies of encrypted blobs: within a scope slices are shared; with another key, or none, the bytes are encrypted again
// and keep their blocks and holes. A source with a customer-provided key needs that key.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { outcome, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture, startSecureFixture } from './fixture.ts'
import { keyHeaders, newKey, type SdkKey } from './secure-server.ts'

const LONG = 'abc'.repeat(10_000)

describe('a copy between encryption scopes', async () => {
  const encryptionScopes = ['scope-1', 'scope-2']
  const { server, container, send } = await startBlobFixture({ encryptionScopes })
  const SCOPES = [undefined, 'scope-1', 'scope-2']
  const inScope = (scope: string | undefined) =>
    scope === undefined ? {} : { encryptionScope: scope }

  function copy(from: string, to: string, scope: string | undefined, more: Headers = {}) {
    return send('PUT', `/box/${to}`, {
      'x-ms-copy-source': container.getBlobClient(from).url,
      ...more,
      ...(scope !== undefined && { 'x-ms-encryption-scope': scope }),
    })
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
          assert.equal(outcome(await copy(name, `${name}-copy`, to)), '202')
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

  test('can be made by Copy Blob From URL and Put Blob From URL', async () => {
    await container.getBlockBlobClient('scoped').upload(LONG, LONG.length, inScope('scope-1'))
    for (const headers of [{ 'x-ms-requires-sync': 'true' }, { 'x-ms-blob-type': 'BlockBlob' }]) {
      const answer = await copy('scoped', 'rescoped', 'scope-2', headers)
      assert.equal(answer.headers['x-ms-encryption-scope'], 'scope-2')
      const bytes = await container.getBlobClient('rescoped').downloadToBuffer()
      assert.equal(bytes.toString(), LONG)
    }
  })

  test('is refused if the scope does not exist', async () => {
    await container.getBlockBlobClient('plain').upload('x', 1)
    assert.equal(outcome(await copy('plain', 'x', 'scope-9')), '404 EncryptionScopeNotFound')
  })
})

describe('a copy with a customer-provided key', async () => {
  const { container, send } = await startSecureFixture()
  const [key, other] = [newKey(), newKey()]

  before(async () => {
    const options = { customerProvidedKey: key }
    await container.getBlockBlobClient('secret').upload(LONG, LONG.length, options)
  })

  const sourceKey = (of: SdkKey): Headers => {
    const named = Object.entries(keyHeaders(of))
    return Object.fromEntries(
      named.map(([name, value]) => [name.replace('x-ms-', 'x-ms-source-'), value]),
    )
  }

  const put = (path: string, headers: Headers) =>
    send('PUT', path, { 'x-ms-copy-source': container.getBlobClient('secret').url, ...headers })

  test('reads the source with its key only', async () => {
    assert.equal(outcome(await put('/box/copied', BLOCK_BLOB)), '409 CannotVerifyCopySource')
    const wrong = { ...BLOCK_BLOB, ...sourceKey(other) }
    assert.equal(outcome(await put('/box/copied', wrong)), '409 CannotVerifyCopySource')
    assert.equal(outcome(await put('/box/copied', { ...BLOCK_BLOB, ...sourceKey(key) })), '201')
    const bytes = await container.getBlobClient('copied').downloadToBuffer()
    assert.equal(bytes.toString(), LONG)
  })

  test('can have another key for the destination', async () => {
    const headers = { ...BLOCK_BLOB, ...sourceKey(key), ...keyHeaders(other) }
    assert.equal(outcome(await put('/box/recoded', headers)), '201')
    const blob = container.getBlobClient('recoded')
    await assert.rejects(blob.downloadToBuffer(), { statusCode: 409 })
    const bytes = await blob.downloadToBuffer(0, undefined, { customerProvidedKey: other })
    assert.equal(bytes.toString(), LONG)
  })

  test('can be a block or an appended block', async () => {
    const path = `/box/block?comp=block&blockid=${Buffer.from('a').toString('base64')}`
    assert.equal(outcome(await put(path, {})), '409 CannotVerifyCopySource')
    assert.equal(outcome(await put(path, sourceKey(key))), '201')
    await container.getAppendBlobClient('log').create()
    assert.equal(outcome(await put('/box/log?comp=appendblock', sourceKey(key))), '201')
  })

  test('cannot be made by Copy Blob, which does not accept the key', async () => {
    assert.equal(outcome(await put('/box/copied', {})), '409 CannotVerifyCopySource')
  })
})
