// Get Page Ranges on maps that take many scans, compared with a page-by-page model.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../../../test/random.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { Kv } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { NO_CONDITIONS } from '../../shared/condition.ts'
import type { PastBlob } from '../record.ts'
import type { BlobGuard } from '../guard.ts'
import { createContainer } from '../container/container.ts'
import { pastBlobKey } from '../keys.ts'
import { mapKey } from '../../../extent/content/map.ts'
import { getPageRanges, PAGE_BYTES, type PageRange, type PageRangeQuery } from './page-range.ts'
import { putPageBlob } from './page.ts'

const ADDRESS = { account: 'a', container: 'c', blob: 'b' }
const GUARD: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }
const MOMENT = { nowMs: 1_000_000, stamp: 1_024_000_000 }
const SNAPSHOT = MOMENT.stamp + 1
const [CONTAINER_ID, MAP_NOW, MAP_BEFORE] = [1, 10, 20]

/** The write that each page shows; 0 for none. Adjacent pages of one write are one record. */
type Pages = readonly number[]

function pieceOf(write: number, page: number, pageCount: number): Piece {
  const slice = { extent: 1, offset: write * 2 ** 32, lengthBytes: 2 ** 32, crc32: 0 }
  return { slice, from: page * PAGE_BYTES, lengthBytes: pageCount * PAGE_BYTES }
}

async function fillMap(kv: Kv, mapId: number, pages: Pages): Promise<void> {
  await kv.write(function* (tx) {
    for (let at = 0; at < pages.length;) {
      const write = pages[at] ?? 0
      let end = at + 1
      while (end < pages.length && pages[end] === write) end += 1
      const offset = at * PAGE_BYTES
      const content = { id: mapId, at: offset, pieces: [pieceOf(write, at, end - at)] }
      if (write !== 0) tx.put(mapKey(mapId, offset), encodeRecord({ content }))
      at = end
    }
  })
}

/** A blob that shows `now`, with a snapshot that shows `before`. */
async function storeOf(now: Pages, before: Pages, snapshot: Partial<PastBlob> = {}): Promise<Kv> {
  const kv = openMemoryKv()
  const page = { lengthBytes: now.length * PAGE_BYTES, sequenceNumber: 0n, mapId: MAP_NOW }
  const put = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }
  await kv.write(function* (tx) {
    yield* createContainer(tx, ADDRESS, { id: CONTAINER_ID, metadata: [] }, MOMENT)
    const blob = yield* putPageBlob(tx, ADDRESS, put, page, MOMENT)
    const past: PastBlob = { ...blob, map: MAP_BEFORE, kind: 'snapshot', ...snapshot }
    tx.put(pastBlobKey(CONTAINER_ID, ADDRESS.blob, SNAPSHOT), encodeRecord(past))
  })
  await fillMap(kv, MAP_NOW, now)
  await fillMap(kv, MAP_BEFORE, before)
  return kv
}

const ALL = { from: 0, to: Infinity }

function ask(kv: Kv, query: Partial<PageRangeQuery>) {
  const whole = { range: ALL, ...query }
  return kv.read((tx) => getPageRanges(tx, ADDRESS, GUARD, whole, MOMENT.nowMs))
}

async function askInPages(kv: Kv, query: Partial<PageRangeQuery>, countMax: number) {
  const found: PageRange[] = []
  let next: number | undefined = 0
  let count = 0
  while (next !== undefined) {
    const answer = await ask(kv, { ...query, page: { from: next, countMax } })
    assert.ok(answer.ranges.length <= countMax)
    found.push(...answer.ranges)
    next = answer.next
    count += 1
  }
  return { found, count }
}

/** The model: compares page by page, then joins neighbours. */
function expectedRanges(now: Pages, before: Pages): PageRange[] {
  const ranges: { from: number; to: number; isCleared: boolean }[] = []
  for (const [at, write] of now.entries()) {
    const old = before[at] ?? 0
    if (write === old) continue
    const [from, isCleared] = [at * PAGE_BYTES, write === 0]
    const last = ranges.at(-1)
    if (last?.to === from && last.isCleared === isCleared) last.to += PAGE_BYTES
    else ranges.push({ from, to: from + PAGE_BYTES, isCleared })
  }
  return ranges
}

function randomPages(count: number, seed: number, runMax: number): number[] {
  const pages: number[] = []
  const random = randomFrom(seed)
  while (pages.length < count) {
    const run = 1 + random.below(runMax)
    const write = random.below(4)
    for (let i = 0; i < run; i += 1) pages.push(write)
  }
  return pages.slice(0, count)
}

// [pages, longest run now, longest run before]: some thousand records, dense or sparse on either side.
const MAPS = [
  [9_000, 2, 2],
  [9_000, 1, 400],
  [9_000, 400, 1],
] as const
for (const [count, runNow, runBefore] of MAPS) {
  const now = randomPages(count, 7, runNow)
  const before = randomPages(count, 8, runBefore)
  const previous = { snapshot: SNAPSHOT }
  test(`ranges of ${count} pages with runs up to ${runNow} and ${runBefore}, at once and page by page`, async () => {
    const kv = await storeOf(now, before)
    const nothing = now.map(() => 0)
    assert.deepEqual((await ask(kv, {})).ranges, expectedRanges(now, nothing))
    const expected = expectedRanges(now, before)
    assert.deepEqual((await ask(kv, { previous })).ranges, expected)
    for (const countMax of [1_000, 7_777, expected.length]) {
      assert.deepEqual((await askInPages(kv, { previous }, countMax)).found, expected)
    }
    assert.equal((await askInPages(kv, { previous }, expected.length)).count, 1)
  })
}

test('an answer ends after a number of records, even if they are one range', async () => {
  const now = Array.from({ length: 120_000 }, (_, at) => 1 + (at % 2))
  const kv = await storeOf(now, [])
  const { found, count } = await askInPages(kv, {}, 10)
  assert.ok(count >= 2)
  for (const [at, { from }] of found.entries()) assert.equal(from, found[at - 1]?.to ?? 0)
  assert.equal(found.at(-1)?.to, now.length * PAGE_BYTES)
  const { ranges } = await ask(kv, {})
  assert.deepEqual(ranges, [{ from: 0, to: now.length * PAGE_BYTES, isCleared: false }])
})

test('pages past the current end of the blob are not reported', async () => {
  const kv = await storeOf([1, 0], [1, 1, 1])
  const { ranges } = await ask(kv, { previous: { snapshot: SNAPSHOT } })
  assert.deepEqual(ranges, [{ from: 512, to: 1024, isCleared: true }])
})

const SNAPSHOTS: readonly (readonly [string, Partial<PastBlob>, string])[] = [
  ['of a blob of another type', { type: 'BlockBlob' }, 'PreviousSnapshotOperationNotSupported'],
  ['of a blob that was replaced', { origin: 1 }, 'BlobOverwritten'],
  ['that is soft-deleted', { deleted: { atMs: 0, untilMs: 1e15 } }, 'PreviousSnapshotNotFound'],
]
for (const [name, snapshot, code] of SNAPSHOTS) {
  test(`comparing with a snapshot ${name} → ${code}`, async () => {
    const kv = await storeOf([1], [1], snapshot)
    await assert.rejects(ask(kv, { previous: { snapshot: SNAPSHOT } }), { code })
  })
}
