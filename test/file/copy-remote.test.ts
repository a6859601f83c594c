// Copy File from another server: the destination exists at once and is pending, it shows the progress, and the copy
// ends with success, failure or abort, also across a restart of the server.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { rawRequest, startTestServer, assertRefused, type Headers } from '../harness.ts'
import { file as served, gate, heldFile, untilCopied, untilCopy } from '../source-server.ts'
import { shareClient, startFileCopyFixture } from './fixture.ts'

const MIB = 2 ** 20

const { web, server, share, ...fixture } = await startFileCopyFixture()

const fileOf = (name: string, of = share) => of.rootDirectoryClient.getFileClient(name)

function send(path: string, headers: Headers, to = server) {
  return rawRequest({ blobPort: to.filePort }, { method: 'PUT', path, headers })
}

const copy = (from: string, to: string, headers: Headers = {}, by = server) =>
  send(`/box/${to}`, { 'x-ms-copy-source': web.origin + from, ...headers }, by)

const abort = (name: string, id: string, headers: Headers = {}) =>
  send(`/box/${name}?comp=copy&copyid=${id}`, { 'x-ms-copy-action': 'abort', ...headers })

describe('a copy that succeeds', () => {
  test('copies bytes, headers and metadata', async () => {
    const bytes = Buffer.from('text from elsewhere')
    web.answer('/file', served(bytes, { 'x-ms-meta-a': '1', 'content-language': 'de' }))
    const answer = await copy('/file', 'file')
    assert.equal(answer.status, 202, answer.text)
    assert.equal(answer.headers['x-ms-copy-status'], 'pending')
    const file = fileOf('file')
    const properties = await untilCopied(file)
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.copyId, answer.headers['x-ms-copy-id'])
    assert.equal(properties.copySource, `${web.origin}/file`)
    assert.equal(properties.copyProgress, '19/19')
    assert.ok(properties.copyCompletedOn)
    assert.notEqual(properties.etag, answer.headers.etag)
    assert.equal(properties.contentType, 'text/plain')
    assert.equal(properties.contentLanguage, 'de')
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.deepEqual(await file.downloadToBuffer(), bytes)
    for (let pass = 0; pass < 3; pass += 1) await server.sweep()
    assert.deepEqual(await file.downloadToBuffer(), bytes)
    await file.uploadRange('TEXT', 0, 4)
    assert.equal((await file.downloadToBuffer()).toString(), 'TEXT from elsewhere')
  })

  test('can be of an empty file', async () => {
    web.answer('/empty', served(Buffer.alloc(0)))
    await copy('/empty', 'empty')
    assert.equal((await untilCopied(fileOf('empty'))).copyStatus, 'success')
  })

  test('from another File service copies file properties and sends no conditions', async () => {
    const time = '2020-01-02T03:04:05.1234567Z'
    const smbHeaders = {
      'x-ms-type': 'File',
      'x-ms-file-attributes': 'Hidden',
      'x-ms-file-creation-time': time,
      'x-ms-file-last-write-time': time,
    }
    web.answer('/smb', served(Buffer.from('x'), smbHeaders))
    const requestCount = Object.keys(smbHeaders)
      .slice(1)
      .map((name) => [name, 'source'])
    await copy('/smb', 'smb', Object.fromEntries(requestCount))
    assert.equal((await untilCopied(fileOf('smb'))).copyStatus, 'success')
    const { headers } = await fixture.send('HEAD', '/box/smb')
    for (const name of Object.keys(smbHeaders))
      assert.equal(headers[name], smbHeaders[name as keyof typeof smbHeaders])
    const requests = web.requests.filter(({ path }) => path === '/smb')
    assert.deepEqual(
      requests.map((request) => request.headers['if-match']),
      [undefined, undefined],
    )
  })
})

describe('a pending copy', () => {
  test('has its full length, reads as zeros, shows the progress and permits no other change', async () => {
    const held = gate()
    const bytes = Buffer.alloc(12 * MIB, 'x')
    web.answer('/held', heldFile(bytes, 10 * MIB, held))
    const { headers } = await copy('/held', 'held')
    const id = String(headers['x-ms-copy-id'])
    const file = fileOf('held')
    const { contentLength } = await untilCopy(
      file,
      ({ copyProgress }) => copyProgress !== `0/${12 * MIB}`,
    )
    assert.equal(contentLength, 12 * MIB)
    assert.deepEqual(await file.downloadToBuffer(0, 4), Buffer.alloc(4))
    const pending = { statusCode: 409, code: 'PendingCopyOperation' }
    await assert.rejects(file.uploadRange('x', 0, 1), pending)
    await assert.rejects(file.clearRange(0, 512), pending)
    await assert.rejects(file.create(1), pending)
    await assert.rejects(file.delete(), pending)
    await assertRefused(copy('/held', 'held'), 409, 'PendingCopyOperation')
    const other = '11111111-aaaa-4aaa-8aaa-111111111111'
    await assertRefused(abort('held', other), 409, 'CopyIdMismatch')
    await assertRefused(abort('held', 'x'), 400, 'InvalidQueryParameterValue')
    await assertRefused(abort('held', ''), 400, 'MissingRequiredQueryParameter')
    await assertRefused(abort('held', id, { 'x-ms-copy-action': '' }), 400, 'MissingRequiredHeader')
    await assertRefused(
      abort('held', id, { 'x-ms-lease-id': other }),
      412,
      'LeaseNotPresentWithFileOperation',
    )
    await assertRefused(abort('none', id), 404, 'ResourceNotFound')
    held.open()
    assert.equal((await untilCopied(file)).copyStatus, 'success')
    assert(bytes.equals(await file.downloadToBuffer()))
  })

  test('that is aborted leaves an empty file with its metadata', async () => {
    const held = gate()
    web.answer('/abort', heldFile(Buffer.alloc(9 * MIB), MIB, held))
    const { headers } = await copy('/abort', 'abort', { 'x-ms-meta-a': '1' })
    const id = String(headers['x-ms-copy-id'])
    assert.equal((await abort('abort', id)).status, 204)
    const properties = await fileOf('abort').getProperties()
    assert.equal(properties.copyStatus, 'aborted')
    assert.equal(properties.contentLength, 0)
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.ok(properties.copyCompletedOn)
    await assertRefused(abort('abort', id), 409, 'NoPendingCopyOperation')
    await fileOf('abort').create(3)
    held.open()
  })

  test('does not change the file in a snapshot', async () => {
    const file = fileOf('shown')
    await file.create(3)
    await file.uploadRange('old', 0, 3)
    const { snapshot = '' } = await share.createSnapshot()
    web.answer('/shown', served(Buffer.from('new bytes')))
    await copy('/shown', 'shown')
    await untilCopied(file)
    assert.equal((await file.downloadToBuffer()).toString(), 'new bytes')
    const past = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient('shown')
    assert.equal((await past.downloadToBuffer()).toString(), 'old')
  })
})

describe('a copy that fails', () => {
  test('because the source changed keeps no bytes', async () => {
    const [held, bytes] = [gate(), Buffer.alloc(9 * MIB)]
    let requestCount = 0
    web.answer('/changed', (res, headers) => {
      requestCount += 1
      if (requestCount !== 2)
        return served(bytes, { etag: requestCount === 1 ? '"1"' : '"2"' })(res, headers)
      const all = { etag: '"1"', 'accept-ranges': 'bytes', 'content-length': bytes.length }
      res.writeHead(200, all).write(bytes.subarray(0, 8 * MIB + 1))
      void held.opened.then(() => res.destroy())
    })
    await copy('/changed', 'changed')
    const file = fileOf('changed')
    await untilCopy(file, ({ copyProgress }) => copyProgress === `${8 * MIB}/${9 * MIB}`)
    held.open()
    const { copyStatus, copyStatusDescription = '', contentLength } = await untilCopied(file)
    assert.deepEqual([copyStatus, contentLength], ['failed', 0])
    assert.match(copyStatusDescription, /^412 /)
  })

  test('is refused at once if the source is not available', async () => {
    const refused = copy('/none', 'none')
    await assertRefused(refused, 404, 'CannotVerifyCopySource')
    assert.equal((await refused).headers['x-ms-copy-source-status-code'], '404')
    const old = await copy('/none', 'none', { 'x-ms-version': '2024-11-04' })
    assert.equal(old.headers['x-ms-copy-source-status-code'], undefined)
    assert.equal(await fileOf('none').exists(), false)
    const elsewhere = send('/box/none', { 'x-ms-copy-source': 'http://127.0.0.1:1/x' })
    await assertRefused(elsewhere, 403, 'CannotVerifyCopySource')
    const token = { 'x-ms-copy-source-authorization': 'Bearer x' }
    await assertRefused(copy('/file', 'none', token), 400, 'UnsupportedHeader')
  })

  test('after its start shows the reason, and the file is empty', async () => {
    let requestCount = 0
    web.answer('/gone', (res, headers) => {
      requestCount += 1
      if (requestCount === 1) served(Buffer.from('x'))(res, headers)
      else res.writeHead(404).end()
    })
    await copy('/gone', 'gone')
    const properties = await untilCopied(fileOf('gone'))
    assert.equal(properties.copyStatus, 'failed')
    assert.match(properties.copyStatusDescription ?? '', /^404 /)
    assert.equal(properties.contentLength, 0)
  })
})

test('a copy that was interrupted by a restart continues', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-file-copy-'))
  const options = { location: folder, allowCopyFrom: [web.origin] }
  const held = gate()
  const bytes = Buffer.alloc(20 * MIB, 'restart')
  web.answer('/restart', heldFile(bytes, 17 * MIB, held))
  const first = await startTestServer(options)
  try {
    await shareClient(first, 'box').create()
    await copy('/restart', 'restart', {}, first)
    const copied = `${16 * MIB}/${20 * MIB}`
    await untilCopy(
      fileOf('restart', shareClient(first, 'box')),
      ({ copyProgress }) => copyProgress === copied,
    )
  } finally {
    await first.close()
  }
  web.answer('/restart', served(bytes))
  const second = await startTestServer(options)
  try {
    const file = fileOf('restart', shareClient(second, 'box'))
    assert.equal((await untilCopied(file)).copyStatus, 'success')
    assert(bytes.equals(await file.downloadToBuffer()))
    const last = web.requests.filter(({ path }) => path === '/restart').at(-1)
    assert.equal(last?.headers.range, `bytes=${16 * MIB}-`)
    for (let pass = 0; pass < 3; pass += 1) await second.sweep()
    assert(bytes.equals(await file.downloadToBuffer()))
  } finally {
    await second.close()
    await rm(folder, { recursive: true, force: true })
  }
})
