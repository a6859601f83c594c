import { countingReads, countingTx, TxCounts } from '../../../kv/counting.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { encodeKey } from '../../../kv/key.ts'
import { KEY_END, type Kv, type ReadTx } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { blobTagKey } from '../keys.ts'
import {
  matchesTags,
  parseWhere,
  type TagConjunction,
  type TagOperator,
} from '../../shared/tag-filter.ts'
import {
  changeTagIndex,
  decodeFindMarker,
  encodeFindMarker,
  findBlobsByTags,
  type FindBlobsByTags,
  type FindPosition,
  type LoadTagged,
} from './tag-index.ts'
import { NO_TAGS, type Tags } from '../../shared/tags.ts'

type Tagged = { readonly containerId: number; readonly blob: string; readonly tags: Tags }

const ACCOUNT = 'account'

/** Blobs as a search sees them: a record with their tags. */
const recordKey = (containerId: number, blob: string) => encodeKey('tags', containerId, blob)

const loadFrom = (tx: ReadTx): LoadTagged =>
  function* (containerId, blob) {
    const value = yield* tx.get(recordKey(containerId, blob))
    if (value === undefined) return undefined
    return { container: `c${containerId}`, tags: decodeRecord<{ tags: Tags }>(value).tags }
  }

async function setTags(kv: Kv, { containerId, blob, tags }: Tagged): Promise<void> {
  await kv.write(function* (tx) {
    const before = (yield* loadFrom(tx)(containerId, blob))?.tags ?? NO_TAGS
    changeTagIndex(tx, { account: ACCOUNT, containerId, blob }, before, tags)
    tx.put(recordKey(containerId, blob), encodeRecord({ tags }))
  })
}

async function storeOf(blobs: readonly Tagged[], options: { waits?: boolean } = {}): Promise<Kv> {
  const kv = openMemoryKv(options)
  for (const blob of blobs) await setTags(kv, blob)
  // Other accounts, which must never be found.
  await kv.write(function* (tx) {
    const place = { containerId: 9, blob: 'x' }
    changeTagIndex(tx, { account: 'accoun', ...place }, NO_TAGS, [['a', '1']])
    changeTagIndex(tx, { account: 'accounts', ...place }, NO_TAGS, [['a', '1']])
    tx.put(recordKey(9, 'x'), encodeRecord({ tags: [['a', '1']] }))
  })
  return kv
}

type FindRequest = Partial<Omit<FindBlobsByTags, 'account' | 'where'>> & {
  readonly where: TagConjunction
}

async function findAll(kv: Kv, request: FindRequest): Promise<string[]> {
  const found: string[] = []
  let start: FindPosition | undefined = request.start
  do {
    const find = { account: ACCOUNT, countMax: 5, ...request, start }
    const page = await kv.read((tx) => findBlobsByTags(tx, find, loadFrom(tx)))
    assert(page.items.length <= find.countMax)
    for (const item of page.items) found.push(`${item.container}/${item.name}`)
    start = page.next === undefined ? undefined : decodeFindMarker(encodeFindMarker(page.next))
  } while (start !== undefined)
  return found
}

const BLOBS: readonly Tagged[] = [
  { containerId: 2, blob: 'b', tags: [['status', 'done'], ['rank', '010']] },
  { containerId: 1, blob: 'z', tags: [['status', 'done'], ['rank', '100']] },
  { containerId: 1, blob: 'a', tags: [['status', 'open'], ['rank', '005']] },
  { containerId: 10, blob: 'a', tags: [['status', 'done'], ['rank', '050']] },
  { containerId: 2, blob: 'a', tags: [['status', 'done more']] },
  { containerId: 2, blob: 'none', tags: [] },
] // prettier-ignore

const SEARCHES: readonly (readonly [where: string, found: string, containerId?: number])[] = [
  [`status = 'done'`, 'c1/z c2/b c10/a'],
  [`status = 'done'`, 'c2/b', 2],
  [`status = 'done' AND rank > '010'`, 'c1/z c10/a'],
  [`rank > '010' AND status = 'done'`, 'c1/z c10/a'],
  [`rank > '005' AND rank <= '100'`, 'c2/b c10/a c1/z'],
  [`rank >= '005' AND rank < '100'`, 'c1/a c2/b c10/a'],
  [`rank >= '005' AND rank < '100'`, 'c1/a', 1],
  [`rank < '010'`, 'c1/a'],
  [`rank <= '010'`, 'c1/a c2/b'],
  [`rank >= '050'`, 'c10/a c1/z'],
  [`rank > '100'`, ''],
  [`rank > '5' AND rank < '1'`, ''],
  [`status >= ''`, 'c1/z c2/b c10/a c2/a c1/a'],
  [`status >= '' AND rank > '' AND rank < '1'`, 'c1/a c2/b c10/a'],
  [`other = 'done'`, ''],
  [`Status = 'done'`, ''],
]

for (const [where, found, containerId] of SEARCHES) {
  for (const waits of [false, true]) {
    const place = containerId === undefined ? '' : ` in c${containerId}`
    test(`${where}${place}${waits ? ' (reads wait)' : ''} → ${found}`, async () => {
      const kv = await storeOf(BLOBS, { waits })
      const request = {
        where: parseWhere(where, 'account'),
        ...(containerId === undefined ? {} : { containerId }),
      }
      for (const countMax of [1, 2, 5_000]) {
        const all = await findAll(kv, { ...request, countMax })
        assert.equal(all.join(' '), found)
      }
    })
  }
}

test('results contain only the tags that the filter names', async () => {
  const kv = await storeOf(BLOBS)
  const where = parseWhere(`rank = '100'`, 'account')
  const find = { account: ACCOUNT, where, start: undefined, countMax: 10 }
  assert.deepEqual(await kv.read((tx) => findBlobsByTags(tx, find, loadFrom(tx))), {
    items: [{ container: 'c1', name: 'z', tags: [['rank', '100']] }],
    next: undefined,
  })
})

async function indexKeys(kv: Kv): Promise<readonly string[]> {
  const from = encodeKey('blob-tag')
  const keys = await kv.read((tx) => tx.scan({ from, to: KEY_END, countMax: 1_000 }))
  return keys
    .map(({ key }) => Buffer.from(key).toString('latin1'))
    .filter((key) => key.includes('blob-tag'))
}

test('changed tags leave the index, and unchanged tags are not written', async () => {
  const kv = openMemoryKv()
  const place = { account: ACCOUNT, containerId: 1, blob: 'b' }
  const before: Tags = [['stays', '1'], ['changes', '1'], ['goes', '1']] // prettier-ignore
  const after: Tags = [['comes', '1'], ['changes', '2'], ['stays', '1']] // prettier-ignore
  await kv.write(function* (tx) {
    changeTagIndex(tx, place, NO_TAGS, before)
  })
  const counts = new TxCounts()
  await kv.write(function* (tx) {
    changeTagIndex(countingTx(tx, counts), place, before, after)
  })
  assert.deepEqual([counts.deletes, counts.puts], [2, 2])
  const expected = after.map((tag) =>
    Buffer.from(blobTagKey(ACCOUNT, tag, place)).toString('latin1'),
  )
  assert.deepEqual(new Set(await indexKeys(kv)), new Set(expected))
  await kv.write(function* (tx) {
    changeTagIndex(tx, place, after, NO_TAGS)
  })
  assert.deepEqual(await indexKeys(kv), [])
})

test('a search skips blobs that no longer exist or no longer match', async () => {
  const kv = await storeOf(BLOBS)
  await kv.write(function* (tx) {
    tx.delete(recordKey(1, 'z'))
    tx.put(recordKey(2, 'b'), encodeRecord({ tags: [['status', 'open']] }))
  })
  const where = parseWhere(`status = 'done'`, 'account')
  assert.deepEqual(await findAll(kv, { where, countMax: 1 }), ['c10/a'])
})

test('a marker stays valid while blobs are created and deleted', async () => {
  const tags: Tags = [['a', '1']]
  const kv = await storeOf(['a', 'b', 'c', 'd'].map((blob) => ({ containerId: 7, blob, tags })))
  const where = parseWhere(`a = '1'`, 'account')
  const find = { account: ACCOUNT, where, start: undefined, countMax: 2 }
  const { next } = await kv.read((tx) => findBlobsByTags(tx, find, loadFrom(tx)))
  await setTags(kv, { containerId: 7, blob: 'b', tags: [] })
  await setTags(kv, { containerId: 7, blob: 'aa', tags })
  await setTags(kv, { containerId: 7, blob: 'bb', tags })
  assert.deepEqual(await findAll(kv, { where, start: next }), ['c7/bb', 'c7/c', 'c7/d'])
})

test('the longest names fit into a key and a marker', () => {
  const place = { containerId: Number.MAX_SAFE_INTEGER, blob: '\uffff'.repeat(1_024) }
  blobTagKey('a'.repeat(24), ['n'.repeat(128), 'v'.repeat(256)], place)
  const position = { ...place, value: 'v'.repeat(256) }
  assert.deepEqual(decodeFindMarker(encodeFindMarker(position)), position)
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const INVALID_MARKERS = [
  '', '!', 'abc', encoded({}), encoded(['a', 1]), encoded(['a', 1, 'b', 2]), encoded([1, 1, 'b']),
  encoded(['a', '1', 'b']), encoded(['a', -1, 'b']), encoded(['a', 1.5, 'b']), encoded(['a', 1, 2]),
  encoded(['é', 1, 'b']), encoded(['a'.repeat(257), 1, 'b']), encoded(['a', 1, 'b'.repeat(1_025)]),
] // prettier-ignore

for (const marker of INVALID_MARKERS) {
  test(`marker ${marker.slice(0, 30)} → InvalidQueryParameterValue`, () => {
    assert.throws(() => decodeFindMarker(marker), {
      code: 'InvalidQueryParameterValue',
      details: { QueryParameterName: 'marker', QueryParameterValue: marker },
    })
  })
}

test('decoding any marker gives a position or a StorageError', () => {
  const json = fc.json().map((text) => Buffer.from(text).toString('base64url'))
  fc.assert(
    fc.property(fc.oneof(fc.string(), json), (marker) => {
      try {
        blobTagKey(ACCOUNT, ['a', 'v'], decodeFindMarker(marker))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})

async function countReads(kv: Kv, find: Omit<FindBlobsByTags, 'account' | 'start'>) {
  const counts = new TxCounts()
  const page = await kv.read(function* (tx) {
    // The body may be run again.
    counts.reset()
    const counting = countingReads(tx, counts)
    const whole = { account: ACCOUNT, start: undefined, ...find }
    return yield* findBlobsByTags(counting, whole, loadFrom(counting))
  })
  return { entries: counts.scanned, gets: counts.gets, found: page.items.length, next: page.next }
}

async function manyBlobs(): Promise<Kv> {
  const kv = openMemoryKv()
  await kv.write(function* (tx) {
    for (let i = 0; i < 12_000; i += 1) {
      const place = { account: ACCOUNT, containerId: i % 2, blob: `${i}` }
      const tags: Tags = [['kind', i % 1_000 === 0 ? 'rare' : 'usual'], ['n', `${i % 10}`]] // prettier-ignore
      changeTagIndex(tx, place, NO_TAGS, tags)
      tx.put(recordKey(place.containerId, place.blob), encodeRecord({ tags }))
    }
  })
  return kv
}

test('the cost of a search depends on what it returns, not on the 12,000 blobs', async () => {
  const kv = await manyBlobs()
  const where = (text: string) => parseWhere(text, 'account')
  const rare = await countReads(kv, { where: where(`kind = 'rare'`), countMax: 5_000 })
  assert.deepEqual(rare, { entries: 12, gets: 12, found: 12, next: undefined })
  const page = await countReads(kv, { where: where(`kind = 'usual'`), countMax: 100 })
  assert.deepEqual([page.entries, page.gets, page.found], [101, 100, 100])
  const range = where(`kind >= 'r' AND kind < 's' AND n > ''`)
  const ranged = await countReads(kv, { where: range, countMax: 100 })
  assert.deepEqual([ranged.entries, ranged.gets, ranged.found], [12, 12, 12])
})

test('a search with few matches ends its page after a number of entries', async () => {
  const kv = await manyBlobs()
  const where = parseWhere(`kind = 'usual' AND n = 'none'`, 'account')
  const usual = await countReads(kv, { where, countMax: 1 })
  assert.deepEqual([usual.gets, usual.found], [10_000, 0])
  assert.notEqual(usual.next, undefined)
  const cut = await countReads(kv, { where, countMax: 100, scanCountMax: 150 })
  assert.equal(cut.gets, 150)
  assert.deepEqual(await findAll(kv, { where, scanCountMax: 5_000 }), [])
})

const NAMES = ['a', 'b'] as const
const VALUES = ['', '1', '10', '2'] as const

const tagged: fc.Arbitrary<Tagged> = fc.record({
  containerId: fc.integer({ min: 1, max: 3 }),
  blob: fc.constantFrom('x', 'xy', 'y'),
  tags: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES)), {
    selector: ([name]) => name,
  }),
})

const filter: fc.Arbitrary<TagConjunction> = fc.record({
  all: fc.array(
    fc.record({
      name: fc.constantFrom(...NAMES),
      operator: fc.constantFrom<TagOperator>('=', '>', '>=', '<', '<='),
      value: fc.constantFrom(...VALUES),
    }),
    { minLength: 1, maxLength: 4 },
  ),
})

test('after any changes, pages of any size find the same as a full scan', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(tagged, { maxLength: 20 }),
      filter,
      fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      fc.record({
        countMax: fc.integer({ min: 1, max: 4 }),
        scanCountMax: fc.integer({ min: 1, max: 5 }),
      }),
      async (changes, where, containerId, limits) => {
        const kv = await storeOf(changes)
        const last = new Map(changes.map((one) => [`c${one.containerId}/${one.blob}`, one]))
        const expected = [...last].flatMap(([place, one]) =>
          matchesTags(where, one.tags) && (containerId ?? one.containerId) === one.containerId
            ? [place]
            : [],
        )
        const request = { where, ...limits, ...(containerId === undefined ? {} : { containerId }) }
        const found = await findAll(kv, request)
        assert.deepEqual(found.toSorted(), expected.toSorted())
      },
    ),
    { numRuns: 300 },
  )
})
