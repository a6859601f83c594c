// Structured bodies (x-ms-structured-body): messages with a CRC-64 for every part of the content. They are only a
// wrapping: lengths, limits, ranges and MD5s are those of the content.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { before, describe, test } from 'node:test'
import {
  decodeStructuredBody,
  encodeStructuredBody,
  structuredBodyLength,
} from '../../src/http/protocol/structured-body.ts'
import { md5Of, outcome, wireRequest, xmlText, type Headers, type RawResponse } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const MIB = 1024 * 1024
const CRC64 = 'XSM/1.0; properties=crc64'
const CHECKED = { contentChecksumAlgorithm: 'StorageCrc64' } as const

const { server, container, send } = await startBlobFixture({ encryptionScopes: ['scope-1'] })

await container.getAppendBlobClient('append').create()
await container.getPageBlobClient('page').create(8 * MIB)

function contentOf(lengthBytes: number): Buffer {
  const bytes = Buffer.alloc(lengthBytes)
  for (let i = 0; i < lengthBytes; i += 1) bytes[i] = (i * 7 + (i >> 8)) & 0xff
  return bytes
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function messageOf(content: Uint8Array, segmentBytes?: number): Promise<Buffer> {
  return collect(encodeStructuredBody(once(content), content.length, segmentBytes))
}

function contentIn({ body, headers }: RawResponse): Promise<Buffer> {
  const contentBytes = Number(headers['x-ms-structured-content-length'])
  return collect(decodeStructuredBody(once(body), { messageBytes: body.length, contentBytes }))
}

const structured = (contentBytes: number): Headers => ({
  'x-ms-structured-body': CRC64,
  'x-ms-structured-content-length': String(contentBytes),
})

describe('the SDK with checksums', () => {
  for (const lengthBytes of [1, 8_192, 8_193, 5 * MIB]) {
    test(`uploads and downloads ${lengthBytes} bytes`, async () => {
      const content = contentOf(lengthBytes)
      const blob = container.getBlockBlobClient(`sdk-${lengthBytes}`)
      const put = await blob.upload(content, lengthBytes, CHECKED)
      assert.equal(Buffer.from(put.contentMD5 ?? []).toString('base64'), md5Of(content))
      const plain = await send('GET', `/box/sdk-${lengthBytes}`)
      assert.ok(plain.body.equals(content))
      assert.equal(plain.headers['content-md5'], md5Of(content))
      assert.equal((await blob.getProperties()).contentLength, lengthBytes)
      assert.ok((await blob.downloadToBuffer(0, undefined, CHECKED)).equals(content))
      const from = Math.floor(lengthBytes / 3)
      const range = await blob.downloadToBuffer(from, lengthBytes - from, CHECKED)
      assert.ok(range.equals(content.subarray(from)))
    })
  }

  test('uploads blocks, appended blocks and pages', async () => {
    const content = contentOf(5_120)
    const block = container.getBlockBlobClient('sdk-blocks')
    const staged = await block.stageBlock('AAAA', content, content.length, CHECKED)
    assert.equal(staged.structuredBodyType, CRC64)
    await block.commitBlockList(['AAAA'])
    const append = container.getAppendBlobClient('sdk-append')
    await append.create()
    await append.appendBlock(content, content.length, CHECKED)
    const page = container.getPageBlobClient('sdk-page')
    await page.create(content.length)
    await page.uploadPages(content, 0, content.length, CHECKED)
    for (const blob of [block, append, page]) {
      assert.ok((await blob.downloadToBuffer(0, undefined, CHECKED)).equals(content), blob.name)
    }
  })

  test('uploads a large blob in parts', async () => {
    const content = contentOf(2_500_000)
    const blob = container.getBlockBlobClient('sdk-parts')
    await blob.uploadData(content, {
      blockSize: 1_000_000,
      maxSingleShotSize: 1_000_000,
      ...CHECKED,
    })
    assert.ok((await blob.downloadToBuffer()).equals(content))
  })
})

type Upload = {
  readonly path: string
  readonly headers: Headers
  readonly lengthBytes: number
  /** The stored content of the upload; undefined if it was refused. */
  readonly stored: () => Promise<Buffer | undefined>
}

async function blobBytes(path: string, headers: Headers = {}): Promise<Buffer | undefined> {
  const answer = await send('GET', path, headers)
  return answer.status === 200 || answer.status === 206 ? answer.body : undefined
}

async function blockBytes(): Promise<Buffer | undefined> {
  const list = '<BlockList><Uncommitted>AAAA</Uncommitted></BlockList>'
  await send('PUT', '/box/raw-block?comp=blocklist', {}, list)
  return blobBytes('/box/raw-block')
}

async function pageBytes(): Promise<Buffer | undefined> {
  const bytes = await blobBytes('/box/page', { 'x-ms-range': 'bytes=0-1023' })
  return bytes?.some((byte) => byte !== 0) === true ? bytes : undefined
}

async function removeAll(): Promise<void> {
  for (const name of ['raw-small', 'raw-large', 'raw-block', 'append', 'page']) {
    await container.getBlobClient(name).deleteIfExists()
  }
  await container.getAppendBlobClient('append').create()
  await container.getPageBlobClient('page').create(8 * MIB)
}

const PAGES = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-1023' }
// prettier-ignore
const UPLOADS: Readonly<Record<string, Upload>> = {
  'Put Blob, small': { path: '/box/raw-small', headers: BLOCK_BLOB, lengthBytes: 1_000, stored: () => blobBytes('/box/raw-small') },
  'Put Blob, large': { path: '/box/raw-large', headers: BLOCK_BLOB, lengthBytes: 100_000, stored: () => blobBytes('/box/raw-large') },
  'Put Blob, encrypted': { path: '/box/raw-large', headers: { ...BLOCK_BLOB, 'x-ms-encryption-scope': 'scope-1' }, lengthBytes: 1_000,
    stored: () => blobBytes('/box/raw-large') },
  'Put Block': { path: '/box/raw-block?comp=block&blockid=AAAA', headers: {}, lengthBytes: 1_000, stored: blockBytes },
  'Append Block': { path: '/box/append?comp=appendblock', headers: {}, lengthBytes: 1_000,
    stored: async () => ((await blobBytes('/box/append'))?.length === 0 ? undefined : blobBytes('/box/append')) },
  'Put Page': { path: '/box/page?comp=page', headers: PAGES, lengthBytes: 1_024, stored: pageBytes },
}

for (const [name, { path, headers, lengthBytes, stored }] of Object.entries(UPLOADS)) {
  describe(name, () => {
    const content = contentOf(lengthBytes)
    const put = (body: Uint8Array, more: Headers = {}) =>
      send('PUT', path, { ...headers, ...structured(lengthBytes), ...more }, body)

    before(removeAll)

    for (const segmentBytes of [lengthBytes, 400, 7]) {
      test(`accepts segments of ${segmentBytes} bytes`, async () => {
        await removeAll()
        const answer = await put(await messageOf(content, segmentBytes))
        assert.equal(outcome(answer), '201')
        assert.equal(answer.headers['x-ms-structured-body'], CRC64)
        assert.ok((await stored())?.equals(content))
        await removeAll()
      })
    }

    type Break = (message: Buffer) => void
    const DAMAGES: Readonly<Record<string, readonly [Break, string]>> = {
      'a byte of the content': [(m) => m.writeUInt8(m.readUInt8(100) ^ 1, 100), '400 Crc64Mismatch'],
      'the CRC-64 of a segment': [(m) => m.writeUInt8(m.readUInt8(m.length - 16) ^ 1, m.length - 16), '400 Crc64Mismatch'],
      'the CRC-64 of the message': [(m) => m.writeUInt8(m.readUInt8(m.length - 1) ^ 1, m.length - 1), '400 Crc64Mismatch'],
      'the version': [(m) => m.writeUInt8(2, 0), '400 InvalidInput'],
      'the length': [(m) => m.writeUInt8(m.readUInt8(1) ^ 1, 1), '400 InvalidInput'],
      'the number of a segment': [(m) => m.writeUInt16LE(2, 13), '400 InvalidInput'],
    } // prettier-ignore
    for (const [what, [damage, expected]] of Object.entries(DAMAGES)) {
      test(`with an error in ${what} → ${expected}, and nothing is stored`, async () => {
        const message = await messageOf(content)
        damage(message)
        assert.equal(outcome(await put(message)), expected)
        assert.equal((await stored())?.length, undefined)
      })
    }

    test('refuses headers that do not match the message', async () => {
      const message = await messageOf(content)
      // prettier-ignore
      const cases: readonly (readonly [Headers, string])[] = [
        [{ 'x-ms-structured-content-length': String(lengthBytes - 1) }, '400'],
        [{ 'x-ms-structured-content-length': 'many' }, '400 InvalidHeaderValue'],
        [{ 'x-ms-structured-content-length': '' }, '400 MissingRequiredHeader'],
        [{ 'x-ms-structured-body': 'XSM/2.0; properties=crc64' }, '400 InvalidHeaderValue'],
      ]
      for (const [more, expected] of cases) {
        const answer = await put(message, more)
        assert.ok(
          outcome(answer).startsWith(expected),
          `${JSON.stringify(more)}: ${outcome(answer)}`,
        )
        assert.equal((await stored())?.length, undefined)
      }
    })

    test('takes Content-MD5 as the MD5 of the content', async () => {
      await removeAll()
      const message = await messageOf(content)
      const wrong = await put(message, { 'content-md5': md5Of(message) })
      assert.equal(outcome(wrong), '400 Md5Mismatch')
      assert.equal(xmlText(wrong.text, 'ServerCalculatedMd5'), md5Of(content))
      assert.equal((await stored())?.length, undefined)
      const right = await put(message, { 'content-md5': md5Of(content) })
      assert.equal(outcome(right), '201')
      assert.equal(right.headers['content-md5'], md5Of(content))
      assert.ok((await stored())?.equals(content))
    })
  })
}

describe('limits apply to the content:', () => {
  before(removeAll)

  const page4 = { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=0-${4 * MIB - 1}` }
  // prettier-ignore
  const LIMITS: readonly (readonly [string, Headers, version: string, bytesMax: number])[] = [
    ['/box/limit', BLOCK_BLOB, '2015-12-11', 64 * MIB],
    ['/box/limit', BLOCK_BLOB, '2025-11-05', 5_000 * MIB],
    ['/box/limit?comp=block&blockid=AAAA', {}, '2015-12-11', 4 * MIB],
    ['/box/limit?comp=block&blockid=AAAA', {}, '2025-11-05', 4_000 * MIB],
    ['/box/append?comp=appendblock', {}, '2021-12-02', 4 * MIB],
    ['/box/append?comp=appendblock', {}, '2025-11-05', 100 * MIB],
    ['/box/page?comp=page', page4, '2025-11-05', 4 * MIB],
  ]
  for (const [path, headers, version, bytesMax] of LIMITS) {
    test(`${path} in ${version} accepts up to ${bytesMax / MIB} MiB`, async () => {
      const all = { ...headers, 'x-ms-version': version }
      assert.equal(await offer(path, all, bytesMax), 'go on')
      assert.equal(await offer(path, all, bytesMax + 1), '413 RequestBodyTooLarge')
    })
  }

  /** Sends only the header of a message with that content, to see whether it would be accepted. */
  function offer(path: string, headers: Headers, contentBytes: number): Promise<string> {
    const lengths = {
      ...structured(contentBytes),
      'content-length': String(structuredBodyLength(contentBytes)),
    }
    const wire = wireRequest({ method: 'PUT', path, headers: { ...headers, ...lengths } })
    const options = {
      host: '127.0.0.1',
      port: server.blobPort,
      method: 'PUT',
      path: wire.path,
      agent: false,
    }
    return new Promise((resolve, reject) => {
      const req = httpRequest({ ...options, headers: { ...wire.headers, expect: '100-continue' } })
      const tell = (expected: string): void => {
        resolve(expected)
        req.destroy()
      }
      req.on('continue', () => tell('go on'))
      req.on('response', ({ statusCode, headers: { 'x-ms-error-code': code } }) =>
        tell(`${statusCode} ${String(code)}`),
      )
      req.on('error', reject).flushHeaders()
    })
  }
})

describe('Get Blob as a structured message', () => {
  const CASES: readonly (readonly [string, number, Headers])[] = [
    ['empty', 0, {}],
    ['small', 5_000, {}],
    ['large', 200_000, {}],
    ['two segments', 5 * MIB, {}],
    ['encrypted', 200_000, { 'x-ms-encryption-scope': 'scope-1' }],
  ]
  for (const [what, lengthBytes, headers] of CASES) {
    test(`returns ${what}, complete and in ranges`, async () => {
      const content = contentOf(lengthBytes)
      const path = `/box/get-${lengthBytes}`
      assert.equal((await send('PUT', path, { ...BLOCK_BLOB, ...headers }, content)).status, 201)
      const whole = await send('GET', path, { 'x-ms-structured-body': CRC64 })
      assert.equal(whole.status, 200)
      assert.equal(whole.headers['x-ms-structured-body'], CRC64)
      assert.equal(whole.headers['x-ms-structured-content-length'], String(lengthBytes))
      assert.equal(whole.headers['content-length'], String(structuredBodyLength(lengthBytes)))
      assert.equal(whole.headers['content-md5'], md5Of(content))
      assert.ok((await contentIn(whole)).equals(content))
      if (lengthBytes === 0) return
      const [from, to] = [1_001, lengthBytes - 3]
      const range = { 'x-ms-range': `bytes=${from}-${to - 1}`, 'x-ms-structured-body': CRC64 }
      const part = await send('GET', path, range)
      assert.equal(part.status, 206)
      assert.equal(part.headers['content-range'], `bytes ${from}-${to - 1}/${lengthBytes}`)
      assert.equal(part.headers['x-ms-structured-content-length'], String(to - from))
      assert.ok((await contentIn(part)).equals(content.subarray(from, to)))
    })
  }

  test('refuses an unknown kind of message with 400', async () => {
    await send('PUT', '/box/kind', BLOCK_BLOB, 'x')
    const answer = await send('GET', '/box/kind', { 'x-ms-structured-body': 'XSM/9' })
    assert.equal(outcome(answer), '400 InvalidHeaderValue')
    assert.equal(xmlText(answer.text, 'HeaderName'), 'x-ms-structured-body')
  })
})
