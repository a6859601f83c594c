// Append blobs: create, append, seal. The responses of each operation, its errors, and that errors change nothing.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { crc64 } from '../../src/extent/hash/crc64.ts'
import { encodeStructuredBody } from '../../src/http/protocol/structured-body.ts'
import { xmlText, md5Of, type Headers, assertRefused } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture({ container: 'log' })

const APPEND_BLOB = { 'x-ms-blob-type': 'AppendBlob' }
const NO_LEASE = '00000000-0000-4000-8000-000000000000'

const create = (name: string, headers: Headers = {}) =>
  send('PUT', `/log/${name}`, { ...APPEND_BLOB, ...headers })
const append = (name: string, body: string | Uint8Array, headers: Headers = {}) =>
  send('PUT', `/log/${name}?comp=appendblock`, headers, body)
const seal = (name: string, headers: Headers = {}) => send('PUT', `/log/${name}?comp=seal`, headers)

const crc64Of = (body: string) => crc64(Buffer.from(body)).toString('base64')

describe('Put Blob of an append blob', () => {
  test('creates an empty blob with headers, metadata and tags', async () => {
    const blob = container.getAppendBlobClient('made')
    const { etag, isServerEncrypted } = await blob.create({
      blobHTTPHeaders: { blobContentType: 'text/plain' },
      metadata: { a: '1' },
      tags: { k: 'v' },
    })
    assert.equal(isServerEncrypted, false)
    const now = await blob.getProperties()
    assert.deepEqual(
      [now.blobType, now.contentLength, now.blobCommittedBlockCount, now.etag, now.contentType],
      ['AppendBlob', 0, 0, etag, 'text/plain'],
    )
    assert.deepEqual([now.metadata, now.tagCount, now.isSealed], [{ a: '1' }, 1, undefined])
    assert.equal(now.accessTier, undefined)
    assert.equal((await send('GET', '/log/made')).text, '')
  })

  test('empties an existing append blob', async () => {
    await create('again')
    await append('again', 'old')
    await create('again')
    const { headers, text } = await send('GET', '/log/again')
    assert.deepEqual([text, headers['x-ms-blob-committed-block-count']], ['', '0'])
    assert.equal((await append('again', 'new')).headers['x-ms-blob-append-offset'], '0')
    assert.equal((await send('GET', '/log/again')).text, 'new')
  })

  test('leaves an existing blob alone with createIfNotExists', async () => {
    await create('once')
    await append('once', 'kept')
    const { succeeded } = await container.getAppendBlobClient('once').createIfNotExists()
    assert.equal(succeeded, false)
    assert.equal((await send('GET', '/log/once')).text, 'kept')
    await assertRefused(create('once', { 'If-None-Match': '*' }), 409, 'BlobAlreadyExists')
    await assertRefused(create('once', { 'If-Match': '"0x1"' }), 412, 'ConditionNotMet')
  })

  test('refuses a body, a tier and a missing container', async () => {
    const withBody = send('PUT', '/log/n', APPEND_BLOB, 'x')
    await assertRefused(withBody, 400, 'InvalidHeaderValue')
    assert.equal(xmlText((await withBody).text, 'HeaderName'), 'Content-Length')
    await assertRefused(create('n', { 'x-ms-access-tier': 'Hot' }), 409, 'InvalidBlobType')
    await assertRefused(send('HEAD', '/log/n'), 404, 'BlobNotFound')
    await assertRefused(send('PUT', '/none/n', APPEND_BLOB), 404, 'ContainerNotFound')
  })
})

describe('Append Block', () => {
  test('returns the offset of the block and the number of blocks', async () => {
    const blob = container.getAppendBlobClient('two')
    const { etag } = await blob.create()
    server.advance(2_000)
    const first = await blob.appendBlock('hello ', 6)
    const second = await blob.appendBlock('world', 5)
    assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ['0', 1])
    assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ['6', 2])
    assert.equal(new Set([etag, first.etag, second.etag]).size, 3)
    assert.equal(second.lastModified?.toUTCString(), new Date(server.now()).toUTCString())
    const now = await blob.getProperties()
    assert.deepEqual(
      [now.etag, now.contentLength, now.blobCommittedBlockCount],
      [second.etag, 11, 2],
    )
    assert.equal((await blob.downloadToBuffer()).toString(), 'hello world')
    assert.equal((await blob.downloadToBuffer(4, 4)).toString(), 'o wo')
  })

  test('keeps metadata and headers and does not change snapshots', async () => {
    const blob = container.getAppendBlobClient('past')
    await blob.create({ metadata: { a: '1' }, blobHTTPHeaders: { blobContentLanguage: 'la' } })
    await blob.appendBlock('one', 3)
    const { snapshot = '' } = await blob.createSnapshot()
    await blob.appendBlock('two', 3)
    const { metadata, contentLanguage } = await blob.getProperties()
    assert.deepEqual([metadata, contentLanguage], [{ a: '1' }, 'la'])
    const past = blob.withSnapshot(snapshot)
    assert.equal((await past.downloadToBuffer()).toString(), 'one')
    assert.equal((await past.getProperties()).blobCommittedBlockCount, 1)
    assert.equal((await blob.downloadToBuffer()).toString(), 'onetwo')
    const path = `/log/past?comp=appendblock&snapshot=${encodeURIComponent(snapshot)}`
    await assertRefused(send('PUT', path, {}, 'x'), 400, 'InvalidQueryParameterValue')
  })

  test('stores 9 MiB', async () => {
    const body = randomBytes(9 * 1024 * 1024)
    await create('large')
    await append('large', 'a')
    assert.equal((await append('large', body)).headers['x-ms-blob-append-offset'], '1')
    const { body: got } = await send('GET', '/log/large', { 'x-ms-range': `bytes=1-` })
    assert.ok(got.equals(body))
  })

  const BLOCK = '123456789'
  const SUMS: readonly (readonly [string, Headers, string | undefined, string | undefined])[] = [
    // sent                                                  MD5 returned  CRC-64 returned
    ['nothing', {}, undefined, crc64Of(BLOCK)],
    ['an MD5', { 'Content-MD5': md5Of(BLOCK) }, md5Of(BLOCK), undefined],
    ['a CRC-64', { 'x-ms-content-crc64': crc64Of(BLOCK) }, undefined, crc64Of(BLOCK)],
  ]
  for (const [name, headers, md5, crc] of SUMS) {
    test(`with ${name} returns the matching hash`, async () => {
      await create('sums')
      const { status, headers: got } = await append('sums', BLOCK, headers)
      assert.equal(status, 201)
      assert.deepEqual([got['content-md5'], got['x-ms-content-crc64']], [md5, crc])
      assert.equal(got['x-ms-request-server-encrypted'], 'false')
    })
  }

  test('of a structured body appends its content', async () => {
    await create('structured')
    const chunks: Uint8Array[] = []
    const content = (async function* () {
      yield Buffer.from(BLOCK)
    })()
    for await (const chunk of encodeStructuredBody(content, BLOCK.length, 4)) chunks.push(chunk)
    const message = Buffer.concat(chunks)
    const headers = {
      'x-ms-structured-body': 'XSM/1.0; properties=crc64',
      'x-ms-structured-content-length': String(BLOCK.length),
    }
    const answer = await append('structured', message, headers)
    assert.equal(answer.status, 201)
    assert.equal(answer.headers['x-ms-structured-body'], headers['x-ms-structured-body'])
    message[message.length - 1] = (message.at(-1) ?? 0) ^ 1
    await assertRefused(append('structured', message, headers), 400, 'Crc64Mismatch')
    assert.equal((await send('GET', '/log/structured')).text, BLOCK)
  })
})

// The blob has 3 bytes in one block.
const CONDITIONS: readonly (readonly [string, string, Headers, number, string])[] = [
  ['at the end', 'x', { 'x-ms-blob-condition-appendpos': '3' }, 201, ''],
  ['before the end', 'x', { 'x-ms-blob-condition-appendpos': '2' }, 412, 'AppendPositionConditionNotMet'],
  ['after the end', 'x', { 'x-ms-blob-condition-appendpos': '4' }, 412, 'AppendPositionConditionNotMet'],
  ['up to the maximum size', 'xy', { 'x-ms-blob-condition-maxsize': '5' }, 201, ''],
  ['above the maximum size', 'xyz', { 'x-ms-blob-condition-maxsize': '5' }, 412, 'MaxBlobSizeConditionNotMet'],
  ['a blob already above the maximum size', 'x', { 'x-ms-blob-condition-maxsize': '2' }, 412, 'MaxBlobSizeConditionNotMet'],
  ['at -1', 'x', { 'x-ms-blob-condition-appendpos': '-1' }, 400, 'InvalidHeaderValue'],
  ['a maximum size of -1', 'x', { 'x-ms-blob-condition-maxsize': '-1' }, 400, 'InvalidHeaderValue'],
  ['another ETag', 'x', { 'If-Match': '"0x1"' }, 412, 'ConditionNotMet'],
  ['If-None-Match with *', 'x', { 'If-None-Match': '*' }, 412, 'ConditionNotMet'],
  ['matching tags', 'x', { 'x-ms-if-tags': "k = 'v'" }, 201, ''],
  ['other tags', 'x', { 'x-ms-if-tags': "k = 'w'" }, 412, 'ConditionNotMet'],
  ['a lease id without a lease', 'x', { 'x-ms-lease-id': NO_LEASE }, 412, 'LeaseNotPresentWithBlobOperation'],
  ['an empty body', '', {}, 400, 'InvalidHeaderValue'],
  ['a wrong MD5', 'x', { 'Content-MD5': md5Of('y') }, 400, 'Md5Mismatch'],
  ['a wrong CRC-64', 'x', { 'x-ms-content-crc64': crc64Of('y') }, 400, 'Crc64Mismatch'],
  ['both hashes', 'x', { 'Content-MD5': md5Of('x'), 'x-ms-content-crc64': crc64Of('x') }, 400, 'BothCrc64AndMd5HeaderPresent'],
] // prettier-ignore

describe('a condition of Append Block', () => {
  for (const [name, body, headers, status, code] of CONDITIONS) {
    test(`${name} → ${status} ${code}`, async () => {
      await create('held', { 'x-ms-tags': 'k=v' })
      const { etag } = (await append('held', 'abc')).headers
      const answer = await append('held', body, headers)
      assert.deepEqual([answer.status, answer.headers['x-ms-error-code'] ?? ''], [status, code])
      const now = await send('GET', '/log/held')
      const isAppended = status === 201
      assert.equal(now.text, isAppended ? `abc${body}` : 'abc')
      assert.equal(now.headers['x-ms-blob-committed-block-count'], isAppended ? '2' : '1')
      assert.equal(now.headers.etag === etag, !isAppended)
    })
  }

  test('needs the lease id while the blob is leased', async () => {
    await create('leased')
    const id = randomUUID()
    const headers = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }
    await send('PUT', '/log/leased?comp=lease', { ...headers, 'x-ms-proposed-lease-id': id })
    await assertRefused(append('leased', 'x'), 412, 'LeaseIdMissing')
    const other = append('leased', 'x', { 'x-ms-lease-id': NO_LEASE })
    await assertRefused(other, 412, 'LeaseIdMismatchWithBlobOperation')
    assert.equal((await append('leased', 'x', { 'x-ms-lease-id': id })).status, 201)
    await assertRefused(seal('leased'), 412, 'LeaseIdMissing')
    server.advance(15_000)
    await assertRefused(append('leased', 'x', { 'x-ms-lease-id': id }), 412, 'LeaseLost')
    assert.equal((await append('leased', 'y')).status, 201)
    assert.equal((await send('GET', '/log/leased')).text, 'xy')
  })

  test('fails with 409 for a blob of another type and 404 for a missing one', async () => {
    await send('PUT', '/log/block', { 'x-ms-blob-type': 'BlockBlob' }, 'x')
    for (const operation of [() => append('block', 'x'), () => seal('block')]) {
      await assertRefused(operation(), 409, 'InvalidBlobType')
    }
    await assertRefused(append('nothing', 'x'), 404, 'BlobNotFound')
    await assertRefused(seal('nothing'), 404, 'BlobNotFound')
    const elsewhere = send('PUT', '/none/b?comp=appendblock', {}, 'x')
    await assertRefused(elsewhere, 404, 'ContainerNotFound')
  })

  // version        largest block in bytes
  const SIZES = [
    ['2021-12-02', 4 * 1024 * 1024],
    ['2022-11-02', 100 * 1024 * 1024],
  ] as const
  for (const [version, bytesMax] of SIZES) {
    test(`limits a block to ${bytesMax} bytes in version ${version}`, async () => {
      await create('sized')
      const length = { 'Content-Length': String(bytesMax + 1), Expect: '100-continue' }
      const path = '/log/sized?comp=appendblock'
      const answer = await send('PUT', path, { ...length, 'x-ms-version': version })
      assert.equal(answer.status, 413)
      assert.equal(xmlText(answer.text, 'MaxLimit'), String(bytesMax))
    })
  }

  test('accepts 4 MiB in an old version and refuses a body without a length with 411', async () => {
    await create('fits')
    const body = Buffer.alloc(4 * 1024 * 1024, 7)
    assert.equal((await append('fits', body, { 'x-ms-version': '2021-12-02' })).status, 201)
    const chunked = append('fits', 'x', { 'Transfer-Encoding': 'chunked' })
    await assertRefused(chunked, 411, 'MissingContentLengthHeader')
  })
})

describe('Append Blob Seal', () => {
  test('prevents further appends, changes the ETag and can be repeated', async () => {
    const blob = container.getAppendBlobClient('sealed')
    await blob.create()
    let { etag, lastModified } = await blob.appendBlock('end', 3)
    for (let i = 0; i < 2; i += 1) {
      server.advance(1_000)
      const sealed = await blob.seal()
      assert.notEqual(sealed.etag, etag)
      assert.notDeepEqual(sealed.lastModified, lastModified)
      ;({ etag, lastModified } = sealed)
    }
    const refused = await append('sealed', 'x')
    assert.deepEqual([refused.status, refused.headers['x-ms-error-code']], [409, 'BlobIsSealed'])
    assert.match(refused.text, />The blob is sealed and its contents cannot be modified\.\n/)
    const { headers } = await send('HEAD', '/log/sealed')
    assert.deepEqual([headers['x-ms-blob-sealed'], headers.etag], ['true', etag])
    assert.equal((await send('GET', '/log/sealed')).headers['x-ms-blob-sealed'], 'true')
  })

  test('still permits setting metadata, headers and tags, and overwriting the blob', async () => {
    const blob = container.getAppendBlobClient('sealed-set')
    await blob.create()
    await blob.seal()
    await blob.setMetadata({ a: '1' })
    await blob.setHTTPHeaders({ blobContentType: 'text/css' })
    const { metadata, contentType, isSealed } = await blob.getProperties()
    assert.deepEqual([metadata, contentType, isSealed], [{ a: '1' }, 'text/css', true])
    const { snapshot = '' } = await blob.createSnapshot()
    assert.equal((await blob.withSnapshot(snapshot).getProperties()).isSealed, true)
    await blob.create()
    assert.equal((await blob.getProperties()).isSealed, undefined)
    assert.equal((await append('sealed-set', 'x')).status, 201)
  })

  const REFUSED: readonly (readonly [string, Headers, number, string])[] = [
    ['another length', { 'x-ms-blob-condition-appendpos': '2' }, 412, 'AppendPositionConditionNotMet'],
    ['another ETag', { 'If-Match': '"0x1"' }, 412, 'ConditionNotMet'],
    ['tags', { 'x-ms-if-tags': "k = 'v'" }, 400, 'ConditionHeadersNotSupported'],
    ['a lease id without a lease', { 'x-ms-lease-id': NO_LEASE }, 412, 'LeaseNotPresentWithBlobOperation'],
  ] // prettier-ignore
  for (const [name, headers, status, code] of REFUSED) {
    test(`with ${name} → ${status} ${code}, and the blob is not sealed`, async () => {
      await create('open')
      await append('open', 'abc')
      await assertRefused(seal('open', headers), status, code)
      assert.equal((await send('HEAD', '/log/open')).headers['x-ms-blob-sealed'], undefined)
      const met = { 'x-ms-blob-condition-appendpos': '3' }
      const { status: sealed, headers: got } = await seal('open', met)
      assert.deepEqual([sealed, got['x-ms-blob-sealed']], [200, 'true'])
    })
  }
})

describe('an append blob in an encryption scope', () => {
  test('accepts only blocks in its scope and returns what was appended', async () => {
    const own = await startBlobFixture({ container: 'log', encryptionScopes: ['mine'] })
    const scope = { 'x-ms-encryption-scope': 'mine' }
    const other = { ...APPEND_BLOB, 'x-ms-encryption-scope': 'other' }
    await assertRefused(own.send('PUT', '/log/b', other), 404, 'EncryptionScopeNotFound')
    const created = await own.send('PUT', '/log/b', { ...APPEND_BLOB, ...scope })
    assert.deepEqual([created.status, created.headers['x-ms-encryption-scope']], [201, 'mine'])
    const path = '/log/b?comp=appendblock'
    const without = own.send('PUT', path, {}, 'in the clear')
    await assertRefused(without, 409, 'BlobUsesCustomerSpecifiedEncryption')
    for (const block of ['one ', 'two']) {
      const { status, headers } = await own.send('PUT', path, scope, block)
      assert.deepEqual([status, headers['x-ms-encryption-scope']], [201, 'mine'])
      assert.equal(headers['x-ms-request-server-encrypted'], 'true')
    }
    assert.equal((await own.send('GET', '/log/b')).text, 'one two')
  })
})
