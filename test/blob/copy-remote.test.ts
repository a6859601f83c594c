// Copy Blob from another server: the destination exists at once and is pending, it shows the progress, and the copy
// ends with success, failure or abort, also across a restart of the server.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { outcome, rawRequest, startTestServer, type Headers, type TestServer } from '../harness.ts'
import { file, gate, heldFile, untilCopied, untilCopy } from '../source-server.ts'
import { startCopyFixture } from './fixture.ts'

const MIB = 2 ** 20

const { web, server, container, send } = await startCopyFixture()

function containerOf({ connectionString }: TestServer): ContainerClient {
  return BlobServiceClient.fromConnectionString(connectionString).getContainerClient('box')
}

const copy = (path: string, to: string, headers: Headers = {}) =>
  send('PUT', `/box/${to}`, { 'x-ms-copy-source': web.origin + path, ...headers })

const abort = (name: string, id: string, headers: Headers = {}) =>
  send('PUT', `/box/${name}?comp=copy&copyid=${id}`, { 'x-ms-copy-action': 'abort', ...headers })

describe('a copy that succeeds', () => {
  test('copies bytes, headers and metadata', async () => {
    const bytes = Buffer.from('text from elsewhere')
    web.answer('/file', file(bytes, { 'x-ms-meta-a': '1', 'content-language': 'de' }))
    const answer = await copy('/file', 'file')
    assert.equal(answer.status, 202)
    assert.equal(answer.headers['x-ms-copy-status'], 'pending')
    const blob = container.getBlobClient('file')
    const properties = await untilCopied(blob)
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.copyId, answer.headers['x-ms-copy-id'])
    assert.equal(properties.copySource, `${web.origin}/file`)
    assert.equal(properties.copyProgress, '19/19')
    assert.ok(properties.copyCompletedOn)
    assert.notEqual(properties.etag, answer.headers.etag)
    assert.equal(properties.contentType, 'text/plain')
    assert.equal(properties.contentLanguage, 'de')
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.deepEqual(await blob.downloadToBuffer(), bytes)
    await server.sweep()
    assert.deepEqual(await blob.downloadToBuffer(), bytes)
  })

  test('reads the source with its signature and never shows the signature', async () => {
    const held = gate()
    web.answer('/signed?sv=1&%73ig=hidden', heldFile(Buffer.from('signed'), 3, held))
    await copy('/signed?sv=1&%73ig=hidden', 'signed')
    const blob = container.getBlobClient('signed')
    assert.equal((await blob.getProperties()).copySource, `${web.origin}/signed?sv=1`)
    held.open()
    const properties = await untilCopied(blob)
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.copySource, `${web.origin}/signed?sv=1`)
    const list = '/box?restype=container&comp=list&include=copy&prefix=signed'
    const listed = await send('GET', list)
    assert.match(listed.text, /<CopySource>[^<]*\/signed\?sv=1</)
    assert.doesNotMatch(listed.text, /hidden/)
    const malformed = { 'x-ms-copy-source': 'ftp://host/file?sig=hidden' }
    const refused = await send('PUT', '/box/refused', malformed)
    assert.match(refused.text, /<HeaderValue>ftp:\/\/host\/file</)
  })

  test('can have its own metadata and tags', async () => {
    web.answer('/own', file(Buffer.from('x'), { 'x-ms-meta-a': '1' }))
    await copy('/own', 'own', { 'x-ms-meta-b': '2', 'x-ms-tags': 't=v' })
    const blob = container.getBlobClient('own')
    assert.deepEqual((await untilCopied(blob)).metadata, { b: '2' })
    assert.deepEqual((await blob.getTags()).tags, { t: 'v' })
  })

  test('can copy the tags of the source', async () => {
    web.answer('/tagged', file(Buffer.from('x')))
    const xml = '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>'
    web.answer('/tagged?comp=tags', file(Buffer.from(xml)))
    await copy('/tagged', 'tagged', { 'x-ms-copy-source-tag-option': 'COPY' })
    const blob = container.getBlobClient('tagged')
    await untilCopied(blob)
    assert.deepEqual((await blob.getTags()).tags, { k: 'v' })
  })

  test('can be of an empty file', async () => {
    web.answer('/empty', file(Buffer.alloc(0)))
    await copy('/empty', 'empty')
    const blob = container.getBlobClient('empty')
    assert.equal((await untilCopied(blob)).copyStatus, 'success')
    assert.equal((await blob.downloadToBuffer()).length, 0)
  })

  for (const type of ['PageBlob', 'AppendBlob']) {
    test(`can be of a ${type} in another storage service`, async () => {
      const bytes = Buffer.alloc(1024, 7)
      const sourceHeaders = {
        'x-ms-blob-sequence-number': '5',
        'x-ms-blob-committed-block-count': '3',
      }
      web.answer(`/${type}`, file(bytes, { 'x-ms-blob-type': type, ...sourceHeaders }))
      await copy(`/${type}`, type)
      const blob = container.getBlobClient(type)
      const properties = await untilCopied(blob)
      assert.equal(properties.blobType, type)
      assert.equal(properties.blobSequenceNumber, type === 'PageBlob' ? 5 : undefined)
      assert.equal(properties.blobCommittedBlockCount, type === 'PageBlob' ? undefined : 3)
      assert.deepEqual(await blob.downloadToBuffer(), bytes)
      if (type === 'PageBlob') await blob.getPageBlobClient().uploadPages(bytes, 0, 1024)
      else await blob.getAppendBlobClient().appendBlock('x', 1)
    })
  }

  test('leaves conditions of the source to the source', async () => {
    web.answer('/pinned', file(Buffer.from('x')))
    const sent = copy('/pinned', 'pinned', { 'x-ms-source-if-match': '"2"' })
    assert.equal(outcome(await sent), '412 SourceConditionNotMet')
    assert.equal((await copy('/pinned', 'pinned', { 'x-ms-source-if-match': '"1"' })).status, 202)
  })
})

describe('while a copy is pending', () => {
  const bytes = Buffer.alloc(20 * MIB, 'abc')

  test('the destination is empty, shows the progress and permits no other operation', async () => {
    const held = gate()
    web.answer('/held', heldFile(bytes, 17 * MIB, held))
    const { headers } = await copy('/held', 'held', { 'x-ms-meta-a': '1' })
    const blob = container.getBlobClient('held')
    const half = await untilCopy(
      blob,
      ({ copyProgress }) => copyProgress === `${16 * MIB}/${20 * MIB}`,
    )
    assert.equal(half.copyStatus, 'pending')
    assert.equal(half.contentLength, 0)
    assert.equal(half.etag, headers.etag)
    assert.deepEqual(half.metadata, { a: '1' })
    const block = blob.getBlockBlobClient()
    for (const write of [
      () => block.upload('x', 1),
      () => blob.setMetadata({}),
      () => blob.setHTTPHeaders({}),
      () => blob.createSnapshot(),
      () => blob.delete(),
      () => blob.getBlobLeaseClient().acquireLease(-1),
      () => blob.syncCopyFromURL(`${web.origin}/held`),
    ]) await assert.rejects(write(), { code: 'PendingCopyOperation' }) // prettier-ignore
    assert.equal(outcome(await copy('/held', 'held')), '409 PendingCopyOperation')
    const from = send('PUT', '/box/second', { 'x-ms-copy-source': blob.url })
    assert.equal(outcome(await from), '409 CannotVerifyCopySource')
    held.open()
    assert.equal((await untilCopied(blob)).copyStatus, 'success')
    assert.ok((await blob.downloadToBuffer()).equals(bytes))
  })

  test('it can be aborted, which keeps the metadata but no bytes', async () => {
    web.answer('/endless', heldFile(bytes, 9 * MIB, gate()))
    const { headers } = await copy('/endless', 'endless', { 'x-ms-meta-a': '1' })
    const id = String(headers['x-ms-copy-id'])
    const blob = container.getBlobClient('endless')
    await untilCopy(blob, ({ copyProgress }) => copyProgress === `${8 * MIB}/${20 * MIB}`)
    const other = '00000000-0000-4000-8000-000000000000'
    assert.equal(outcome(await abort('endless', other)), '409 CopyIdMismatch')
    await blob.abortCopyFromURL(id)
    const properties = await blob.getProperties()
    assert.equal(properties.copyStatus, 'aborted')
    assert.equal(properties.contentLength, 0)
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.ok(properties.copyCompletedOn)
    assert.equal((await blob.downloadToBuffer()).length, 0)
    assert.equal(outcome(await abort('endless', id)), '409 NoPendingCopyOperation')
    await blob.getBlockBlobClient().upload('new', 3)
    await server.sweep()
    assert.equal((await blob.downloadToBuffer()).toString(), 'new')
  })

  test('aborting it needs the id of an infinite lease on the destination', async () => {
    web.answer('/leased', heldFile(bytes, 1, gate()))
    const blob = container.getBlobClient('leased')
    await blob.getBlockBlobClient().upload('old', 3)
    const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(-1)
    const { headers } = await copy('/leased', 'leased', { 'x-ms-lease-id': leaseId })
    const id = String(headers['x-ms-copy-id'])
    assert.equal(outcome(await abort('leased', id)), '412 LeaseIdMissing')
    assert.equal((await abort('leased', id, { 'x-ms-lease-id': leaseId })).status, 204)
  })

  test('a page blob has its full length and reads as zeros', async () => {
    web.answer('/pages', heldFile(bytes, 1, gate(), { 'x-ms-blob-type': 'PageBlob' }))
    const { headers } = await copy('/pages', 'pages')
    const blob = container.getBlobClient('pages')
    assert.equal((await blob.getProperties()).contentLength, bytes.length)
    assert.deepEqual(await blob.downloadToBuffer(0, 512), Buffer.alloc(512))
    assert.equal((await abort('pages', String(headers['x-ms-copy-id']))).status, 204)
    assert.equal((await blob.getProperties()).contentLength, 0)
  })

  test('deleting the container ends it', async () => {
    const other = BlobServiceClient.fromConnectionString(server.connectionString)
    const { containerClient } = await other.createContainer('doomed')
    const held = gate()
    web.answer('/doomed', heldFile(bytes, 9 * MIB, held))
    const headers = { 'x-ms-copy-source': `${web.origin}/doomed` }
    await send('PUT', '/doomed/b', headers)
    await containerClient.delete()
    await server.sweep()
    held.open()
    await other.createContainer('doomed')
    assert.equal(await containerClient.getBlobClient('b').exists(), false)
  })
})

describe('a copy that fails', () => {
  test('at the start has the status of the source', async () => {
    web.answer('/gone', (res) => res.writeHead(410).end())
    web.answer('/secret', (res) => res.writeHead(403).end())
    web.answer('/broken', (res) => res.writeHead(500).end())
    web.answer('/moved', (res) => res.writeHead(302, { location: '/file' }).end())
    assert.equal(outcome(await copy('/nothing', 'x')), '404 CannotVerifyCopySource')
    assert.equal(outcome(await copy('/gone', 'x')), '410 CannotVerifyCopySource')
    assert.equal(outcome(await copy('/secret', 'x')), '403 CannotVerifyCopySource')
    assert.equal(outcome(await copy('/broken', 'x')), '500 CannotVerifyCopySource')
    assert.equal(outcome(await copy('/moved', 'x')), '409 CannotVerifyCopySource')
    assert.equal(await container.getBlobClient('x').exists(), false)
  })

  test('if the source changes or disappears keeps no bytes', async () => {
    const outcomes: Readonly<Record<string, RegExp>> = {
      '/changes': /^412 SourceConditionNotMet "/,
      '/goes': /^404 BlobNotFound "/,
    }
    for (const [path, description] of Object.entries(outcomes)) {
      web.answer(path, (res) => {
        web.answer(path, (again) => {
          if (path === '/changes') file(Buffer.from('new'), { etag: '"2"' })(again, {})
          else again.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end()
        })
        file(Buffer.from('old'))(res, {})
      })
      await copy(path, 'failing')
      const blob = container.getBlobClient('failing')
      const properties = await untilCopied(blob)
      assert.equal(properties.copyStatus, 'failed')
      assert.match(properties.copyStatusDescription ?? '', description)
      assert.equal(properties.contentLength, 0)
      await blob.delete()
    }
  })

  test('is refused if it needs a token, which cannot be stored', async () => {
    web.answer('/later', file(Buffer.from('x')))
    const token = { 'x-ms-copy-source-authorization': 'Bearer a.b.c' }
    assert.equal(outcome(await copy('/later', 'later', token)), '400 UnsupportedHeader')
  })
})

describe('a restart', () => {
  for (const kind of ['with ranges', 'without ranges']) {
    test(`continues a copy from a server ${kind}`, async () => {
      const location = await mkdtemp(join(tmpdir(), 'lazuli-copy-'))
      const bytes = Buffer.alloc(20 * MIB, 'xyz')
      const ranges = { 'accept-ranges': kind === 'with ranges' ? 'bytes' : 'none' }
      const path = `/${kind.replace(' ', '-')}`
      web.answer(path, heldFile(bytes, 9 * MIB, gate(), ranges))
      const options = { location, allowCopyFrom: [web.origin] }
      try {
        const first = await startTestServer(options)
        await containerOf(first).create()
        const headers = { 'x-ms-copy-source': web.origin + path }
        await rawRequest(first, { method: 'PUT', path: '/box/big', headers })
        const begun = containerOf(first).getBlobClient('big')
        await untilCopy(begun, ({ copyProgress }) => copyProgress === `${8 * MIB}/${20 * MIB}`)
        await first.close()
        web.answer(path, kind === 'with ranges' ? file(bytes) : (res) => file(bytes)(res, {}))
        const second = await startTestServer(options)
        const blob = containerOf(second).getBlobClient('big')
        assert.equal((await untilCopied(blob)).copyStatus, 'success')
        assert.ok((await blob.downloadToBuffer()).equals(bytes))
        const range = kind === 'with ranges' ? `bytes=${8 * MIB}-` : undefined
        assert.equal(web.requests.at(-1)?.headers.range, range)
        await second.close()
      } finally {
        await rm(location, { recursive: true, force: true })
      }
    })
  }
})
