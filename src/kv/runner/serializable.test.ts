// Random transactions leave a history that some serial order explains. Each appends its number to lists and records
// what it has read. The lists and reads say which transaction comes before which, and that order must have no cycle.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom, type Random } from '../../../test/random.ts'
import type { Engine } from '../engine/engine.ts'
import { turn } from '../engine/harness.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type EventKv, type Key, type ReadTx, type Step, type Tx } from '../kv.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../record.ts'
import { giveWay } from '../step.ts'
import { volatileKey } from '../volatile.ts'
import { openKv, versionsOf } from './runner.ts'

const STORED_COUNT = 4
const VOLATILE_COUNT = 2
const LIST_COUNT = STORED_COUNT + VOLATILE_COUNT

/** The first lists are stored, the rest are volatile. */
const keyOf = (list: number): Key =>
  list < STORED_COUNT ? encodeKey('list', list) : volatileKey('list', list)

type Op = { readonly kind: 'read' | 'append' | 'scan' | 'pause'; readonly list: number }

type Plan = {
  readonly id: number
  readonly ops: readonly Op[]
  readonly end: 'return' | 'throw'
}

/** What a transaction has read: the numbers in each list. */
type Reads = Map<number, readonly number[]>

type Ended = {
  readonly plan: Plan
  readonly reads: Reads
  readonly beganAt: number
  readonly endedAt: number
}

class Thrown extends Error {
  readonly reads: Reads

  constructor(reads: Reads) {
    super('as planned')
    this.reads = reads
  }
}

function planOf(random: Random, id: number, listCount: number): Plan {
  const kinds = ['read', 'read', 'append', 'append', 'scan', 'pause'] as const
  const ops = Array.from({ length: 1 + random.below(4) }, () => {
    return { kind: random.pick(kinds), list: random.below(listCount) }
  })
  return { id, ops, end: random.below(6) === 0 ? 'throw' : 'return' }
}

const idsOf = (record: StoredRecord | undefined): readonly number[] =>
  record === undefined ? [] : decodeRecord<{ ids: number[] }>(record).ids

function* scanLists(tx: ReadTx, isVolatile: boolean): Step<Reads> {
  const [first, count] = isVolatile ? [STORED_COUNT, VOLATILE_COUNT] : [0, STORED_COUNT]
  const prefix = isVolatile ? volatileKey('list') : encodeKey('list')
  const found = yield* tx.scan({ ...prefixRange(prefix), countMax: 99 })
  const lists = Array.from({ length: count }, (_, at) => first + at)
  return new Map(
    lists.map((list) => {
      const entry = found.find(({ key }) => Buffer.compare(key, keyOf(list)) === 0)
      return [list, idsOf(entry?.value)]
    }),
  )
}

/** Reads do not include the transaction's own number. */
function bodyOf({ id, ops, end }: Plan) {
  return function* (tx: ReadTx | Tx<string>): Step<Reads> {
    const reads: Reads = new Map()
    const note = (list: number, ids: readonly number[]): void => {
      const others = ids.filter((each) => each !== id)
      const before = reads.get(list)
      // An error other than the planned one: if a torn read is ever reported, the test fails.
      if (before !== undefined && before.join() !== others.join()) throw new Error('torn')
      reads.set(list, others)
    }
    for (const { kind, list } of ops) {
      if (kind === 'pause') {
        yield* giveWay()
      } else if (kind === 'scan') {
        for (const [each, ids] of yield* scanLists(tx, list >= STORED_COUNT)) note(each, ids)
      } else {
        const ids = idsOf(yield* tx.get(keyOf(list)))
        note(list, ids)
        if (kind === 'append' && 'put' in tx && !ids.includes(id)) {
          tx.put(keyOf(list), encodeRecord({ ids: [...ids, id] }))
        }
      }
    }
    if (end === 'throw') throw new Thrown(reads)
    return reads
  }
}

/** Fails one commit in ten, which then stores nothing. */
function failing(engine: Engine, random: Random): Engine {
  return {
    ...engine,
    commit: (transactions) =>
      random.below(10) === 0
        ? turn().then(() => Promise.reject(new Error('the disk is full')))
        : engine.commit(transactions),
  }
}

type History = { readonly ended: readonly Ended[]; readonly lists: Reads }

/** The first runner has the volatile lists. */
async function run(
  runners: readonly [EventKv<string>, ...(readonly EventKv<string>[])],
  listCount: number,
  random: Random,
): Promise<History> {
  const ended: Ended[] = []
  let clock = 0
  const start = async (plan: Plan, kv: EventKv<string>): Promise<void> => {
    const beganAt = (clock += 1)
    const isRead = plan.ops.every(({ kind }) => kind !== 'append') && plan.id % 2 === 0
    const end = (reads: Reads): void => {
      ended.push({ plan, reads, beganAt, endedAt: (clock += 1) })
    }
    try {
      end(await (isRead ? kv.read(bodyOf(plan)) : kv.write(bodyOf(plan))))
    } catch (error) {
      if (error instanceof Thrown) end(error.reads)
      else assert.match(String(error), /the disk is full/)
    }
  }
  const running: Promise<void>[] = []
  for (let id = 1; id <= 200; id += 1) {
    const plan = planOf(random, id, listCount)
    const isVolatile = plan.ops.some(({ list }) => list >= STORED_COUNT)
    running.push(start(plan, isVolatile ? runners[0] : random.pick(runners)))
    if (random.below(4) === 0) await turn()
    if (random.below(20) === 0) await Promise.all(running)
  }
  await Promise.all(running)
  const [kv] = runners
  const stored = await kv.read((tx) => scanLists(tx, false))
  const held = await kv.read((tx) => scanLists(tx, true))
  return { ended, lists: new Map([...stored, ...held]) }
}

/** For each transaction, those that come after it. */
function orderOf({ ended, lists }: History): Map<number, Set<number>> {
  const after = new Map<number, Set<number>>(ended.map(({ plan }) => [plan.id, new Set()]))
  const add = (first: number | undefined, second: number | undefined): void => {
    if (first !== undefined && second !== undefined && first !== second) {
      assert(after.has(first) && after.has(second), 'a failed transaction has left a write')
      after.get(first)?.add(second)
    }
  }
  for (const ids of lists.values()) ids.forEach((id, at) => add(id, ids[at + 1]))
  for (const { plan, reads } of ended) {
    for (const [list, ids] of reads) {
      const all = lists.get(list) ?? []
      assert.deepEqual(ids, all.slice(0, ids.length), 'a read sees an earlier state of the list')
      add(ids.at(-1), plan.id)
      add(plan.id, all[ids.length])
    }
  }
  return after
}

/** The transactions in a serial order; undefined if there is none. */
function serialOrder(after: ReadonlyMap<number, ReadonlySet<number>>): number[] | undefined {
  const states = new Map<number, 'open' | 'done'>()
  const order: number[] = []
  const visit = (id: number): boolean => {
    const state = states.get(id)
    if (state !== undefined) return state === 'done'
    states.set(id, 'open')
    for (const next of after.get(id) ?? []) if (!visit(next)) return false
    states.set(id, 'done')
    order.unshift(id)
    return true
  }
  return [...after.keys()].every(visit) ? order : undefined
}

/** A transaction that began after another had ended comes after it. */
function addRealTime({ ended }: History, after: Map<number, Set<number>>): void {
  for (const first of ended) {
    for (const { plan, beganAt } of ended) {
      if (first.endedAt < beganAt) after.get(first.plan.id)?.add(plan.id)
    }
  }
}

const shared = () => openMemoryEngine({ isShared: true })
const waiting = (seed: number) => openMemoryEngine({ waitSeed: seed })

const ENGINES = [
  ['local', 1, LIST_COUNT, () => openMemoryEngine()],
  ['shared, one runner', 1, LIST_COUNT, shared],
  ['shared, two runners', 2, LIST_COUNT, shared],
  ['shared, three runners, stored records only', 3, STORED_COUNT, shared],
  ['waiting, one runner', 1, LIST_COUNT, waiting],
  ['waiting, two runners', 2, LIST_COUNT, waiting],
  ['waiting, three runners, stored records only', 3, STORED_COUNT, waiting],
] as const

describe('random transactions', () => {
  for (const [name, runnerCount, listCount, open] of ENGINES) {
    for (let seed = 1; seed <= 20; seed += 1) {
      test(`have a serial order: ${name} (seed ${seed})`, { timeout: 60_000 }, async () => {
        const engine = failing(open(seed), randomFrom(-seed))
        const others = Array.from({ length: runnerCount - 1 }, (_, at) =>
          openKv<string>(engine, { nextVersion: versionsOf(at + 2) }),
        )
        const history = await run([openKv<string>(engine), ...others], listCount, randomFrom(seed))
        const after = orderOf(history)
        // In a shared runner, readers of stored records only may lag behind changes to volatile ones.
        if (name === 'local' || listCount === STORED_COUNT) addRealTime(history, after)
        assert(serialOrder(after) !== undefined, 'the order of transactions has a cycle')
        assert(history.ended.length > 50)
      })
    }
  }
})
