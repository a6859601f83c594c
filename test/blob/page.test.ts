// Page blobs: create, Put Page and Clear Pages, their responses, errors and the order of checks, conditions, sequence
// numbers and leases.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc64Hasher } from '../../src/extent/hash/hash.ts'
import {
  encodeStructuredBody,
  structuredBodyLength,
} from '../../src/http/protocol/structured-body.ts'
import { xmlText, md5Of, type Headers, assertRefused } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture({ container: 'disks' })

const PAGE = 512
const MIB = 1024 * 1024
const TIB = 2 ** 40

function create(name: string, lengthBytes: number, headers: Headers = {}) {
  const own = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': String(lengthBytes) }
  return send('PUT', `/disks/${name}`, { ...own, ...headers })
}

const rangeOf = (from: number, lengthBytes: number) => `bytes=${from}-${from + lengthBytes - 1}`

function putPage(name: string, from: number, body: string | Uint8Array, headers: Headers = {}) {
  const own = { 'x-ms-page-write': 'update', 'x-ms-range': rangeOf(from, body.length) }
  return send('PUT', `/disks/${name}?comp=page`, { ...own, ...headers }, body)
}

function clear(name: string, from: number, lengthBytes: number, headers: Headers = {}) {
  const own = { 'x-ms-page-write': 'clear', 'x-ms-range': rangeOf(from, lengthBytes) }
  return send('PUT', `/disks/${name}?comp=page`, { ...own, ...headers })
}

function crc64Of(body: Uint8Array): string {
  const hasher = crc64Hasher()
  hasher.update(body)
  return hasher.digest().toString('base64')
}

describe('Put Blob of a page blob', () => {
  test('creates zeros of the requested length', async () => {
    const blob = container.getPageBlobClient('zeros')
    const created = await blob.create(3 * PAGE, { metadata: { a: '1' } })
    assert.equal(created.isServerEncrypted, false)
    assert.ok((await blob.downloadToBuffer()).equals(Buffer.alloc(3 * PAGE)))
    const properties = await blob.getProperties()
    assert.equal(properties.etag, created.etag)
    assert.deepEqual(
      [properties.blobType, properties.contentLength, properties.blobSequenceNumber],
      ['PageBlob', 3 * PAGE, 0],
    )
    assert.deepEqual([properties.metadata, properties.accessTier], [{ a: '1' }, undefined])
  })

  test('accepts a length up to 8 TiB, a sequence number up to 2^63-1 and a disk tier', async () => {
    const headers = {
      'x-ms-blob-sequence-number': '9223372036854775807',
      'x-ms-access-tier': 'p10',
    }
    assert.equal((await create('largest', 8 * TIB, headers)).status, 201)
    const { headers: got } = await send('HEAD', '/disks/largest')
    assert.equal(got['content-length'], String(8 * TIB))
    assert.equal(got['x-ms-blob-sequence-number'], '9223372036854775807')
    assert.equal(got['x-ms-access-tier'], 'P10')
    const end = rangeOf(8 * TIB - 2 * PAGE, 2 * PAGE)
    assert.equal((await putPage('largest', 8 * TIB - PAGE, 'z'.repeat(PAGE))).status, 201)
    const read = await send('GET', '/disks/largest', { 'x-ms-range': end })
    assert.deepEqual([read.status, read.text], [206, '\0'.repeat(PAGE) + 'z'.repeat(PAGE)])
  })

  const LENGTH = 'x-ms-blob-content-length'
  // prettier-ignore
  const REFUSED: readonly (readonly [string, Headers, string, string?, string?])[] = [
    ['no length', { [LENGTH]: '' }, 'MissingRequiredHeader', LENGTH],
    ['half a page', { [LENGTH]: '256' }, 'InvalidHeaderValue', LENGTH, '256'],
    ['a negative length', { [LENGTH]: '-512' }, 'InvalidHeaderValue', LENGTH, '-512'],
    ['a page above 8 TiB', { [LENGTH]: '8796093022720' }, 'InvalidHeaderValue', LENGTH, '8796093022720'],
    ['a negative sequence number', { 'x-ms-blob-sequence-number': '-1' }, 'InvalidHeaderValue', 'x-ms-blob-sequence-number', '-1'],
    ['a sequence number of 2^63', { 'x-ms-blob-sequence-number': '9223372036854775808' }, 'InvalidHeaderValue'],
    ['a tier of block blobs', { 'x-ms-access-tier': 'Cool' }, 'InvalidBlobTier'],
  ]
  for (const [name, headers, code, header, value] of REFUSED) {
    test(`with ${name} → ${code}`, async () => {
      const answer = await create('never', PAGE, headers)
      await assertRefused(answer, 400, code)
      if (header !== undefined) assert.equal(xmlText(answer.text, 'HeaderName'), header)
      if (value !== undefined) assert.equal(xmlText(answer.text, 'HeaderValue'), value)
      await assertRefused(send('HEAD', '/disks/never'), 404, 'BlobNotFound')
    })
  }

  test('with a body → RequestBodyTooLarge', async () => {
    const headers = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }
    await assertRefused(send('PUT', '/disks/never', headers, 'x'), 413, 'RequestBodyTooLarge')
  })

  test('replaces a blob of any type, except with If-None-Match: *', async () => {
    await send('PUT', '/disks/any', { 'x-ms-blob-type': 'BlockBlob' }, 'bytes')
    const guarded = create('any', PAGE, { 'If-None-Match': '*' })
    await assertRefused(guarded, 409, 'BlobAlreadyExists')
    assert.equal((await create('any', PAGE)).status, 201)
    await putPage('any', 0, 'a'.repeat(PAGE))
    assert.equal((await create('any', PAGE)).status, 201)
    assert.equal((await send('GET', '/disks/any')).text, '\0'.repeat(PAGE))
  })
})

describe('Put Page', () => {
  test('returns validators, the sequence number, the CRC-64 and a new ETag', async () => {
    const created = await create('answer', 2 * PAGE, { 'x-ms-blob-sequence-number': '7' })
    server.advance(5_000)
    const body = Buffer.alloc(PAGE, 'lazuli')
    const { status, headers, text } = await putPage('answer', PAGE, body)
    assert.deepEqual([status, text], [201, ''])
    assert.match(String(headers.etag), /^"0x/)
    assert.notEqual(headers.etag, created.headers.etag)
    assert.equal(headers['last-modified'], new Date(server.now()).toUTCString())
    assert.equal(headers['x-ms-blob-sequence-number'], '7')
    assert.equal(headers['x-ms-content-crc64'], crc64Of(body))
    assert.equal(headers['content-md5'], undefined)
    assert.equal(headers['x-ms-request-server-encrypted'], 'false')
    const got = await send('GET', '/disks/answer')
    assert.ok(got.body.equals(Buffer.concat([Buffer.alloc(PAGE), body])))
    assert.equal(got.headers.etag, headers.etag)
  })

  // version, hash sent → hashes returned
  const HASHES = [
    ['2025-11-05', 'md5', ['md5']],
    ['2025-11-05', 'crc64', ['crc64']],
    ['2018-11-09', undefined, ['md5']],
    ['2026-10-06', 'md5', ['md5', 'crc64']],
  ] as const
  for (const [version, sent, expected] of HASHES) {
    test(`in ${version} with ${sent ?? 'no hash'} returns ${expected.join(' and ')}`, async () => {
      await create('hash', PAGE)
      const body = Buffer.alloc(PAGE, 'h')
      const hash =
        sent === 'md5' ? { 'Content-MD5': md5Of(body) }
        : sent === 'crc64' ? { 'x-ms-content-crc64': crc64Of(body) }
        : {} // prettier-ignore
      const { headers } = await putPage('hash', 0, body, { ...hash, 'x-ms-version': version })
      const has = (name: 'md5' | 'crc64') => (expected as readonly string[]).includes(name)
      assert.equal(headers['content-md5'], has('md5') ? md5Of(body) : undefined)
      assert.equal(headers['x-ms-content-crc64'], has('crc64') ? crc64Of(body) : undefined)
    })
  }

  test('accepts 4 MiB, plain and as a structured message', async () => {
    const body = Buffer.alloc(4 * MIB, 'four')
    const blob = container.getPageBlobClient('four')
    await blob.create(8 * MIB)
    await blob.uploadPages(body, 0, body.length)
    const source = (async function* () {
      yield body
    })()
    const chunks: Uint8Array[] = []
    for await (const chunk of encodeStructuredBody(source, body.length)) chunks.push(chunk)
    const message = Buffer.concat(chunks)
    assert.equal(message.length, structuredBodyLength(body.length))
    const headers = {
      'x-ms-structured-body': 'XSM/1.0; properties=crc64',
      'x-ms-structured-content-length': String(body.length),
      'x-ms-range': rangeOf(4 * MIB, body.length),
    }
    const put = await putPage('four', 0, message, headers)
    assert.equal(put.status, 201)
    assert.equal(put.headers['x-ms-structured-body'], 'XSM/1.0; properties=crc64')
    const both = await blob.downloadToBuffer()
    assert.ok(both.equals(Buffer.concat([body, body])))
    message[40] = (message[40] ?? 0) ^ 1
    await assertRefused(putPage('four', 0, message, headers), 400, 'Crc64Mismatch')
    assert.ok((await blob.downloadToBuffer()).equals(both))
  })

  test('above 4 MiB → RequestBodyTooLarge with the limit', async () => {
    await create('larger', 8 * MIB)
    const answer = await putPage('larger', 0, Buffer.alloc(4 * MIB + PAGE))
    await assertRefused(answer, 413, 'RequestBodyTooLarge')
    assert.equal(xmlText(answer.text, 'MaxLimit'), String(4 * MIB))
  })

  const bytes = 'p'.repeat(PAGE)
  // prettier-ignore
  const REFUSED: readonly (readonly [string, Headers, number, string, string?])[] = [
    ['no range', { 'x-ms-range': '' }, 400, 'MissingRequiredHeader'],
    ['a range without its end', { 'x-ms-range': 'bytes=0-' }, 400, 'InvalidHeaderValue', 'bytes=0-'],
    ['a range that begins within a page', { 'x-ms-range': 'bytes=1-512' }, 400, 'InvalidHeaderValue', 'bytes=1-512'],
    ['a range that ends within a page', { 'x-ms-range': 'bytes=0-512' }, 400, 'InvalidHeaderValue', 'bytes=0-512'],
    ['a Range within a page', { 'x-ms-range': '', Range: 'bytes=0-3' }, 400, 'InvalidHeaderValue', 'bytes=0-3'],
    ['a range longer than the body', { 'x-ms-range': 'bytes=0-1023' }, 400, 'InvalidHeaderValue', '512'],
    ['a range after the end', { 'x-ms-range': 'bytes=1024-1535' }, 416, 'InvalidPageRange'],
    ['no x-ms-page-write', { 'x-ms-page-write': '' }, 400, 'MissingRequiredHeader'],
    ['an unknown x-ms-page-write', { 'x-ms-page-write': 'add' }, 400, 'InvalidHeaderValue', 'add'],
    ['a wrong MD5', { 'Content-MD5': md5Of('other') }, 400, 'Md5Mismatch'],
    ['a wrong CRC-64', { 'x-ms-content-crc64': 'AAAAAAAAAAA=' }, 400, 'Crc64Mismatch'],
    ['both hashes', { 'x-ms-content-crc64': 'AAAAAAAAAAA=', 'Content-MD5': md5Of(bytes) }, 400, 'BothCrc64AndMd5HeaderPresent'],
    ['a negative condition', { 'x-ms-if-sequence-number-eq': '-1' }, 400, 'InvalidInput'],
    ['a condition that is not a number', { 'x-ms-if-sequence-number-le': 'x' }, 400, 'InvalidHeaderValue', 'x'],
    ['a lease id without a lease', { 'x-ms-lease-id': '00000000-0000-0000-0000-000000000001' }, 412, 'LeaseNotPresentWithBlobOperation'],
  ]
  for (const [name, headers, status, code, value] of REFUSED) {
    test(`with ${name} → ${code}, and nothing changes`, async () => {
      await create('kept', 2 * PAGE)
      const { headers: before } = await putPage('kept', 0, 'o'.repeat(PAGE))
      const answer = await putPage('kept', 0, bytes, headers)
      await assertRefused(answer, status, code)
      if (value !== undefined) assert.equal(xmlText(answer.text, 'HeaderValue'), value)
      const now = await send('GET', '/disks/kept')
      assert.equal(now.text, 'o'.repeat(PAGE) + '\0'.repeat(PAGE))
      assert.equal(now.headers.etag, before.etag)
    })
  }

  test('prefers x-ms-range to Range', async () => {
    await create('ranges', 2 * PAGE)
    assert.equal((await putPage('ranges', PAGE, bytes, { Range: 'bytes=0-511' })).status, 201)
    assert.equal((await send('GET', '/disks/ranges')).text, '\0'.repeat(PAGE) + bytes)
  })
})

describe('both operations:', () => {
  const WRITES = [
    ['Put Page', (name: string, headers?: Headers) => putPage(name, 0, 'w'.repeat(PAGE), headers)],
    ['Clear Pages', (name: string, headers?: Headers) => clear(name, 0, PAGE, headers)],
  ] as const
  const NO_CONTAINER = '/nodisks/none?comp=page'
  for (const [operation, write] of WRITES) {
    test(`${operation} of a missing blob or a block blob is refused`, async () => {
      await assertRefused(write('none'), 404, 'BlobNotFound')
      const headers = { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' }
      await assertRefused(send('PUT', NO_CONTAINER, headers), 404, 'ContainerNotFound')
      await send('PUT', '/disks/block', { 'x-ms-blob-type': 'BlockBlob' }, 'bytes')
      await assertRefused(write('block'), 409, 'InvalidBlobType')
    })

    // sequence number 5; header, value → whether it is met
    const SEQUENCE = [
      ['le', '5', true], ['le', '4', false], ['lt', '6', true], ['lt', '5', false],
      ['eq', '5', true], ['eq', '6', false], ['le', '9223372036854775807', true],
    ] as const // prettier-ignore
    for (const [kind, value, holds] of SEQUENCE) {
      test(`${operation} at number 5 if ${kind} ${value}: ${holds ? 'done' : 'refused'}`, async () => {
        await create('number', PAGE, { 'x-ms-blob-sequence-number': '5' })
        const sent = write('number', { [`x-ms-if-sequence-number-${kind}`]: value })
        if (holds) assert.equal((await sent).status, 201)
        else await assertRefused(sent, 412, 'SequenceNumberConditionNotMet')
      })
    }

    test(`${operation} checks conditions, then the lease, then the range`, async () => {
      const { headers } = await create('guard', PAGE)
      const etag = String(headers.etag)
      await assertRefused(write('guard', { 'If-Match': '"0x8D0"' }), 412, 'ConditionNotMet')
      await assertRefused(write('guard', { 'If-None-Match': etag }), 412, 'ConditionNotMet')
      await assertRefused(write('guard', { 'x-ms-if-tags': `"a" = 'b'` }), 412, 'ConditionNotMet')
      const since = String(headers['last-modified'])
      await assertRefused(write('guard', { 'If-Modified-Since': since }), 412, 'ConditionNotMet')
      const id = '00000000-0000-4000-8000-000000000001'
      const lease = container.getPageBlobClient('guard').getBlobLeaseClient(id)
      await lease.acquireLease(15)
      const far = { 'x-ms-range': 'bytes=512-1023' }
      const both = { 'If-Match': '"0x8D0"', ...far }
      await assertRefused(write('guard', both), 412, 'ConditionNotMet')
      await assertRefused(write('guard', far), 412, 'LeaseIdMissing')
      const other = { 'x-ms-lease-id': id.replace(/1$/, '2') }
      await assertRefused(write('guard', other), 412, 'LeaseIdMismatchWithBlobOperation')
      const held = { 'x-ms-lease-id': id }
      await assertRefused(write('guard', { ...held, ...far }), 416, 'InvalidPageRange')
      assert.equal((await write('guard', { ...held, 'If-Match': etag })).status, 201)
      server.advance(15_000)
      await assertRefused(write('guard', held), 412, 'LeaseLost')
      assert.equal((await write('guard')).status, 201)
    })
  }
})

describe('Clear Pages', () => {
  test('writes zeros, in a range as long as the blob', async () => {
    const blob = container.getPageBlobClient('clear')
    await blob.create(3 * TIB)
    await blob.uploadPages('c'.repeat(4 * PAGE), PAGE, 4 * PAGE)
    const cleared = await blob.clearPages(2 * PAGE, 2 * PAGE)
    assert.equal(cleared.blobSequenceNumber, 0)
    const left = 'c'.repeat(PAGE)
    const zeros = '\0'.repeat(PAGE)
    const read = (await blob.downloadToBuffer(0, 6 * PAGE)).toString()
    assert.equal(read, zeros + left + zeros + zeros + left + zeros)
    const { status, headers } = await clear('clear', 0, 3 * TIB)
    assert.equal(status, 201)
    assert.equal(headers['x-ms-content-crc64'], undefined)
    assert.equal((await blob.getProperties()).etag, headers.etag)
    assert.ok((await blob.downloadToBuffer(0, 6 * PAGE)).equals(Buffer.alloc(6 * PAGE)))
  })

  test('with a body → RequestBodyTooLarge', async () => {
    await create('clearbody', PAGE)
    const headers = { 'x-ms-page-write': 'clear' }
    const sent = putPage('clearbody', 0, 'x'.repeat(PAGE), headers)
    await assertRefused(sent, 413, 'RequestBodyTooLarge')
  })
})
