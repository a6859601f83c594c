import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { crc64 } from '../../extent/hash/crc64.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  decodeStructuredBody,
  encodeStructuredBody,
  wantsStructuredBody,
  parseStructuredBodyHeader,
  STRUCTURED_BODY,
  structuredBodyLength,
} from './structured-body.ts'

async function* chunked(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

async function whole(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type Header = { version?: number; lengthBytes?: bigint; flags?: number; count?: number }
type Segment = { number?: number; lengthBytes?: bigint; content: string; crc?: Buffer }

/** A message built by hand, with any mistake that a test needs. */
function message(segments: readonly Segment[], header: Header = {}, crc?: Buffer): Buffer {
  const parts: Buffer[] = []
  for (const [index, segment] of segments.entries()) {
    const content = Buffer.from(segment.content)
    const head = Buffer.alloc(10)
    head.writeUInt16LE(segment.number ?? index + 1, 0)
    head.writeBigUInt64LE(segment.lengthBytes ?? BigInt(content.length), 2)
    parts.push(head, content, segment.crc ?? crc64(content))
  }
  const all = Buffer.from(segments.map(({ content }) => content).join(''))
  parts.push(crc ?? crc64(all))
  const bodyBytes = Buffer.concat(parts)
  const head = Buffer.alloc(13)
  head.writeUInt8(header.version ?? 1, 0)
  head.writeBigUInt64LE(header.lengthBytes ?? BigInt(13 + bodyBytes.length), 1)
  head.writeUInt16LE(header.flags ?? 1, 9)
  head.writeUInt16LE(header.count ?? segments.length, 11)
  return Buffer.concat([head, bodyBytes])
}

function decode(bytes: Buffer, contentBytes: number, chunkBytes = 7): Promise<Buffer> {
  const expected = { messageBytes: bytes.length, contentBytes }
  return whole(decodeStructuredBody(chunked(bytes, chunkBytes), expected))
}

const TWO: readonly Segment[] = [{ content: 'Hello, ' }, { content: 'World' }]
const WRONG = Buffer.alloc(8, 7)

test('two segments are encoded byte for byte', async () => {
  const content = Buffer.from('Hello, World')
  const encoded = await whole(encodeStructuredBody(chunked(content, 5), content.length, 7))
  assert.deepEqual(encoded, message(TWO))
  assert.equal(encoded.subarray(0, 13).toString('hex'), '01450000000000000001000200')
  assert.equal((await decode(encoded, 12)).toString(), 'Hello, World')
})

for (const [what, segments, content] of [
  ['one segment for all content', [{ content: 'Hello, World' }], 'Hello, World'],
  ['segments of different lengths', [...TWO, { content: '!' }], 'Hello, World!'],
  ['an empty segment between others', [{ content: 'a' }, { content: '' }, { content: 'b' }], 'ab'],
  ['no content: one empty segment', [{ content: '' }], ''],
  ['no content: no segment', [], ''],
] as const) {
  test(`decodes ${what}`, async () => {
    assert.equal((await decode(message(segments), content.length)).toString(), content)
  })
}

const MALFORMED: readonly (readonly [what: string, bytes: Buffer, contentBytes: number])[] = [
  ['a version other than 1', message(TWO, { version: 2 }), 12],
  ['flags without crc64', message(TWO, { flags: 0 }), 12],
  ['unknown flags', message(TWO, { flags: 3 }), 12],
  ['a length other than the Content-Length', message(TWO, { lengthBytes: 68n }), 12],
  ['the largest u64 as length', message(TWO, { lengthBytes: 0xffff_ffff_ffff_ffffn }), 12],
  ['a segment count that does not match the length', message(TWO, { count: 3 }), 12],
  ['content longer than the header says', message(TWO), 11],
  ['content shorter than the header says', message(TWO), 13],
  ['segments numbered from 0', message([{ content: 'a', number: 0 }]), 1],
  ['segments out of order', message([{ content: 'a' }, { content: 'b', number: 3 }]), 2],
  ['a segment longer than the content', message([{ content: 'a', lengthBytes: 2n }]), 1],
  [
    'the largest u64 as length of a segment',
    message([{ content: 'a', lengthBytes: 0xffff_ffff_ffff_ffffn }]),
    1,
  ],
  ['segments shorter than the content', message([{ content: 'ab', lengthBytes: 0n }]), 2],
  ['no segments, but content', message([], { lengthBytes: 22n }, Buffer.alloc(9)), 1],
]

for (const [what, bytes, contentBytes] of MALFORMED) {
  test(`${what} → 400`, async () => {
    await assert.rejects(decode(bytes, contentBytes), (error) => {
      assert(error instanceof StorageError)
      assert.equal(error.status, 400)
      // If the frames are shifted, content is read as a checksum.
      assert(error.code === 'InvalidInput' || error.code === 'Crc64Mismatch')
      return true
    })
  })
}

for (const [what, bytes] of [
  ['a segment', message([{ content: 'Hello, ', crc: WRONG }, { content: 'World' }])],
  ['the last segment', message([{ content: 'Hello, ' }, { content: 'World', crc: WRONG }])],
  ['the message', message(TWO, {}, WRONG)],
] as const) {
  test(`a wrong CRC-64 of ${what} → Crc64Mismatch with both values`, async () => {
    await assert.rejects(decode(bytes, 12), (error) => {
      assert(error instanceof StorageError)
      assert.equal(error.code, 'Crc64Mismatch')
      assert.equal(error.details['UserSpecifiedCrc'], WRONG.toString('base64'))
      assert.equal(error.details['ServerCalculatedCrc']?.length, 12)
      return true
    })
  })
}

test('a message that is cut short anywhere, or continues, is refused', async () => {
  const bytes = message(TWO)
  const expected = { messageBytes: bytes.length, contentBytes: 12 }
  const refused = { code: 'InvalidInput', status: 400 }
  for (let end = 0; end < bytes.length; end += 1) {
    const cut = chunked(bytes.subarray(0, end), 5)
    await assert.rejects(whole(decodeStructuredBody(cut, expected)), refused)
  }
  const longer = chunked(Buffer.concat([bytes, Buffer.from('x')]), 5)
  await assert.rejects(whole(decodeStructuredBody(longer, expected)), refused)
})

test('an encoded message decodes, at any length of content, segments and chunks', async () => {
  const lengths = fc.record({
    content: fc.uint8Array({ maxLength: 300 }),
    segmentBytes: fc.integer({ min: 1, max: 320 }),
    inBytes: fc.integer({ min: 1, max: 320 }),
    outBytes: fc.integer({ min: 1, max: 320 }),
  })
  await fc.assert(
    fc.asyncProperty(lengths, async ({ content, segmentBytes, inBytes, outBytes }) => {
      const source = chunked(content, inBytes)
      const encoded = await whole(encodeStructuredBody(source, content.length, segmentBytes))
      assert.equal(encoded.length, structuredBodyLength(content.length, segmentBytes))
      assert.deepEqual(await decode(encoded, content.length, outBytes), Buffer.from(content))
    }),
  )
})

test('a changed byte anywhere is detected', async () => {
  const bytes = message(TWO)
  const change = fc.record({
    at: fc.nat({ max: bytes.length - 1 }),
    by: fc.integer({ min: 1, max: 255 }),
  })
  await fc.assert(
    fc.asyncProperty(change, async ({ at, by }) => {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ by
      await assert.rejects(decode(changed, 12), StorageError)
    }),
  )
})

test('random bytes are refused with a StorageError', async () => {
  const any = fc.uint8Array({ maxLength: 80 })
  await fc.assert(
    fc.asyncProperty(any, fc.nat({ max: 80 }), async (bytes, contentBytes) => {
      await assert.rejects(decode(Buffer.from(bytes), contentBytes), StorageError)
    }),
  )
})

test('the source is closed if the reader stops or the message is invalid', async () => {
  let closed = 0
  async function* source(bytes: Buffer): AsyncGenerator<Uint8Array> {
    try {
      yield* chunked(bytes, 30)
    } finally {
      closed += 1
    }
  }
  const bytes = message(TWO)
  const expected = { messageBytes: bytes.length, contentBytes: 12 }
  for await (const chunk of decodeStructuredBody(source(bytes), expected)) {
    assert.equal(chunk.toString(), Buffer.from('Hello, ').toString())
    break
  }
  assert.equal(closed, 1)
  const wrong = message(TWO, { version: 9 })
  await assert.rejects(whole(decodeStructuredBody(source(wrong), expected)), StorageError)
  assert.equal(closed, 2)
  for await (const chunk of encodeStructuredBody(source(bytes), bytes.length)) {
    if (chunk.length === 30) break
  }
  assert.equal(closed, 3)
})

test('a failing source fails the stream with its own error', async () => {
  const gone = new Error('gone')
  async function* source(): AsyncGenerator<Uint8Array> {
    yield message(TWO).subarray(0, 25)
    throw gone
  }
  const expected = { messageBytes: 69, contentBytes: 12 }
  await assert.rejects(whole(decodeStructuredBody(source(), expected)), gone)
})

test('segments are 4 MiB, or longer if a u16 can’t count them', () => {
  const mib = 1024 * 1024
  const frames = (count: number): number => 13 + 18 * count + 8
  assert.equal(structuredBodyLength(0), frames(1))
  assert.equal(structuredBodyLength(4 * mib), frames(1) + 4 * mib)
  assert.equal(structuredBodyLength(4 * mib + 1), frames(2) + 4 * mib + 1)
  const tib = mib * mib
  assert.equal(structuredBodyLength(190 * tib), frames(65_535) + 190 * tib)
})

test('x-ms-structured-body and x-ms-structured-content-length are checked', () => {
  const structured = { 'x-ms-structured-body': STRUCTURED_BODY }
  const length = 'x-ms-structured-content-length'
  assert.equal(parseStructuredBodyHeader({}), undefined)
  assert.equal(parseStructuredBodyHeader({ [length]: '5' }), undefined)
  assert.deepEqual(parseStructuredBodyHeader({ ...structured, [length]: '5' }), { contentBytes: 5 })
  assert.throws(() => parseStructuredBodyHeader(structured), {
    code: 'MissingRequiredHeader',
    details: { HeaderName: length },
  })
  for (const text of ['-1', 'five', '1.5', '99999999999999999']) {
    assert.throws(() => parseStructuredBodyHeader({ ...structured, [length]: text }), {
      code: 'InvalidHeaderValue',
      details: { HeaderName: length, HeaderValue: text },
    })
  }
  assert.equal(wantsStructuredBody({}), false)
  assert.equal(wantsStructuredBody(structured), true)
  for (const text of ['XSM/1.0', 'XSM/2.0; properties=crc64', 'XSM/1.0; properties=md5']) {
    assert.throws(() => wantsStructuredBody({ 'x-ms-structured-body': text }), {
      code: 'InvalidHeaderValue',
      details: { HeaderName: 'x-ms-structured-body', HeaderValue: text },
    })
  }
})
