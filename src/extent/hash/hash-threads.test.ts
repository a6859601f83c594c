// Hashes from worker threads match those of the main thread.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { chunksOf, patternBytes } from '../harness.ts'
import { hashHere, type HashKind, type Hashing } from './hash.ts'
import { HashThreads } from './hash-threads.ts'

const BOTH: readonly HashKind[] = ['md5', 'crc64']
const LONG = 3 * 1_024 * 1_024

async function digestsOf(hashing: Hashing, text: Uint8Array, chunkBytes: number) {
  for await (const chunk of chunksOf(text, chunkBytes)) await hashing.update(chunk)
  return (await hashing.digests()).map((digest) => Buffer.from(digest).toString('hex'))
}

describe('hash threads', () => {
  const threads = new HashThreads(2)
  after(() => threads.close())
  const text = patternBytes(1, LONG + 17)

  for (const chunkBytes of [1_000, 65_536, 262_144, 262_145, LONG + 17]) {
    test(`hash a body that arrives in chunks of ${chunkBytes} bytes`, async () => {
      const hashes = await digestsOf(threads.begin(BOTH, text.length), text, chunkBytes)
      assert.deepEqual(hashes, await digestsOf(hashHere(BOTH), text, text.length))
    })
  }

  test('return the digests in the order of the kinds', async () => {
    const kinds: readonly HashKind[] = ['crc64', 'md5']
    const hashes = await digestsOf(threads.begin(kinds, text.length), text, 65_536)
    assert.deepEqual(hashes, (await digestsOf(hashHere(BOTH), text, text.length)).reverse())
  })

  test('hash more bodies than there are threads, interleaved', async () => {
    const texts = Array.from({ length: 7 }, (_, seed) => patternBytes(seed, LONG + seed * 100_000))
    const hashes = texts.map((each) => digestsOf(threads.begin(BOTH, each.length), each, 50_000))
    const expected = texts.map((each) => digestsOf(hashHere(BOTH), each, each.length))
    assert.deepEqual(await Promise.all(hashes), await Promise.all(expected))
  })

  test('make a body wait that arrives faster than it is hashed', async () => {
    const hashing = threads.begin(BOTH, LONG)
    const waits = hashing.update(text.subarray(0, LONG))
    assert(waits instanceof Promise)
    await waits
    assert.equal(hashing.update(Buffer.of(1)), undefined)
    await hashing.digests()
  })

  test('forget an aborted body and continue with the others', async () => {
    const dropped = threads.begin(BOTH, LONG)
    await dropped.update(text.subarray(0, 500_000))
    dropped.drop()
    const hashes = await digestsOf(threads.begin(BOTH, text.length), text, 65_536)
    assert.deepEqual(hashes, await digestsOf(hashHere(BOTH), text, text.length))
  })

  test('hash in the calling thread if no thread is allowed', async () => {
    const hashes = await digestsOf(new HashThreads(0).begin(BOTH, text.length), text, 65_536)
    assert.deepEqual(hashes, await digestsOf(hashHere(BOTH), text, text.length))
  })
})

test('a body in progress fails when the threads are closed', async () => {
  const threads = new HashThreads(1)
  const hashing = threads.begin(BOTH, LONG)
  const waits = hashing.update(patternBytes(1, LONG))
  await threads.close()
  await waits
  await assert.rejects(hashing.digests(), /has ended/)
})
