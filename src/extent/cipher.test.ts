import assert from 'node:assert/strict'
import { createHash, createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { openMemoryKv } from '../kv/memory-kv.ts'
import { cipherBytes, decryptPieces, encryptSource } from './cipher.ts'
import { chunksOf, Harness, patternBytes } from './harness.ts'
import { md5Hasher } from './hash/hash.ts'
import { Machine, SimulatedDisk } from './file/disk-simulation.ts'
import { openLocalExtents } from './file/local.ts'
import { encryptedPiece, subRangeOfPieces, wholeSlice } from './content/slice-list.ts'
import type { Hole, Piece } from './content/slice.ts'
import { soleWriter } from './writers.ts'

const KEY = patternBytes(1, 32)
const nonceOf = (seed: number) => patternBytes(1_000 + seed, 12)

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

// NIST SP 800-38A, F.5.5: CTR-AES256.Encrypt; its counter begins at f0f1…fcfdfeff, so the first block
// is ours with the nonce f0…fb and the counter fcfdfeff.
test('the cipher is AES-256-CTR with the nonce before a counter of 32 bits', () => {
  const key = '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4'
  const nonce = Buffer.from('f0f1f2f3f4f5f6f7f8f9fafb', 'hex')
  const text = Buffer.from('6bc1bee22e409f96e93d7e117393172a', 'hex')
  const encrypted = cipherBytes(text, Buffer.from(key, 'hex'), nonce, 0xfcfdfeff * 16)
  assert.equal(Buffer.from(encrypted).toString('hex'), '601ec313775789a5b7a7f504bbf3d228')
})

test('any part of a ciphertext decrypts on its own, even from inside a block', () => {
  const text = patternBytes(2, 100)
  const encrypted = cipherBytes(text, KEY, nonceOf(0))
  assert.notDeepEqual(encrypted, text)
  for (let from = 0; from < 100; from += 1) {
    const part = cipherBytes(encrypted.subarray(from), KEY, nonceOf(0), from)
    assert.deepEqual(part, text.subarray(from))
  }
})

test('a source is encrypted whatever its chunks, and its hashers see the plaintext', async () => {
  const text = patternBytes(3, 1_000)
  for (const chunkBytes of [1, 15, 16, 17, 999, 2_000]) {
    const md5 = md5Hasher()
    const stream = encryptSource(chunksOf(text, chunkBytes), createSecretKey(KEY), nonceOf(1), [
      md5,
    ])
    assert.deepEqual(await bytesOf(stream), cipherBytes(text, KEY, nonceOf(1)))
    assert.deepEqual(md5.digest(), createHash('md5').update(text).digest())
  }
})

/** A run of content: its pieces, their stored bytes and their plaintext. */
type Run = { readonly piece: Piece | Hole; readonly stored: Buffer; readonly text: Buffer }

function runOf(kind: 'encrypted' | 'plain' | 'hole', seed: number, cut: readonly number[]): Run {
  const [from = 0, to = 0] = [...cut].sort((a, b) => a - b)
  const lengthBytes = to - from
  const zeros = Buffer.alloc(lengthBytes)
  if (kind === 'hole')
    return { piece: { slice: undefined, lengthBytes }, stored: zeros, text: zeros }
  const whole = patternBytes(seed, 200)
  const text = whole.subarray(from, to)
  const slice = { extent: 1, offset: seed * 200, lengthBytes: 200, crc32: 0 }
  if (kind === 'plain') return { piece: { slice, from, lengthBytes }, stored: text, text }
  const nonce = nonceOf(seed)
  const stored = Buffer.from(cipherBytes(whole, KEY, nonce)).subarray(from, to)
  return { piece: { ...encryptedPiece(wholeSlice(slice), nonce), from, lengthBytes }, stored, text }
}

const run = fc
  .tuple(
    fc.constantFrom('encrypted' as const, 'encrypted' as const, 'plain' as const, 'hole' as const),
    fc.nat(20),
    fc.tuple(fc.nat(200), fc.nat(200)),
  )
  .map(([kind, seed, cut]) => runOf(kind, seed, cut))

test('pieces cut anywhere decrypt to the plaintext, beside plain pieces and holes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(run, { maxLength: 8 }),
      fc.integer({ min: 1, max: 300 }),
      async (runs, chunkBytes) => {
        const stored = Buffer.concat(runs.map((each) => each.stored))
        const pieces = runs.map((each) => each.piece)
        const stream = decryptPieces(chunksOf(stored, chunkBytes), pieces, KEY)
        assert.deepEqual(await bytesOf(stream), Buffer.concat(runs.map((each) => each.text)))
      },
    ),
    { numRuns: 500 },
  )
})

test('each result is a whole chunk of the stream or a new buffer', async () => {
  const runs = [
    runOf('plain', 1, [0, 100]),
    runOf('encrypted', 2, [3, 63]),
    runOf('hole', 0, [0, 40]),
  ]
  const stored = Buffer.concat(runs.map((each) => each.stored))
  const given = [stored.subarray(0, 50), stored.subarray(50, 150), stored.subarray(150, 200)].map(
    // Each chunk has its own buffer, as in a store.
    (chunk) => new Uint8Array(chunk),
  )
  const lent = new Set(given.map((chunk) => chunk.buffer))
  const returned: Uint8Array[] = []
  const pieces = runs.map((each) => each.piece)
  const stream = decryptPieces(iterate(given), pieces, KEY, (chunk) => returned.push(chunk))
  const out: Uint8Array[] = []
  for await (const chunk of stream) out.push(chunk)
  assert.equal(out[0], given[0], 'nothing in it is encrypted')
  assert(out.slice(1).every((chunk) => ![...lent].some((buffer) => buffer === chunk.buffer)))
  assert.deepEqual(returned, given.slice(1))
  assert.deepEqual(Buffer.concat(out), Buffer.concat(runs.map((each) => each.text)))
})

async function* iterate(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

type Store = {
  readonly harness: Harness
  readonly pinned: () => boolean
  readonly content: Content
}
type Content = { readonly pieces: readonly Piece[]; readonly text: Buffer }

/** Encrypted, plain, encrypted, 200,000 bytes each; the first two are adjacent in an extent. */
async function openStore(): Promise<Store> {
  const now = { ms: 1_000_000 }
  const kv = openMemoryKv()
  const disk = new SimulatedDisk().on(new Machine())
  const options = { folder: '/extents', kv, disk, clock: () => now.ms, writers: soleWriter('a') }
  const store = await openLocalExtents({ ...options, extentBytes: 300_000 })
  const harness = new Harness(kv, store, now)
  const texts = [0, 1, 2].map((seed) => patternBytes(seed, 200_000))
  const lists: Piece[][] = []
  for (const [seed, text] of texts.entries()) {
    const nonce = nonceOf(seed)
    const source = seed === 1 ? chunksOf(text) : encryptSource(chunksOf(text), KEY, nonce)
    const slice = await store.write(source, text.length, [])
    lists.push([
      seed === 1
        ? { slice, from: 0, lengthBytes: 200_000 }
        : encryptedPiece(wholeSlice(slice), nonce),
    ])
  }
  const pieces = lists.flat()
  const pinned = () => pieces.some((piece) => store.isPinned(piece.slice.extent))
  return { harness, pinned, content: { pieces, text: Buffer.concat(texts) } }
}

/** Like a server: recycles each chunk once it is sent. */
async function readRange(harness: Harness, pieces: readonly Piece[]): Promise<Buffer> {
  const { store } = harness
  const recycle = (chunk: Uint8Array) => store.recycle(chunk)
  const sent: Buffer[] = []
  for await (const chunk of decryptPieces(store.read(pieces), pieces, KEY, recycle)) {
    sent.push(Buffer.from(chunk))
    recycle(chunk)
  }
  return Buffer.concat(sent)
}

test('any range of a blob decrypts to its plaintext while other readers recycle chunks', async () => {
  const { harness, content } = await openStore()
  const ranges = [0, 1, 16, 199_999, 200_000, 200_001, 399_990, 599_999].map((from) => ({
    from,
    to: Math.min(from + 250_007, 600_000),
  }))
  const reads = ranges.map(({ from, to }) =>
    readRange(harness, subRangeOfPieces(content.pieces, from, to)),
  )
  for (const [i, bytes] of (await Promise.all(reads)).entries()) {
    assert(bytes.equals(content.text.subarray(ranges[i]?.from, ranges[i]?.to)))
  }
})

test('compaction moves the ciphertext and keeps the nonce', async () => {
  const { harness, content } = await openStore()
  await harness.put('other', patternBytes(9, 250_000))
  await harness.point('blob', subRangeOfPieces(content.pieces, 7, 590_000))
  await harness.delete('other')
  await harness.sweepAll()
  await harness.checkSound()
  const moved = (await harness.pieces('blob')) ?? []
  assert.notDeepEqual(
    moved.map((piece) => piece.slice),
    content.pieces.map((piece) => piece.slice),
  )
  assert((await readRange(harness, moved)).equals(content.text.subarray(7, 590_000)))
})

test('a stream that is returned before it starts releases its extents', async () => {
  const { harness, pinned, content } = await openStore()
  const stream = decryptPieces(harness.store.read(content.pieces), content.pieces, KEY)
  assert(pinned())
  await stream.return?.()
  assert(!pinned())
})

test('a stream longer than its pieces fails an assertion and releases its extents', async () => {
  const { harness, pinned, content } = await openStore()
  const stream = decryptPieces(harness.store.read(content.pieces), content.pieces.slice(0, 1), KEY)
  await assert.rejects(bytesOf(stream), { name: 'AssertionError' })
  assert(!pinned())
})

test('a nonce is 12 bytes', () => {
  assert.throws(() => cipherBytes(Buffer.of(1), KEY, Buffer.alloc(16)), { name: 'AssertionError' })
})
