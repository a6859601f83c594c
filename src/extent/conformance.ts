// The contract of extent stores as a test suite that runs on each of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from '../../test/assert-bytes.ts'
import fc from 'fast-check'
import { KEY_END, type Kv, type ReadTx, type Step } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'
import { ExtentRetired, TornWrite } from './error.ts'
import type { SweptExtentStore } from './extent.ts'
import { testBlobKey, chunksOf, GRACE_MS, Harness, patternBytes, readAll } from './harness.ts'
import { crc64Hasher, md5Hasher } from './hash/hash.ts'
import { replaceReferences } from './content/reference.ts'
import { subRangeOfPieces, wholeSlice } from './content/slice-list.ts'
import type { Content, Hole, Piece } from './content/slice.ts'

export type OpenStore = (clock: () => number) => Promise<{
  readonly kv: Kv
  readonly store: SweptExtentStore
  close(): Promise<void>
}>

export function extentConformance(name: string, open: OpenStore): void {
  const check = (title: string, body: (harness: Harness) => Promise<void>): void => {
    test(`${name}: ${title}`, { timeout: 60_000 }, async () => {
      const now = { ms: 1_000_000 }
      const { kv, store, close } = await open(() => now.ms)
      try {
        await body(new Harness(kv, store, now))
      } finally {
        await close()
      }
    })
  }
  checkBytes(check)
  checkTorn(check)
  checkSweep(check)
  checkCompaction(check)
  checkModel(check)
}

type Check = (title: string, body: (harness: Harness) => Promise<void>) => void

function checkBytes(check: Check): void {
  for (const lengthBytes of [0, 1, 1_000, 262_144, 262_145, 3_000_000]) {
    check(`${lengthBytes} bytes are read back, and the hashers saw them`, async (harness) => {
      const bytes = patternBytes(lengthBytes, lengthBytes)
      const [md5, crc64] = [md5Hasher(), crc64Hasher()]
      const slice = await harness.store.write(chunksOf(bytes, 9_999), lengthBytes, [md5, crc64])
      assert.equal(slice.lengthBytes, lengthBytes)
      assertBytes(await readAll(harness.store, [wholeSlice(slice)]), bytes)
      const [again, againCrc64] = [md5Hasher(), crc64Hasher()]
      again.update(bytes)
      againCrc64.update(bytes)
      assert.deepEqual(md5.digest(), again.digest())
      assert.deepEqual(crc64.digest(), againCrc64.digest())
    })
  }

  for (const lengthBytes of [1_000, 200_000, 262_145, 3_000_000]) {
    check(`used chunks of ${lengthBytes} bytes may be overwritten`, async (harness) => {
      const bytes = patternBytes(lengthBytes, lengthBytes)
      const used: Uint8Array[] = []
      const spoil = (chunk: Uint8Array) => used.push(chunk.fill(0xee))
      const md5 = md5Hasher()
      const source = chunksOf(Buffer.from(bytes), 65_537)
      const slice = await harness.store.write(source, lengthBytes, [md5], spoil)
      assertBytes(await readAll(harness.store, [wholeSlice(slice)]), bytes)
      const again = md5Hasher()
      again.update(bytes)
      assert.deepEqual(md5.digest(), again.digest())
      assert.equal(new Set(used).size, used.length)
    })
  }

  check('ranges of pieces and holes are read back', async (harness) => {
    const bytes = patternBytes(7, 700_000)
    const parts = [0, 100_000, 100_001, 400_000, 700_000]
    const written: Piece[] = []
    for (const [i, from] of parts.slice(0, -1).entries()) {
      written.push(await harness.write(bytes.subarray(from, parts[i + 1])))
    }
    const pieces = written
    for (const [from, to] of [
      [0, 700_000],
      [99_999, 100_002],
      [1, 650_000],
      [399_999, 400_001],
    ] as const) {
      const range = subRangeOfPieces(pieces, from, to)
      assertBytes(await readAll(harness.store, range), bytes.subarray(from, to))
    }
    const hole: Hole = { slice: undefined, lengthBytes: 300_000 }
    const [first] = subRangeOfPieces(pieces, 10, 20)
    assert(first !== undefined)
    const sparse = await readAll(harness.store, [hole, first, hole])
    const zeros = Buffer.alloc(300_000)
    assertBytes(sparse, Buffer.concat([zeros, bytes.subarray(10, 20), zeros]))
  })

  check('concurrent writes do not mix', async (harness) => {
    const bodies = Array.from({ length: 100 }, (_, i) => patternBytes(i, (i * 7_919) % 40_000))
    const pieces = await Promise.all(bodies.map((body) => harness.write(body, 1_000)))
    const read = await Promise.all(pieces.map((piece) => readAll(harness.store, [piece])))
    for (const [i, body] of bodies.entries()) assertBytes(read[i], body)
  })

  check(
    'a reader that was never started releases its extents when it is returned',
    async (harness) => {
      const piece = await harness.write(patternBytes(1, 100))
      const reader = harness.store.read([piece])
      await reader.return?.()
      assert.equal(harness.store.isPinned(piece.slice.extent), false)
      assert.deepEqual(await reader.next(), { value: undefined, done: true })
    },
  )
}

function checkTorn(check: Check): void {
  const bytes = patternBytes(3, 20_000)
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 10_000)
    throw new RangeError('the client went away')
  }
  const sources: readonly [
    string,
    () => AsyncIterable<Uint8Array>,
    new (...args: never) => Error,
  ][] = [
    ['ends early', () => chunksOf(bytes.subarray(0, 19_999)), TornWrite],
    ['is too long', () => chunksOf(Buffer.concat([bytes, bytes])), TornWrite],
    ['fails', failing, RangeError],
  ]
  for (const [title, source, error] of sources) {
    check(`a source that ${title} is refused and leaves nothing behind`, async (harness) => {
      await assert.rejects(harness.store.write(source(), bytes.length, []), error)
      await harness.sweepAll()
      assert.deepEqual(await harness.store.list(), [])
      assert.equal(harness.store.sizeBytes(), 0)
    })
  }

  check('a torn write does not damage its neighbours', async (harness) => {
    const good = harness.put('good', bytes)
    await assert.rejects(harness.store.write(failing(), bytes.length, []), RangeError)
    await good
    await harness.sweepAll()
    assertBytes(await harness.get('good'), bytes)
    await harness.checkSound()
  })
}

function checkSweep(check: Check): void {
  check('deletes free space', async (harness) => {
    for (let i = 0; i < 10; i += 1) await harness.put(`b${i}`, patternBytes(i, 30_000))
    assert(harness.store.sizeBytes() >= 300_000)
    for (let i = 0; i < 10; i += 1) await harness.delete(`b${i}`)
    await harness.sweepAll()
    assert.deepEqual(await harness.store.list(), [])
    assert.equal(harness.store.sizeBytes(), 0)
    assert.equal(await harness.kv.read(countEverything), 1) // the next id
  })

  check('a reader keeps its bytes while everything is deleted and swept', async (harness) => {
    const bytes = patternBytes(5, 2_000_000)
    await harness.put('b', bytes)
    const reader = harness.store.read((await harness.pieces('b')) ?? [])
    const first = await reader.next()
    assert(first.done !== true)
    await harness.delete('b')
    await harness.sweepAll()
    const chunks = [first.value]
    for await (const chunk of reader) chunks.push(chunk)
    assertBytes(Buffer.concat(chunks), bytes)
    await harness.sweepAll()
    assert.equal(harness.store.sizeBytes(), 0)
  })

  check('a pin keeps bytes that nothing refers to, until it ends', async (harness) => {
    const bytes = patternBytes(5, 300_000)
    await harness.put('b', bytes)
    const pieces = (await harness.pieces('b')) ?? []
    const extents = new Set(pieces.map(({ slice }) => slice.extent))
    const [end, endOther] = [harness.store.pin(extents), harness.store.pin(extents)]
    await harness.delete('b')
    await harness.sweepAll()
    end()
    end()
    await harness.sweepAll()
    assertBytes(await readAll(harness.store, pieces), bytes)
    endOther()
    await harness.sweepAll()
    assert.equal(harness.store.sizeBytes(), 0)
  })

  check('bytes are safe while their record is being written', async (harness) => {
    const bytes = patternBytes(5, 50_000)
    const piece = await harness.write(bytes)
    await harness.put('gone', bytes)
    await harness.delete('gone')
    await harness.store.seal(piece.slice.extent)
    for (let pass = 0; pass < 3; pass += 1) await harness.sweep({ graceMs: 10 * GRACE_MS })
    await harness.point('b', [piece])
    await harness.sweepAll()
    assertBytes(await harness.get('b'), bytes)
  })

  check('a retired extent can not be referenced', async (harness) => {
    const piece = await harness.write(patternBytes(5, 50_000))
    await harness.store.seal(piece.slice.extent)
    await harness.sweep()
    await assert.rejects(harness.point('b', [piece]), ExtentRetired)
    await harness.sweep()
    await assert.rejects(harness.point('b', [piece]), ExtentRetired)
    assert.equal(await harness.get('b'), undefined)
  })

  check('a pass is bounded, and the next continues', async (harness) => {
    for (let i = 0; i < 70; i += 1) {
      const piece = await harness.write(patternBytes(i, 10))
      await harness.store.seal(piece.slice.extent)
    }
    let removedCount = 0
    while (removedCount < 70) {
      const swept = await harness.sweep({ extentsMax: 1 })
      assert(swept.retiredCount + swept.removedCount > 0)
      assert(swept.retiredCount + swept.removedCount <= 64, 'one step')
      removedCount += swept.removedCount
    }
    assert.deepEqual(await harness.store.list(), [])
  })
}

function checkCompaction(check: Check): void {
  check('live slices are moved out of an extent that is mostly garbage', async (harness) => {
    const bodies = Array.from({ length: 40 }, (_, i) => patternBytes(i, 10_000))
    for (const [i, body] of bodies.entries()) await harness.put(`b${i}`, body)
    for (let i = 0; i < 40; i += 1) if (i % 4 !== 0) await harness.delete(`b${i}`)
    await harness.sweepAll()
    for (const [i, body] of bodies.entries()) {
      assertBytes(await harness.get(`b${i}`), i % 4 === 0 ? body : undefined)
    }
    assert(harness.store.sizeBytes() <= 200_000, `${harness.store.sizeBytes()} bytes for 100,000`)
    await harness.checkSound()
  })

  check('owners that share a slice still share it after it was moved', async (harness) => {
    await harness.put('dead', patternBytes(1, 60_000))
    const bytes = patternBytes(2, 20_000)
    await harness.put('b', bytes)
    const pieces = (await harness.pieces('b')) ?? []
    for (let i = 0; i < 300; i += 1) await harness.point(`snapshot${i}`, pieces)
    await harness.point('half', subRangeOfPieces(pieces, 5_000, 15_000))
    await harness.delete('dead')
    await harness.sweepAll()
    const moved = (await harness.pieces('b')) ?? []
    assert.deepEqual(await harness.pieces('snapshot299'), moved)
    assertBytes(await harness.get('half'), bytes.subarray(5_000, 15_000))
    await harness.delete('b')
    for (let i = 0; i < 300; i += 1) await harness.delete(`snapshot${i}`)
    await harness.sweepAll()
    assertBytes(await harness.get('half'), bytes.subarray(5_000, 15_000))
    await harness.checkSound()
  })

  check(
    'content that changes and keeps its id keeps the slices that it still uses',
    async (harness) => {
      const [a, b] = [
        await harness.write(patternBytes(1, 9_000)),
        await harness.write(patternBytes(2, 9)),
      ]
      const key = testBlobKey('b')
      const before: Content = { id: 9_999, pieces: [a] }
      const after: Content = { id: 9_999, pieces: [...subRangeOfPieces([a], 0, 10), b] }
      for (const [old, content] of [
        [{ id: 9_999, pieces: [] }, before],
        [before, after],
      ] as const) {
        await harness.kv.write(function* (tx) {
          yield* replaceReferences(tx, key, old, content)
          tx.put(key, encodeRecord({ content }, Buffer.from('inline b')))
        })
      }
      await harness.sweepAll()
      const expected = Buffer.concat([patternBytes(1, 9_000).subarray(0, 10), patternBytes(2, 9)])
      assert.deepEqual(await harness.get('b'), expected)
      await harness.checkSound()
    },
  )
}

const command = fc.oneof(
  fc.record({ do: fc.constant('put' as const), blob: fc.nat(5), kib: fc.nat(40) }),
  fc.record({ do: fc.constant('copy' as const), blob: fc.nat(5), from: fc.nat(5) }),
  fc.record({ do: fc.constant('delete' as const), blob: fc.nat(5) }),
  fc.record({ do: fc.constant('sweep' as const) }),
)

function checkModel(check: Check): void {
  check('puts, copies, deletes and sweeps work in any order', async (harness) => {
    let seed = 0
    const model = new Map<string, Buffer>()
    const run = async (
      commands: readonly (typeof command extends fc.Arbitrary<infer C> ? C : never)[],
    ) => {
      for (const step of commands) {
        if (step.do === 'sweep') await harness.sweep()
        if (step.do === 'put') {
          const bytes = patternBytes((seed += 1), step.kib * 1_024)
          await harness.put(`b${step.blob}`, bytes)
          model.set(`b${step.blob}`, bytes)
        }
        if (step.do === 'delete') {
          await harness.delete(`b${step.blob}`)
          model.delete(`b${step.blob}`)
        }
        if (step.do === 'copy') {
          const pieces = await harness.pieces(`b${step.from}`)
          const bytes = model.get(`b${step.from}`)
          if (pieces === undefined || bytes === undefined) continue
          await harness.point(`b${step.blob}`, pieces)
          model.set(`b${step.blob}`, bytes)
        }
      }
      for (const [name, bytes] of model) assertBytes(await harness.get(name), bytes)
      await harness.checkSound()
    }
    await fc.assert(fc.asyncProperty(fc.array(command, { maxLength: 30 }), run), { numRuns: 25 })
  })
}

function* countEverything(tx: ReadTx): Step<number> {
  const range = { from: new Uint8Array(0), to: KEY_END, countMax: 1_000 }
  return (yield* tx.scan(range)).length
}
