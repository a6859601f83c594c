// Bodies run ahead of their commits. What that must not change: nobody hears of what is not durable, and what
// fails takes along what was built upon it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Commits } from './commits.ts'
import { encodeKey } from './key.ts'
import type { ReadTx, Step, Tx } from './kv.ts'
import { applyWrites, EMPTY_MAP, MapReads, scanEntries, type SortedMap } from './sorted-map.ts'
import { runStraight, type Writes } from './transaction.ts'

type Held = { readonly count: number; succeed(): Promise<void>; fail(): Promise<void> }

/** A store whose commits end when the test says so. */
function heldStore() {
  let map: SortedMap = EMPTY_MAP
  const held: Held[] = []
  const commit = (writes: Writes): Promise<void> =>
    new Promise((resolve, reject) => {
      held.push({
        count: writes.size,
        succeed: () => {
          map = applyWrites(map, writes.values())
          resolve()
          return turn()
        },
        fail: () => {
          reject(new Error('the disk is full'))
          return turn()
        },
      })
    })
  const reads: ReadTx = {
    get: (key) => new MapReads(map).get(key),
    getWith: (key, decode) => new MapReads(map).getWith(key, decode),
    scan: (range) => new MapReads(map).scan(range),
    scanWith: (range, pick) => new MapReads(map).scanWith(range, pick),
  }
  return { commits: new Commits(reads, commit), held, stored: () => scanEntries(map, ALL) }
}

const ALL = { from: encodeKey(), to: new Uint8Array([0xff]), countMax: 1_000 }
const KEY = encodeKey('n')

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Adds a letter to a record and gives all of it. */
function add(letter: string) {
  return function* (tx: Tx): Step<string> {
    const before = Buffer.from((yield* tx.get(KEY)) ?? []).toString()
    tx.put(KEY, Buffer.from(before + letter))
    return before + letter
  }
}

/** What has become of promises, in the order in which it was told. */
function watch(told: string[], name: string, promise: Promise<unknown>): void {
  promise.then(
    (value) => told.push(`${name}: ${String(value)}`),
    (error: unknown) => told.push(`${name} failed: ${String(error)}`),
  )
}

test('a body sees those before it at once, and is told of when they are durable', async () => {
  const { commits, held } = heldStore()
  const told: string[] = []
  watch(told, '1', commits.write(add('a')))
  watch(told, '2', commits.write(add('b')))
  watch(told, '3', commits.write(add('c')))
  await turn()
  assert.deepEqual([held.length, told], [1, []])
  await held[0]?.succeed()
  assert.deepEqual(told, ['1: a'])
  // Of what both have written, the last.
  assert.equal(held[1]?.count, 1)
  await held[1]?.succeed()
  assert.deepEqual(told, ['1: a', '2: ab', '3: abc'])
})

test('scans see what is on its way, in both directions', async () => {
  const { commits, held } = heldStore()
  const put = (name: string) =>
    commits.write(function* (tx: Tx): Step<void> {
      tx.put(encodeKey(name), Buffer.from(name))
    })
  const names = (reverse: boolean) =>
    commits.write(function* (tx: Tx): Step<string> {
      const found = yield* tx.scan({ ...ALL, reverse })
      const picked = yield* tx.scanWith({ ...ALL, reverse }, (_key, value) =>
        Buffer.from(value.bytes()),
      )
      assert.deepEqual(
        picked.map(String),
        found.map(({ value }) => Buffer.from(value).toString()),
      )
      return picked.join()
    })
  const told: string[] = []
  watch(told, 'a, c', Promise.all([put('a'), put('c')]))
  await turn()
  await held[0]?.succeed()
  watch(told, 'b', put('b'))
  watch(told, 'delete', commits.write(function* (tx: Tx): Step<void> { tx.delete(encodeKey('a')) })) // prettier-ignore
  watch(told, 'up', names(false))
  watch(told, 'down', names(true))
  for (const commit of held) await commit.succeed()
  assert.deepEqual(told.slice(-2), ['up: b,c', 'down: c,b'])
})

test('a refusal for what is not durable yet is not told before it is', async () => {
  const { commits, held } = heldStore()
  const told: string[] = []
  watch(told, 'first', commits.write(add('a')))
  const refuse = function* (tx: Tx): Step<void> {
    if ((yield* tx.get(KEY)) !== undefined) throw new Error('it exists')
  }
  watch(told, 'second', commits.write(refuse))
  await turn()
  assert.deepEqual(told, [])
  await held[0]?.succeed()
  assert.deepEqual(told, ['first: a', 'second failed: Error: it exists'])
})

test('what changes nothing while nothing is on its way is told at once', async () => {
  const { commits, held } = heldStore()
  assert.equal(await commits.write(function* (): Step<number> { return 1 }), 1) // prettier-ignore
  assert.equal(held.length, 0)
})

test('a commit that fails takes all that was built upon it along, the newest first', async () => {
  const { commits, held, stored } = heldStore()
  const told: string[] = []
  watch(told, '1', commits.write(add('a')))
  watch(told, '2', commits.write(add('b')))
  watch(told, '3', commits.write(add('c')))
  await held[0]?.fail()
  const full = 'failed: Error: the disk is full'
  assert.deepEqual(told, [`3 ${full}`, `2 ${full}`, `1 ${full}`])
  assert.deepEqual(stored(), [])
  watch(told, '4', commits.write(add('d')))
  await held[1]?.succeed()
  assert.equal(told.at(-1), '4: d')
})

test('who only reads sees what is durable, however often it was read before', async () => {
  const { commits, held } = heldStore()
  const durable = () => runStraight(commits.durable.getWith(KEY, String))
  const told: string[] = []
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), undefined)
  watch(told, '1', commits.write(add('a')))
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), undefined)
  await held[0]?.succeed()
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), 'a')
  watch(told, '2', commits.write(add('b')))
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), 'a')
  await held[1]?.fail()
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), 'a')
  watch(told, '3', commits.write(add('c')))
  await held[2]?.succeed()
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), 'ac')
  assert.deepEqual(told, ['1: a', '2 failed: Error: the disk is full', '3: ac'])
})

test('what a commit has stored and not told yet is not kept as it was before', async () => {
  const { commits, held, stored } = heldStore()
  const durable = () => runStraight(commits.durable.getWith(KEY, String))
  for (let i = 0; i < 3; i += 1) assert.equal(durable(), undefined)
  const writing = commits.write(add('a'))
  // The store shows it as soon as it has it, a turn before the commit's promise is seen.
  const succeeding = held[0]?.succeed()
  assert.equal(stored().length, 1)
  assert.equal(durable(), 'a')
  await succeeding
  assert.equal(await writing, 'a')
  assert.equal(durable(), 'a')
})

test('settled: when nothing waits any more', async () => {
  const { commits, held } = heldStore()
  const told: string[] = []
  watch(told, '1', commits.write(add('a')))
  watch(told, '2', commits.write(add('b')))
  watch(
    told,
    'settled',
    commits.settled().then(() => 'yes'),
  )
  await held[0]?.succeed()
  assert.deepEqual(told, ['1: a'])
  await held[1]?.succeed()
  assert.deepEqual(told, ['1: a', '2: ab', 'settled: yes'])
})
