// Customer-provided keys: what is written with a key is read with that key and with no other, whatever the
// type of the blob and however it is written. The key is the request's; the server keeps its SHA-256.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ContainerClient } from '@azure/storage-blob'
import { rawRequest, startTestServer, xmlText, xmlTexts, type RawResponse } from '../harness.ts'
import {
  keyHeaders,
  newKey,
  outcomeOf,
  startSecureServer,
  type SecureServer,
} from './secure-server.ts'

const KEY = newKey()
const OTHER = newKey()
const WITH_KEY = { customerProvidedKey: KEY }
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }
const USES = '409 BlobUsesCustomerSpecifiedEncryption'
const USES_NOT = '409 BlobDoesNotUseCustomerSpecifiedEncryption'
const MISMATCH = '409 BlobCustomerSpecifiedEncryptionMismatch'

let server: SecureServer
let container: ContainerClient

before(async () => {
  server = await startSecureServer({ silent: true, logLevel: 'error' })
  container = server.client.getContainerClient('box')
  await container.create()
})

after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

type Headers = Readonly<Record<string, string>>

function send(method: string, path: string, headers: Headers = {}, body?: string | Uint8Array) {
  return server.send({ method, path, headers, ...(body !== undefined && { body }) })
}

const base64Of = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64')
const md5Of = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64')

/** No two blocks of 16 bytes are the same, so that a shifted keystream shows. */
function contentOf(lengthBytes: number): Buffer {
  let text = ''
  for (let i = 0; text.length < lengthBytes; i += 1) text += `${i};`
  return Buffer.from(text.slice(0, lengthBytes))
}

/** A blob with the key, or without. */
async function put(name: string, key: Headers = keyHeaders(KEY), body: Uint8Array = contentOf(99)) {
  const answer = await send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...key }, body)
  assert.equal(answer.status, 201)
}

describe('Put Blob and Get Blob', () => {
  for (const lengthBytes of [0, 1, 16, 5_000, 8_193, 700_001]) {
    test(`${lengthBytes} bytes come back as they went`, async () => {
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
    test(`${count} bytes from byte ${from} on, with their MD5`, async () => {
      const expected = contentOf(700_001).subarray(from, from + count)
      const blob = container.getBlobClient('length-700001')
      const options = { ...WITH_KEY, rangeGetContentMD5: true }
      const got = await blob.download(from, count, options)
      assert.equal(base64Of(got.contentMD5), md5Of(expected))
      assert.ok((await blob.downloadToBuffer(from, count, WITH_KEY)).equals(expected))
    })
  }

  test('the algorithm may be left out of a read, and means nothing alone', async () => {
    const { 'x-ms-encryption-algorithm': algorithm = '', ...rest } = keyHeaders(KEY)
    await put('algorithm')
    await put('algorithm-plain', { 'x-ms-encryption-algorithm': algorithm })
    assert.equal(outcomeOf(await send('GET', '/box/algorithm', rest)), '200')
    const alone = { 'x-ms-encryption-algorithm': 'AES256' }
    assert.equal(outcomeOf(await send('GET', '/box/algorithm', alone)), USES)
    assert.equal(outcomeOf(await send('GET', '/box/algorithm-plain')), '200')
  })

  test('the same bytes with the same key are stored differently each time, and come back', async () => {
    const blob = container.getBlockBlobClient('twice')
    for (const key of [KEY, OTHER, undefined, KEY]) {
      const options = key && { customerProvidedKey: key }
      const answer = await blob.upload('the same', 8, options)
      assert.equal(answer.isServerEncrypted, key !== undefined)
      assert.equal(String(await blob.downloadToBuffer(0, undefined, options)), 'the same')
    }
  })
})

describe('who may read and change', () => {
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
      ['a key for no need',  'plain', keyHeaders(KEY),   USES_NOT],
    ]
    for (const [what, blob, key, outcome] of CASES) {
      test(`${name} with ${what} → ${outcome}`, async () => {
        const answer = await send(method, `/box/${blob}${query}`, { ...headers, ...key })
        assert.equal(outcomeOf(answer), outcome)
        assert.ok(!answer.body.includes(contentOf(99)) || ok.startsWith('2'))
      })
    }
  }

  test('what does not touch the bytes needs no key', async () => {
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

  test('writes say how they encrypted', async () => {
    await put('said')
    const metadata = await send('PUT', '/box/said?comp=metadata', keyHeaders(KEY))
    const snapshot = await send('PUT', '/box/said?comp=snapshot', keyHeaders(KEY))
    assert.equal(metadata.headers['x-ms-request-server-encrypted'], 'true')
    assert.equal(metadata.headers['x-ms-encryption-key-sha256'], KEY.encryptionKeySha256)
    // A snapshot brings nothing to encrypt.
    assert.equal(snapshot.headers['x-ms-request-server-encrypted'], 'false')
    assert.equal(snapshot.headers['x-ms-encryption-key-sha256'], undefined)
    const path = `/box/said?snapshot=${String(snapshot.headers['x-ms-snapshot'])}`
    assert.equal(outcomeOf(await send('GET', path)), USES)
    assert.equal((await send('GET', path, keyHeaders(KEY))).text, String(contentOf(99)))
  })

  test('conditions and the lease come before the key', async () => {
    await put('guarded')
    const wrong = { ...keyHeaders(OTHER), 'if-match': '"0x0"' }
    for (const [method, query] of [
      ['GET', ''],
      ['PUT', '?comp=metadata'],
      ['PUT', '?comp=snapshot'],
    ]) {
      const answer = await send(String(method), `/box/guarded${query}`, wrong)
      assert.equal(outcomeOf(answer), '412 ConditionNotMet')
    }
    const lease = container.getBlobClient('guarded').getBlobLeaseClient()
    await lease.acquireLease(-1)
    const answer = await send('PUT', '/box/guarded?comp=metadata', keyHeaders(OTHER))
    assert.equal(outcomeOf(answer), '412 LeaseIdMissing')
    assert.equal(outcomeOf(await send('GET', '/box/nothing', keyHeaders(KEY))), '404 BlobNotFound')
    await lease.releaseLease()
  })

  test('lists tell the SHA-256 of the key, and nothing that it hides', async () => {
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

describe('what can’t be a key', () => {
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
    ['the SHA-256 of another', { ...all, [part('key-sha256')]: OTHER.encryptionKeySha256 }, INVALID, part('key-sha256')],
    ['a key of 16 bytes',     { ...all, [part('key')]: short },                       INVALID, part('key')],
    ['a key that is no base64', { ...all, [part('key')]: '!'.repeat(44) },            INVALID, part('key')],
  ]
  for (const [what, headers, outcome, name] of CASES) {
    test(`${what} → ${outcome}`, async () => {
      const answer = await send('PUT', '/box/no-key', { ...BLOCK_BLOB, ...headers }, 'x')
      assert.equal(outcomeOf(answer), outcome)
      assert.equal(xmlText(answer.text, 'HeaderName'), name)
      assert.ok(!answer.text.includes(key), 'an error does not repeat the key')
      assert.equal(outcomeOf(await send('GET', '/box/no-key')), '404 BlobNotFound')
    })
  }

  test('a key and a scope at once', async () => {
    const headers = { ...BLOCK_BLOB, ...all, 'x-ms-encryption-scope': 'some-scope' }
    assert.equal(outcomeOf(await send('PUT', '/box/both', headers, 'x')), INVALID)
  })
})

test('a key that comes in the clear is refused, and nothing is stored', async (t) => {
  const open = await startTestServer()
  t.after(() => open.close())
  const ask = (method: string, path: string, headers: Headers): Promise<RawResponse> =>
    rawRequest(open, { method, path, headers })
  await ask('PUT', '/box?restype=container', {})
  const refused = await ask('PUT', '/box/b', { ...BLOCK_BLOB, ...keyHeaders(KEY) })
  assert.equal(outcomeOf(refused), '400 UnsupportedHeader')
  assert.equal(xmlText(refused.text, 'HeaderName'), 'x-ms-encryption-key')
  assert.equal(outcomeOf(await ask('GET', '/box/b', {})), '404 BlobNotFound')
  assert.equal(outcomeOf(await ask('GET', '/box/b', keyHeaders(KEY))), '400 UnsupportedHeader')
})
