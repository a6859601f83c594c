import { countingReads, TxCounts } from '../../../kv/counting.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Kv } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { SKIP_MAX } from '../../shared/cursor.ts'
import { blobKey, DELETED_ROOT, pastBlobKey, stagingKey } from '../keys.ts'
import { type BlobItem, type ListBlobs, type ListIncludes } from './list-page.ts'
import { listBlobs } from './list.ts'

const CONTAINER = 7
const NOW_MS = 1_000_000
const NONE: ListIncludes = {
  snapshots: false,
  versions: false,
  deleted: false,
  deletedWithVersions: false,
  uncommitted: false,
}

/**
 * `live`, `expired`, `staged`, `stale` (staged long ago), or a past state: its kind and stamp, with `-` if it is
 * soft-deleted and `!` if its retention has ended too.
 */
type Entry = readonly [name: string, what: string]

async function storeOf(entries: readonly Entry[]): Promise<Kv> {
  const kv = openMemoryKv()
  await kv.write(function* (tx) {
    for (const [name, what] of entries) tx.put(...recordOf(name, what))
    // Other containers, which must never be listed.
    for (const id of [CONTAINER - 1, CONTAINER + 1]) {
      tx.put(blobKey(id, 'zz'), encodeRecord({}))
      tx.put(pastBlobKey(id, 'a', 1), encodeRecord({ kind: 'snapshot' }))
      tx.put(stagingKey(id, 'a'), encodeRecord({ touchedMs: NOW_MS }))
    }
  })
  return kv
}

function recordOf(name: string, what: string) {
  if (what === 'live') return [blobKey(CONTAINER, name), encodeRecord({})] as const
  if (what === 'expired') {
    return [blobKey(CONTAINER, name), encodeRecord({ expiresMs: NOW_MS })] as const
  }
  if (what === 'staged' || what === 'stale') {
    const touchedMs = what === 'staged' ? NOW_MS : NOW_MS - 7 * 24 * 3_600_000
    return [stagingKey(CONTAINER, name), encodeRecord({ touchedMs })] as const
  }
  const [, kind = '', digits = '', sign] = /^(snapshot|version|root)(\d*)([-!]?)$/.exec(what) ?? []
  const stamp = kind === 'root' ? DELETED_ROOT : Number(digits)
  const deleted =
    sign === '' ? {} : { deleted: { atMs: 1, untilMs: NOW_MS + (sign === '-' ? 1 : 0) } }
  return [pastBlobKey(CONTAINER, name, stamp), encodeRecord({ kind, ...deleted })] as const
}

function textOf(item: BlobItem): string {
  if ('prefix' in item) return `${item.prefix}*`
  if ('staging' in item) return `${item.name} staged`
  if ('blob' in item) return item.hasVersionsOnly === true ? `${item.name} versions` : item.name
  const { kind, deleted } = item.past
  const stamp = kind === 'root' ? '' : item.stamp
  return `${item.name} ${kind}${stamp}${deleted === undefined ? '' : '-'}`
}

async function listAll(kv: Kv, list: Partial<ListBlobs>): Promise<string[]> {
  const found: string[] = []
  let { start } = list
  do {
    const request = { prefix: '', delimiter: undefined, countMax: 5, ...list, start }
    const page = await kv.read((tx) => listBlobs(tx, CONTAINER, request, NOW_MS))
    assert(page.items.length <= request.countMax)
    found.push(...page.items.map(textOf))
    start = page.next
  } while (start !== undefined)
  return found
}

/** One page, and how many records it read. */
async function cost(kv: Kv, list: Partial<ListBlobs>) {
  const counts = new TxCounts()
  const page = await kv.read((tx) => {
    // The body may be run again.
    counts.reset()
    const request = { prefix: '', delimiter: undefined, start: undefined, countMax: 100, ...list }
    return listBlobs(countingReads(tx, counts), CONTAINER, request, NOW_MS)
  })
  return { ...page, texts: page.items.map(textOf), scanned: counts.scanned }
}

const live = (names: readonly string[]) => names.map((name): Entry => [name, 'live'])

/** The model of a list: the visible items of each name, in order, folded, and each prefix once. */
function model(entries: readonly Entry[], list: Partial<ListBlobs>): string[] {
  const { prefix = '', delimiter, endBefore, include = NONE } = list
  const names = [...new Set(entries.map(([name]) => name))].sort((a, b) => (a < b ? -1 : 1))
  const expected = names
    .filter((name) => name.startsWith(prefix) && (endBefore === undefined || name < endBefore))
    .flatMap((name) => {
      const items = itemsOf(entries, name, include)
      const at = delimiter === undefined ? -1 : name.indexOf(delimiter, prefix.length)
      if (at < 0 || items.length === 0) return items
      return [`${name.slice(0, at + (delimiter?.length ?? 0))}*`]
    })
  return [...new Set(expected)]
}

function itemsOf(entries: readonly Entry[], name: string, include: ListIncludes): string[] {
  const of = entries.filter((entry) => entry[0] === name).map((entry) => entry[1])
  const past = of
    .filter((what) => /^(snapshot|version|root)/.test(what) && !what.endsWith('!'))
    .sort((a, b) => Number(/\d+/.exec(a) ?? Infinity) - Number(/\d+/.exec(b) ?? Infinity))
  const items = past
    .filter((what) => include.deleted || !what.endsWith('-'))
    .filter((what) => include.snapshots || !what.startsWith('snapshot'))
    .filter((what) => include.versions || !what.startsWith('version'))
    .map((what) => `${name} ${what}`)
  if (of.includes('live')) return [...items, name]
  if (include.uncommitted && of.includes('staged')) return [...items, `${name} staged`]
  const isOnlyVersions =
    include.deletedWithVersions &&
    past.some((what) => what.startsWith('version')) &&
    !items.includes(`${name} root-`)
  return isOnlyVersions ? [...items, `${name} versions`] : items
}

const NAME = fc.string({
  unit: fc.constantFrom('a', 'a', 'b', '/', '/', 'é', '\u{1f600}', '\0'),
  size: 'max',
  maxLength: 5,
})
const BASE = fc.constantFrom(
  'live',
  'live',
  'expired',
  'staged',
  'staged',
  'stale',
  'root-',
  'root!',
)
const PAST = fc
  .tuple(
    fc.constantFrom('snapshot', 'version'),
    fc.integer({ min: 1, max: 6 }),
    fc.constantFrom('', '-', '!'),
  )
  .map((parts) => parts.join(''))
const HISTORY = fc.record({
  name: NAME,
  base: fc.option(BASE),
  past: fc.uniqueArray(PAST, { maxLength: 4, selector: (what) => /\d/.exec(what)?.[0] }),
})
const HISTORIES = {
  size: 'max',
  maxLength: 30,
  selector: ({ name }: { name: string }) => name,
} as const
const ENTRIES = fc
  .uniqueArray(HISTORY, HISTORIES)
  .map((histories) =>
    histories.flatMap(({ name, base, past }): Entry[] => [
      ...past.map((what): Entry => [name, what]),
      ...(base === null ? [] : [[name, base] as const]),
    ]),
  )
const INCLUDE = fc.record({
  snapshots: fc.boolean(),
  versions: fc.boolean(),
  deleted: fc.boolean(),
  deletedWithVersions: fc.boolean(),
  uncommitted: fc.boolean(),
})
const LIST = fc.record({
  prefix: fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 2 }),
  delimiter: fc.constantFrom(undefined, '/', 'a/', 'b'),
  endBefore: fc.option(
    NAME.filter((name) => name !== ''),
    { nil: undefined },
  ),
  countMax: fc.integer({ min: 1, max: 7 }),
})

test('pages of every size agree with the model', async () => {
  await fc.assert(
    fc.asyncProperty(ENTRIES, LIST, async (entries, list) => {
      assert.deepEqual(await listAll(await storeOf(entries), list), model(entries, list))
    }),
    { numRuns: 300 },
  )
})

test('pages with past states, deleted and uncommitted blobs agree with the model', async () => {
  await fc.assert(
    fc.asyncProperty(ENTRIES, LIST, INCLUDE, async (entries, list, include) => {
      // Snapshots and versions are never listed with a delimiter.
      const delimiter = include.snapshots || include.versions ? undefined : list.delimiter
      const request = { ...list, delimiter, include }
      assert.deepEqual(await listAll(await storeOf(entries), request), model(entries, request))
    }),
    { numRuns: 500 },
  )
})

test('a start includes its own name and past states; an end excludes its own name', async () => {
  const kv = await storeOf([...live(['a', 'b', 'c', 'd']), ['b', 'snapshot3']])
  const include = { ...NONE, snapshots: true }
  assert.deepEqual(await listAll(kv, { start: { fromName: 'b' } }), ['b', 'c', 'd'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'b' }, include }), [
    'b snapshot3',
    'b',
    'c',
    'd',
  ])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'bb' } }), ['c', 'd'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'a' }, prefix: 'c' }), ['c'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'b' }, endBefore: 'd' }), ['b', 'c'])
  assert.deepEqual(await listAll(kv, { endBefore: 'b', include }), ['a'])
})

test('a marker stays valid while names and past states are created and deleted', async () => {
  const kv = await storeOf([
    ...live(['a', 'b', 'c', 'd']),
    ['b', 'snapshot3'],
    ['b', 'snapshot5'],
    ['b', 'snapshot7'],
  ])
  const include = { ...NONE, snapshots: true }
  const plain = await cost(kv, { countMax: 2 })
  const merged = await cost(kv, { countMax: 3, include })
  assert.deepEqual(merged.texts, ['a', 'b snapshot3', 'b snapshot5'])
  await kv.write(function* (tx) {
    tx.delete(pastBlobKey(CONTAINER, 'b', 5))
    tx.delete(blobKey(CONTAINER, 'b'))
    for (const stamp of [4, 6]) tx.put(...recordOf('b', `snapshot${stamp}`))
    for (const name of ['aa', 'bb']) tx.put(...recordOf(name, 'live'))
  })
  assert.deepEqual(await listAll(kv, { start: plain.next }), ['bb', 'c', 'd'])
  const rest = await listAll(kv, { start: merged.next, include })
  assert.deepEqual(rest, ['b snapshot6', 'b snapshot7', 'bb', 'c', 'd'])
  // Without snapshots, the rest starts after the name that the marker is in.
  assert.deepEqual(await listAll(kv, { start: merged.next }), ['bb', 'c', 'd'])
})

test('the cost of a list depends on what it returns, not on the 100,000 names', async () => {
  const entries: Entry[] = []
  for (let i = 0; i < 100_000; i += 1) {
    const name = `${i % 2 === 0 ? 'x' : 'y'}/${i}`
    entries.push([name, i % 3 === 0 ? 'root-' : 'live'])
    if (i % 4 === 0) entries.push([name, 'version1'], [name, 'snapshot2'])
  }
  const kv = await storeOf(entries)
  const all = { snapshots: true, versions: true, deleted: true, uncommitted: true }
  const folded = ['x/*', 'y/*']
  // list → its items (or how many) → the most records that it may read
  const rows: readonly (readonly [Partial<ListBlobs>, readonly string[] | number, number])[] = [
    [{ countMax: 10 }, 10, 11],
    [{ delimiter: '/' }, folded, 20],
    [{ prefix: 'y/50003' }, ['y/50003'], 1],
    [{ countMax: 10, include: { ...NONE, ...all } }, 10, 100],
    [{ countMax: 10, prefix: 'y/7', include: { ...NONE, deleted: true } }, 10, 100],
    [
      { delimiter: '/', include: { ...NONE, deleted: true, deletedWithVersions: true } },
      folded,
      100,
    ],
    [{ delimiter: '/', include: { ...NONE, uncommitted: true } }, folded, 50],
  ]
  for (const [list, expected, scannedMax] of rows) {
    const { texts, scanned } = await cost(kv, list)
    assert.deepEqual(typeof expected === 'number' ? texts.length : texts, expected)
    assert(scanned <= scannedMax, `${scanned} for ${JSON.stringify(list)}`)
  }
})

test('a list skips many past states where only the name matters', async () => {
  const entries: Entry[] = []
  for (const name of ['a', 'b', 'c']) {
    for (let stamp = 1; stamp <= 3_000; stamp += 1) entries.push([name, `version${stamp}`])
    entries.push([name, name === 'b' ? 'live' : 'root-'])
  }
  const kv = await storeOf(entries)
  const deleted = await cost(kv, { include: { ...NONE, deleted: true } })
  assert.deepEqual(deleted.texts, ['a root-', 'b', 'c root-'])
  assert(deleted.scanned < 100, `${deleted.scanned} records were read`)
  const versions = await cost(kv, { include: { ...NONE, deletedWithVersions: true } })
  assert.deepEqual(versions.texts, ['a versions', 'b', 'c versions'])
  assert(versions.scanned < 100, `${versions.scanned} records were read`)
})

test('many hidden names end a page early, and its marker continues after them', async () => {
  const hidden = Array.from({ length: SKIP_MAX + 2_000 }, (_, i) => String(i).padStart(6, '0'))
  for (const what of ['expired', 'snapshot1-', 'stale']) {
    const kv = await storeOf([...hidden.map((name): Entry => [name, what]), ['z', 'live']])
    const include = what === 'expired' ? NONE : { ...NONE, snapshots: true, uncommitted: true }
    const first = await cost(kv, { include })
    assert.deepEqual(first.texts, [])
    assert(first.next !== undefined && first.scanned <= SKIP_MAX + 3_000, `${first.scanned}`)
    assert.deepEqual(await listAll(kv, { include, start: first.next }), ['z'])
  }
})
