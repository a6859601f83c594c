import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openMemoryKv } from '../../kv/memory.ts'
import { encodeRecord } from '../../kv/record.ts'
import type { Kv, ReadTx } from '../../kv/kv.ts'
import { blobKey } from './keys.ts'
import { listBlobs, type ListBlobs, type ListPosition } from './list.ts'

const nameOf = (item: object) =>
  'prefix' in item ? `${item.prefix}*` : (item as { name: string }).name

async function storeOf(names: readonly string[]): Promise<Kv> {
  const kv = openMemoryKv()
  await kv.write(function* (tx) {
    for (const name of names) tx.put(blobKey(7, name), encodeRecord({}))
    // Neighbours that must never show.
    tx.put(blobKey(6, 'zz'), encodeRecord({}))
    tx.put(blobKey(8, 'a'), encodeRecord({}))
  })
  return kv
}

async function listAll(kv: Kv, list: Partial<ListBlobs>): Promise<string[]> {
  const found: string[] = []
  let start: ListPosition | undefined = list.start
  do {
    const asked = { prefix: '', delimiter: undefined, countMax: 5, ...list, start }
    const page = await kv.read((tx) => listBlobs(tx, 7, asked))
    assert(page.items.length <= asked.countMax)
    assert(page.items.length > 0 || page.next === undefined, 'a page with a next has items')
    found.push(...page.items.map(nameOf))
    start = page.next
  } while (start !== undefined)
  return found
}

/** What a list is by definition: filter, fold, sort, unique. */
function model(names: readonly string[], prefix: string, delimiter?: string, from = ''): string[] {
  const folded = names
    .filter((name) => name.startsWith(prefix) && name >= from)
    .map((name) => {
      const at = delimiter === undefined ? -1 : name.indexOf(delimiter, prefix.length)
      return at < 0 ? name : `${name.slice(0, at + (delimiter?.length ?? 0))}*`
    })
  return [...new Set(folded)].toSorted((a, b) => {
    const [x, y] = [a.replace(/\*$/, ''), b.replace(/\*$/, '')]
    return x < y ? -1 : x > y ? 1 : 0
  })
}

const name = fc.string({
  unit: fc.constantFrom('a', 'b', '/', 'é', '\u{1f600}', '\0'),
  maxLength: 5,
})

test('pages of every size give what filter, fold and sort would', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(name, { maxLength: 30 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 2 }),
      fc.constantFrom(undefined, '/', 'a/', 'b'),
      fc.integer({ min: 1, max: 7 }),
      async (names, prefix, delimiter, countMax) => {
        const found = await listAll(await storeOf(names), { prefix, delimiter, countMax })
        assert.deepEqual(found, model(names, prefix, delimiter))
      },
    ),
    { numRuns: 400 },
  )
})

test('a start takes its own name in', async () => {
  const kv = await storeOf(['a', 'b', 'c', 'd'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'b' } }), ['b', 'c', 'd'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'bb' } }), ['c', 'd'])
  assert.deepEqual(await listAll(kv, { start: { fromName: 'a' }, prefix: 'c' }), ['c'])
})

test('a marker holds while names come and go', async () => {
  const kv = await storeOf(['a', 'b', 'c', 'd'])
  const first = await kv.read((tx) =>
    listBlobs(tx, 7, { prefix: '', delimiter: undefined, start: undefined, countMax: 2 }),
  )
  await kv.write(function* (tx) {
    tx.delete(blobKey(7, 'b'))
    tx.put(blobKey(7, 'aa'), encodeRecord({}))
    tx.put(blobKey(7, 'bb'), encodeRecord({}))
  })
  assert.deepEqual(await listAll(kv, { start: first.next }), ['bb', 'c', 'd'])
})

test('a list by hierarchy costs what it returns: 30,000 blobs under two prefixes', async () => {
  const names = Array.from({ length: 30_000 }, (_, i) => `${i % 2 === 0 ? 'x' : 'y'}/${i}`)
  const kv = await storeOf(names)
  let scanned = 0
  const items = await kv.read(function* (tx) {
    const counting: ReadTx = {
      ...tx,
      *scanWith(range, pick) {
        const found = yield* tx.scanWith(range, pick)
        scanned += found.length
        return found
      },
    }
    const list = { prefix: '', delimiter: '/', start: undefined, countMax: 100 }
    return (yield* listBlobs(counting, 7, list)).items
  })
  assert.deepEqual(items.map(nameOf), ['x/*', 'y/*'])
  assert(scanned <= 20, `${scanned} records were read`)
})
