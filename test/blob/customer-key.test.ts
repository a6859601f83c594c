// Customer-provided keys: data written with a key can be read only with that key, for every blob type and operation.
// Each request carries the key; the server stores only its SHA-256.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { outcome, xmlText, xmlTexts, md5Of, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture, startSecureFixture } from './fixture.ts'
import { keyHeaders, MISMATCH, newKey, USES, USES_NOT } from './secure-server.ts'

const KEY = newKey()
const OTHER = newKey()
const WITH_KEY = { customerProvidedKey: KEY }

const { container, send } = await startSecureFixture()

const base64Of = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64')

/** No two blocks of 16 bytes are equal, so that a shifted keystream shows. */
function contentOf(lengthBytes: number): Buffer {
  let text = ''
  for (let i = 0; text.length < lengthBytes; i += 1) text += `${i};`
  return Buffer.from(text.slice(0, lengthBytes))
}

/** Puts a blob with or without the key. */
async function put(name: string, key: Headers = keyHeaders(KEY), body: Uint8Array = contentOf(99)) {
  const answer = await send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...key }, body)
  assert.equal(answer.status, 201)
}

describe('Put Blob and Get Blob with a key', () => {
  for (const lengthBytes of [0, 1, 16, 5_000, 8_193, 700_001]) {
    test(`store and return ${lengthBytes} bytes`, async () => {
      const body = contentOf(lengthBytes)
      const blob = container.getBlockBlobClient(`length-${lengthBytes}`)
      const answer = await blob.upload(body, lengthBytes, WITH_KEY)
      assert.equal(answer.isServerEncrypted, true)
      assert.equal(answer.encryptionKeySha256, KEY.encryptionKeySha256)
      assert.equal(base64Of(answer.contentMD5), md5Of(body), 'of what was sent')
      const got = await send('GET', `/box/length-${lengthBytes}`, keyHeaders(KEY))
      assert.equal(got.status, 200)
      assert.ok(got.body.equals(body))
      assert.equal(got.headers['x-ms-server-encrypted'], 'true')
      assert.equal(got.headers['x-ms-encryption-key-sha256'], KEY.encryptionKeySha256)
      assert.equal(got.headers['x-ms-encryption-key'], undefined)
      assert.equal(got.headers['content-md5'], md5Of(body))
      const properties = await blob.getProperties(WITH_KEY)
      assert.equal(properties.contentLength, lengthBytes)
      assert.equal(properties.isServerEncrypted, true)
      assert.equal(properties.encryptionKeySha256, KEY.encryptionKeySha256)
      if (lengthBytes > 0)
        assert.ok((await blob.downloadToBuffer(0, undefined, WITH_KEY)).equals(body))
    })
  }

  const RANGES = [[0, 1], [1, 15], [15, 2], [16, 16], [17, 70_000], [131_071, 2], [699_990, 11]] // prettier-ignore
  for (const [from = 0, count = 0] of RANGES) {
    test(`return ${count} bytes from byte ${from}, with their MD5`, async () => {
      const expected = contentOf(700_001).subarray(from, from + count)
      const blob = container.getBlobClient('length-700001')
      const options = { ...WITH_KEY, rangeGetContentMD5: true }
      const got = await blob.download(from, count, options)
      assert.equal(base64Of(got.contentMD5), md5Of(expected))
      assert.ok((await blob.downloadToBuffer(from, count, WITH_KEY)).equals(expected))
    })
  }

  test('need no algorithm for a read, and ignore one without a key', async () => {
    const { 'x-ms-encryption-algorithm': algorithm = '', ...rest } = keyHeaders(KEY)
    await put('algorithm')
    await put('algorithm-plain', { 'x-ms-encryption-algorithm': algorithm })
    assert.equal(outcome(await send('GET', '/box/algorithm', rest)), '200')
    const alone = { 'x-ms-encryption-algorithm': 'AES256' }
    assert.equal(outcome(await send('GET', '/box/algorithm', alone)), USES)
    assert.equal(outcome(await send('GET', '/box/algorithm-plain')), '200')
  })

  test('encrypt the same bytes differently each time', async () => {
    const blob = container.getBlockBlobClient('twice')
    for (const key of [KEY, OTHER, undefined, KEY]) {
      const options = key && { customerProvidedKey: key }
      const answer = await blob.upload('the same', 8, options)
      assert.equal(answer.isServerEncrypted, key !== undefined)
      assert.equal(String(await blob.downloadToBuffer(0, undefined, options)), 'the same')
    }
  })
})

describe('an operation', () => {
  before(async () => {
    await put('mine')
    await put('plain', {})
  })

  type Ask = readonly [method: string, query: string, headers: Headers, ok: string]
  const ASKS: Readonly<Record<string, Ask>> = {
    'Get Blob': ['GET', '', {}, '200'],
    'Get Blob, a range': ['GET', '', { range: 'bytes=0-3' }, '206'],
    'Get Blob Properties': ['HEAD', '', {}, '200'],
    'Get Blob Metadata': ['GET', '?comp=metadata', {}, '200'],
    'Set Blob Metadata': ['PUT', '?comp=metadata', { 'x-ms-meta-a': 'b' }, '200'],
    'Snapshot Blob': ['PUT', '?comp=snapshot', {}, '201'],
  }
  for (const [name, [method, query, headers, ok]] of Object.entries(ASKS)) {
    // prettier-ignore
    const CASES: readonly (readonly [string, string, Headers, string])[] = [
      ['its key',            'mine',  keyHeaders(KEY),   ok],
      ['no key',             'mine',  {},                USES],
      ['another key',        'mine',  keyHeaders(OTHER), MISMATCH],
      ['an unneeded key',  'plain', keyHeaders(KEY),   USES_NOT],
    ]
    for (const [what, blob, key, expected] of CASES) {
      test(`${name} with ${what} → ${expected}`, async () => {
        const answer = await send(method, `/box/${blob}${query}`, { ...headers, ...key })
        assert.equal(outcome(answer), expected)
        assert.ok(!answer.body.includes(contentOf(99)) || ok.startsWith('2'))
      })
    }
  }

  test('that does not use the bytes needs no key', async () => {
    await put('free')
    const blob = container.getBlockBlobClient('free')
    await blob.setHTTPHeaders({ blobContentType: 'text/plain' })
    await blob.setTags({ a: 'b' })
    assert.deepEqual((await blob.getTags()).tags, { a: 'b' })
    await blob.setAccessTier('Cool')
    const lease = blob.getBlobLeaseClient()
    await lease.acquireLease(15)
    await lease.releaseLease()
    assert.equal((await blob.getProperties(WITH_KEY)).contentType, 'text/plain')
    assert.equal((await blob.delete()).errorCode, undefined)
    assert.equal(await blob.exists(), false)
  })

  test('that writes returns how it has encrypted', async () => {
    await put('said')
    const metadata = await send('PUT', '/box/said?comp=metadata', keyHeaders(KEY))
    const snapshot = await send('PUT', '/box/said?comp=snapshot', keyHeaders(KEY))
    assert.equal(metadata.headers['x-ms-request-server-encrypted'], 'true')
    assert.equal(metadata.headers['x-ms-encryption-key-sha256'], KEY.encryptionKeySha256)
    // A snapshot encrypts nothing.
    assert.equal(snapshot.headers['x-ms-request-server-encrypted'], 'false')
    assert.equal(snapshot.headers['x-ms-encryption-key-sha256'], undefined)
    const path = `/box/said?snapshot=${String(snapshot.headers['x-ms-snapshot'])}`
    assert.equal(outcome(await send('GET', path)), USES)
    assert.equal((await send('GET', path, keyHeaders(KEY))).text, String(contentOf(99)))
  })

  test('checks conditions and the lease before the key', async () => {
    await put('guarded')
    const wrong = { ...keyHeaders(OTHER), 'if-match': '"0x0"' }
    for (const [method, query] of [
      ['GET', ''],
      ['PUT', '?comp=metadata'],
      ['PUT', '?comp=snapshot'],
    ]) {
      const answer = await send(String(method), `/box/guarded${query}`, wrong)
      assert.equal(outcome(answer), '412 ConditionNotMet')
    }
    const lease = container.getBlobClient('guarded').getBlobLeaseClient()
    await lease.acquireLease(-1)
    const answer = await send('PUT', '/box/guarded?comp=metadata', keyHeaders(OTHER))
    assert.equal(outcome(answer), '412 LeaseIdMissing')
    assert.equal(outcome(await send('GET', '/box/nothing', keyHeaders(KEY))), '404 BlobNotFound')
    await lease.releaseLease()
  })

  test('that lists shows the SHA-256 of the key, but no encrypted properties', async () => {
    const { text } = await send(
      'GET',
      '/box?restype=container&comp=list&prefix=mine&include=metadata',
    )
    assert.equal(xmlText(text, 'CustomerProvidedKeySha256'), KEY.encryptionKeySha256)
    assert.equal(xmlText(text, 'ServerEncrypted'), 'true')
    assert.equal(xmlText(text, 'a'), undefined, 'the metadata')
    const plain = await send('GET', '/box?restype=container&comp=list&prefix=plain')
    assert.deepEqual(xmlTexts(plain.text, 'CustomerProvidedKeySha256'), [])
    assert.equal(xmlText(plain.text, 'ServerEncrypted'), 'false')
  })
})

describe('an invalid key', () => {
  const { encryptionKey: key, encryptionKeySha256: sha256 } = KEY
  const short = Buffer.alloc(16).toString('base64')
  const part = (name: string) => `x-ms-encryption-${name}`
  const all = keyHeaders(KEY)
  const INVALID = '400 InvalidHeaderValue'
  const MISSING = '400 MissingRequiredHeader'

  // prettier-ignore
  const CASES: readonly (readonly [string, Headers, string, string])[] = [
    ['no SHA-256',            { [part('key')]: key, [part('algorithm')]: 'AES256' },  MISSING, part('key-sha256')],
    ['no key',                { [part('key-sha256')]: sha256, [part('algorithm')]: 'AES256' }, MISSING, part('key')],
    ['no algorithm',          { [part('key')]: key, [part('key-sha256')]: sha256 },   MISSING, part('algorithm')],
    ['another algorithm',     { ...all, [part('algorithm')]: 'AES128' },              INVALID, part('algorithm')],
    ['the SHA-256 of another key', { ...all, [part('key-sha256')]: OTHER.encryptionKeySha256 }, INVALID, part('key-sha256')],
    ['a key of 16 bytes',     { ...all, [part('key')]: short },                       INVALID, part('key')],
    ['a key that is not base64', { ...all, [part('key')]: '!'.repeat(44) },            INVALID, part('key')],
  ]
  for (const [what, headers, expected, name] of CASES) {
    test(`${what} → ${expected}`, async () => {
      const answer = await send('PUT', '/box/no-key', { ...BLOCK_BLOB, ...headers }, 'x')
      assert.equal(outcome(answer), expected)
      assert.equal(xmlText(answer.text, 'HeaderName'), name)
      assert.ok(!answer.text.includes(key), 'an error does not repeat the key')
      assert.equal(outcome(await send('GET', '/box/no-key')), '404 BlobNotFound')
    })
  }

  test('a key together with a scope', async () => {
    const headers = { ...BLOCK_BLOB, ...all, 'x-ms-encryption-scope': 'some-scope' }
    assert.equal(outcome(await send('PUT', '/box/both', headers, 'x')), INVALID)
  })
})

test('a key sent over plain HTTP is refused, and nothing is stored', async () => {
  const plain = await startBlobFixture()
  const refused = await plain.send('PUT', '/box/b', { ...BLOCK_BLOB, ...keyHeaders(KEY) })
  assert.equal(outcome(refused), '400 UnsupportedHeader')
  assert.equal(xmlText(refused.text, 'HeaderName'), 'x-ms-encryption-key')
  assert.equal(outcome(await plain.send('GET', '/box/b')), '404 BlobNotFound')
  assert.equal(outcome(await plain.send('GET', '/box/b', keyHeaders(KEY))), '400 UnsupportedHeader')
})
