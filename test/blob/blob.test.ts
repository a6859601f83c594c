// Put Blob, Get Blob, properties, metadata, Delete Blob: bytes and headers are returned as stored, which headers take
// precedence, and which requests are refused. Raw requests are used where the SDK cannot send them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlText, md5Of, type Headers, assertRefused } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

describe('every response', () => {
  test('has the server, the request id and the version', async () => {
    const headers = { 'x-ms-client-request-id': 'mine', 'x-ms-version': '2021-12-02' }
    for (const path of ['/box?restype=container', '/nobox/b']) {
      const answer = await send('GET', path, headers)
      assert.match(String(answer.headers['x-ms-request-id']), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-/)
      assert.equal(answer.headers['x-ms-client-request-id'], 'mine')
      assert.equal(answer.headers['x-ms-version'], '2021-12-02')
      assert.equal(answer.headers.server, 'Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0')
      assert.ok(Date.parse(String(answer.headers.date)) > 0)
    }
  })

  test('to a request with an invalid timeout is an error, and nothing happens', async () => {
    const put = send('PUT', '/box/timeout?timeout=soon', BLOCK_BLOB, 'x')
    await assertRefused(put, 400, 'InvalidQueryParameterValue')
    await assertRefused(send('GET', '/box/timeout'), 404, 'BlobNotFound')
    assert.equal((await send('PUT', '/box/timeout?timeout=9', BLOCK_BLOB, 'x')).status, 201)
  })
})

describe('Put Blob', () => {
  for (const lengthBytes of [0, 1, 8_192, 8_193, 70_000, 3_000_000]) {
    test(`stores ${lengthBytes} bytes`, async () => {
      const body = Buffer.alloc(lengthBytes, 'lazuli')
      const blob = container.getBlockBlobClient(`length-${lengthBytes}`)
      const put = await blob.upload(body, lengthBytes)
      assert.equal(Buffer.from(put.contentMD5 ?? []).toString('base64'), md5Of(body))
      const got = await send('GET', `/box/length-${lengthBytes}`)
      assert.equal(got.status, 200)
      assert.ok(got.body.equals(body))
      assert.equal(got.headers['content-length'], String(lengthBytes))
      assert.equal(got.headers['content-md5'], md5Of(body))
      const properties = await blob.getProperties()
      assert.equal(properties.contentLength, lengthBytes)
      assert.equal(properties.etag, put.etag)
      assert.equal(properties.blobType, 'BlockBlob')
    })
  }

  test('returns ETag, Last-Modified, MD5 and whether the blob is encrypted', async () => {
    const { status, headers, text } = await send('PUT', '/box/headers', BLOCK_BLOB, 'hello')
    assert.equal(status, 201)
    assert.match(String(headers.etag), /^"0x/)
    assert.equal(headers['last-modified'], new Date(server.now()).toUTCString())
    assert.equal(headers['content-md5'], md5Of('hello'))
    assert.equal(headers['x-ms-request-server-encrypted'], 'false')
    assert.equal(headers['content-length'], '0')
    assert.equal(text, '')
  })

  test('accepts and returns the check value of CRC-64/NVME', async () => {
    const check = Buffer.alloc(8)
    check.writeBigUInt64LE(0xae8b14860a799888n)
    const crc64 = check.toString('base64')
    const headers = { ...BLOCK_BLOB, 'x-ms-content-crc64': crc64 }
    const put = await send('PUT', '/box/crc', headers, '123456789')
    assert.deepEqual([put.status, put.headers['x-ms-content-crc64']], [201, crc64])
  })

  const WRONG_MD5 = md5Of('other')
  const REFUSED: readonly (readonly [string, Headers, number, string])[] = [
    ['no type', {}, 400, 'MissingRequiredHeader'],
    ['an unknown type', { 'x-ms-blob-type': 'Blob' }, 400, 'InvalidHeaderValue'],
    ['a wrong MD5', { ...BLOCK_BLOB, 'Content-MD5': WRONG_MD5 }, 400, 'Md5Mismatch'],
    ['a wrong blob MD5', { ...BLOCK_BLOB, 'x-ms-blob-content-md5': WRONG_MD5 }, 400, 'Md5Mismatch'],
    ['a malformed MD5', { ...BLOCK_BLOB, 'Content-MD5': 'abc' }, 400, 'InvalidMd5'],
    ['a wrong CRC', { ...BLOCK_BLOB, 'x-ms-content-crc64': 'AAAAAAAAAAA=' }, 400, 'Crc64Mismatch'],
    [
      'a malformed CRC-64',
      { ...BLOCK_BLOB, 'x-ms-content-crc64': 'AA' },
      400,
      'InvalidHeaderValue',
    ],
    [
      'both hashes',
      { ...BLOCK_BLOB, 'Content-MD5': md5Of('new'), 'x-ms-content-crc64': 'AAAAAAAAAAA=' },
      400,
      'BothCrc64AndMd5HeaderPresent',
    ],
    ['an empty metadata name', { ...BLOCK_BLOB, 'x-ms-meta-': 'v' }, 400, 'EmptyMetadataKey'],
    ['a dash in a metadata name', { ...BLOCK_BLOB, 'x-ms-meta-a-b': 'v' }, 400, 'InvalidMetadata'],
    [
      'a digit at the start of a metadata name',
      { ...BLOCK_BLOB, 'x-ms-meta-1a': 'v' },
      400,
      'InvalidMetadata',
    ],
    ['a metadata name twice', { ...BLOCK_BLOB, 'x-ms-meta-a': ['1', '2'] }, 400, 'InvalidMetadata'],
    [
      'metadata above 8 KiB',
      { ...BLOCK_BLOB, 'x-ms-meta-a': 'v'.repeat(8_192) },
      400,
      'MetadataTooLarge',
    ],
    ['a malformed lease id', { ...BLOCK_BLOB, 'x-ms-lease-id': 'mine' }, 400, 'InvalidHeaderValue'],
  ]
  for (const [name, headers, status, code] of REFUSED) {
    for (const body of ['new', 'new'.repeat(5_000)]) {
      test(`${body.length} bytes with ${name} → ${code}, and nothing changes`, async () => {
        await send('PUT', '/box/kept', { ...BLOCK_BLOB, 'x-ms-meta-state': 'old' }, 'old')
        const before = await send('HEAD', '/box/kept')
        await assertRefused(send('PUT', '/box/kept', headers, body), status, code)
        const now = await send('GET', '/box/kept')
        assert.equal(now.text, 'old')
        assert.equal(now.headers.etag, before.headers.etag)
        await assertRefused(send('PUT', '/box/never', headers, body), status, code)
        await assertRefused(send('GET', '/box/never'), 404, 'BlobNotFound')
      })
    }
  }

  test('refuses a body without a length with MissingContentLengthHeader', async () => {
    const headers = { ...BLOCK_BLOB, 'Transfer-Encoding': 'chunked' }
    await assertRefused(send('PUT', '/box/n', headers, 'x'), 411, 'MissingContentLengthHeader')
  })

  test('refuses more than 5,000 MiB with RequestBodyTooLarge and the limit', async () => {
    const headers = { ...BLOCK_BLOB, 'Content-Length': '5242880001', Expect: '100-continue' }
    const answer = await send('PUT', '/box/n', headers)
    assert.equal(answer.status, 413)
    assert.equal(xmlText(answer.text, 'MaxLimit'), '5242880000')
  })

  test('needs an existing container', async () => {
    await assertRefused(send('PUT', '/nobox/b', BLOCK_BLOB, 'x'), 404, 'ContainerNotFound')
    const long = 'x'.repeat(20_000)
    await assertRefused(send('PUT', '/nobox/b', BLOCK_BLOB, long), 404, 'ContainerNotFound')
  })

  test('replaces all headers and metadata', async () => {
    const blob = container.getBlockBlobClient('whole')
    const blobHTTPHeaders = { blobContentType: 'text/css', blobCacheControl: 'no-store' }
    await blob.upload('one', 3, { metadata: { a: '1', b: '2' }, blobHTTPHeaders })
    await blob.upload('two', 3, { metadata: { c: '3' } })
    const { metadata, contentType, cacheControl } = await blob.getProperties()
    assert.deepEqual(metadata, { c: '3' })
    assert.deepEqual([contentType, cacheControl], ['application/octet-stream', undefined])
  })
})

// header            plain header of Put Blob    stored header
const ENTITY_HEADERS: readonly (readonly [string, boolean])[] = [
  ['content-type', true],
  ['content-encoding', true],
  ['content-language', true],
  ['cache-control', true],
  ['content-disposition', false],
]

describe('entity headers', () => {
  for (const [name, isPlainTaken] of ENTITY_HEADERS) {
    test(`x-ms-blob-${name} takes precedence over ${name}`, async () => {
      const read = async () => (await send('HEAD', '/box/entity')).headers[name]
      const otherwise = name === 'content-type' ? 'application/octet-stream' : undefined
      const plain = { ...BLOCK_BLOB, [name]: 'text/plain' }
      const own = { [`x-ms-blob-${name}`]: 'text/own' }
      await send('PUT', '/box/entity', plain, 'x')
      assert.equal(await read(), isPlainTaken ? 'text/plain' : otherwise)
      await send('PUT', '/box/entity', { ...plain, ...own }, 'x')
      assert.equal(await read(), 'text/own')
      await send('PUT', '/box/entity?comp=properties', { [name]: 'text/plain' })
      assert.equal(await read(), undefined)
      await send('PUT', '/box/entity?comp=properties', own)
      assert.equal(await read(), 'text/own')
      assert.equal((await send('GET', '/box/entity')).headers[name], 'text/own')
    })
  }

  test('Set Blob Properties clears the headers that it does not set, including the MD5', async () => {
    const blob = container.getBlockBlobClient('cleared')
    const all = {
      blobContentType: 'text/css',
      blobContentEncoding: 'gzip',
      blobContentLanguage: 'la',
      blobContentDisposition: 'attachment',
      blobCacheControl: 'no-cache',
    }
    await blob.upload('x', 1, { blobHTTPHeaders: all, metadata: { kept: 'yes' } })
    await blob.setHTTPHeaders({ blobContentLanguage: 'eo' })
    const now = await blob.getProperties()
    assert.equal(now.contentLanguage, 'eo')
    assert.equal(now.contentType, undefined)
    assert.deepEqual(
      [now.contentEncoding, now.contentDisposition, now.cacheControl, now.contentMD5],
      [undefined, undefined, undefined, undefined],
    )
    assert.deepEqual(now.metadata, { kept: 'yes' })
    assert.equal((await blob.downloadToBuffer()).toString(), 'x')
  })

  test('Set Blob Properties stores any well-formed MD5', async () => {
    await send('PUT', '/box/md5', BLOCK_BLOB, 'x')
    const headers = { 'x-ms-blob-content-md5': md5Of('whatever') }
    assert.equal((await send('PUT', '/box/md5?comp=properties', headers)).status, 200)
    const { headers: now } = await send('HEAD', '/box/md5')
    assert.equal(now['content-md5'], md5Of('whatever'))
    const bad = { 'x-ms-blob-content-md5': 'abc' }
    await assertRefused(send('PUT', '/box/md5?comp=properties', bad), 400, 'InvalidMd5')
  })
})

describe('metadata', () => {
  test('keeps the case and order of its names and is replaced as a whole', async () => {
    const blob = container.getBlockBlobClient('meta')
    await blob.upload('x', 1, { metadata: { Zebra: '1', apple: '2', __proto: '3' } })
    const got = await send('GET', '/box/meta?comp=metadata')
    assert.equal(got.status, 200)
    assert.equal(got.text, '')
    assert.equal(got.headers['content-type'], undefined)
    assert.equal(got.headers['x-ms-meta-zebra'], '1')
    await blob.setMetadata({ only: 'this one', _under: 'a  b' })
    assert.deepEqual((await blob.getProperties()).metadata, { only: 'this one', _under: 'a  b' })
    await blob.setMetadata()
    assert.deepEqual((await blob.getProperties()).metadata, {})
    assert.equal((await blob.downloadToBuffer()).toString(), 'x')
  })

  test('can have 8 KiB', async () => {
    await send('PUT', '/box/full', BLOCK_BLOB, 'x')
    const headers = { 'x-ms-meta-a': 'v'.repeat(8_191) }
    assert.equal((await send('PUT', '/box/full?comp=metadata', headers)).status, 200)
    const more = { 'x-ms-meta-ab': 'v'.repeat(8_191) }
    await assertRefused(send('PUT', '/box/full?comp=metadata', more), 400, 'MetadataTooLarge')
    assert.equal((await send('HEAD', '/box/full')).headers['x-ms-meta-a']?.length, 8_191)
  })
})

describe('Get Blob and Get Blob Properties', () => {
  test('return the same headers, and HEAD no body', async () => {
    await send('PUT', '/box/both', { ...BLOCK_BLOB, 'x-ms-meta-a': '1' }, 'hello')
    const drop = ({ date: _d, 'x-ms-request-id': _i, ...kept }: Record<string, unknown>) => kept
    const [get, head] = [await send('GET', '/box/both'), await send('HEAD', '/box/both')]
    // Get Blob has no tier before 2026-10-06.
    const {
      'x-ms-access-tier': tier,
      'x-ms-access-tier-inferred': inferred,
      ...rest
    } = head.headers
    assert.deepEqual([tier, inferred], ['Hot', 'true'])
    assert.deepEqual(drop(rest), drop(get.headers))
    assert.deepEqual([get.text, head.text], ['hello', ''])
    const expected = {
      'accept-ranges': 'bytes',
      'content-length': '5',
      'content-md5': md5Of('hello'),
      'content-type': 'application/octet-stream',
      'x-ms-blob-type': 'BlockBlob',
      'x-ms-creation-time': get.headers['last-modified'],
      'x-ms-lease-state': 'available',
      'x-ms-lease-status': 'unlocked',
      'x-ms-meta-a': '1',
      'x-ms-server-encrypted': 'false',
    }
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(get.headers[name], value, name)
    }
  })

  const MISSING: readonly (readonly [string, string])[] = [
    ['GET', ''],
    ['HEAD', ''],
    ['GET', '?comp=metadata'],
    ['PUT', '?comp=metadata'],
    ['PUT', '?comp=properties'],
    ['DELETE', ''],
  ]
  for (const [method, query] of MISSING) {
    test(`${method} ${query} of a missing blob → 404`, async () => {
      await assertRefused(send(method, `/box/none${query}`), 404, 'BlobNotFound')
      await assertRefused(send(method, `/nobox/none${query}`), 404, 'ContainerNotFound')
    })
  }

  test('refuse another method with 405 and another comp with 400', async () => {
    await assertRefused(send('POST', '/box/both'), 405, 'UnsupportedHttpVerb')
    await assertRefused(send('GET', '/box/both?comp=no'), 400, 'InvalidQueryParameterValue')
  })
})

describe('Delete Blob', () => {
  test('is answered with 202 once, then the blob is gone', async () => {
    await send('PUT', '/box/gone', BLOCK_BLOB, 'x')
    const { status, headers } = await send('DELETE', '/box/gone')
    assert.deepEqual([status, headers['x-ms-delete-type-permanent']], [202, 'true'])
    await assertRefused(send('DELETE', '/box/gone'), 404, 'BlobNotFound')
    await assertRefused(send('HEAD', '/box/gone'), 404, 'BlobNotFound')
  })
})
