// Both kinds of runner run bodies ahead of their commits. No outcome is reported before it is durable, and a failed
// commit also fails everything built on it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { prefixRange, type ReadTx, type Step, type Tx } from '../kv.ts'
import { encodeKey } from '../key.ts'
import { need } from '../step.ts'
import {
  append,
  get,
  keyOf,
  openHeld,
  put,
  recordOf,
  recordText,
  RUNNER_KINDS,
  watch,
  roundTrip,
} from './harness.ts'
import { collectGarbage } from './garbage.ts'

const KEY = keyOf('n')
const ALL = { ...prefixRange(encodeKey('k')), countMax: 99 }
const FULL = 'failed: Error: the disk is full'

/** The texts of a scan. */
function texts(reverse: boolean, countMax: number) {
  return function* (tx: ReadTx): Step<string> {
    const found = yield* tx.scan({ ...ALL, reverse, countMax })
    const keys = yield* tx.scanKeys({ ...ALL, reverse, countMax })
    assert.deepEqual(
      keys,
      found.map(({ key }) => key),
    )
    return found.map(({ value }) => recordText(value)).join()
  }
}

for (const kind of RUNNER_KINDS) {
  describe(`a ${kind} runner`, () => {
    test('runs a body on pending writes, and reports its outcome once they are durable', async () => {
      const { kv, commits } = openHeld(kind)
      const outcomes: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(outcomes, letter, kv.write(append(KEY, letter)))
      await roundTrip()
      assert.deepEqual([commits.length, outcomes], [1, []])
      await commits[0]?.succeed()
      assert.deepEqual([commits.length, outcomes], [2, ['a: a']])
      await commits[1]?.succeed()
      assert.deepEqual(outcomes, ['a: a', 'b: ab', 'c: abc'])
      assert.equal(commits.length, 2)
    })

    test('includes pending writes in scans, in both directions and up to the count', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const outcomes: string[] = []
      watch(outcomes, 'stored', kv.write(function* (tx) {
        for (const name of ['a', 'c', 'e', 'g']) tx.put(keyOf(name), recordOf(name))
      })) // prettier-ignore
      await succeedAll(0)
      const before = commits.length
      watch(outcomes, 'b', kv.write(put(keyOf('b'), 'b')))
      watch(outcomes, 'f', kv.write(put(keyOf('f'), 'f')))
      watch(outcomes, 'c', kv.write(put(keyOf('c'), 'C')))
      watch(outcomes, 'delete a', kv.write(function* (tx) { tx.delete(keyOf('a')) })) // prettier-ignore
      watch(outcomes, 'delete g', kv.write(function* (tx) { tx.delete(keyOf('g')) })) // prettier-ignore
      watch(outcomes, 'up', kv.write(texts(false, 99)))
      watch(outcomes, 'down', kv.write(texts(true, 99)))
      watch(outcomes, 'first', kv.write(texts(false, 2)))
      watch(outcomes, 'last', kv.write(texts(true, 2)))
      watch(outcomes, 'durable', kv.read(texts(false, 99)))
      await roundTrip()
      await roundTrip()
      assert.deepEqual(outcomes.slice(1), ['durable: a,c,e,g'])
      await succeedAll(before)
      assert.deepEqual(outcomes.slice(-4), [
        'up: b,C,e,f',
        'down: f,e,C,b',
        'first: b,C',
        'last: f,e',
      ])
      assert.equal(await kv.read(texts(false, 99)), 'b,C,e,f')
    })

    test('fills a scan up to its count despite pending deletes', async () => {
      const { kv, counts, succeedAll } = openHeld(kind)
      const outcomes: string[] = []
      watch(outcomes, 'stored', kv.write(function* (tx) {
        for (const name of ['a', 'b', 'c', 'd', 'e']) tx.put(keyOf(name), recordOf(name))
      })) // prettier-ignore
      await succeedAll(0)
      let runs = 0
      watch(outcomes, 'delete', kv.write(function* (tx) {
        for (const name of ['a', 'b', 'c']) tx.delete(keyOf(name))
      })) // prettier-ignore
      for (const [reverse, countMax] of [[false, 1], [false, 2], [true, 1], [true, 3]] as const) {
        watch(outcomes, `${countMax}`, kv.write((tx) => { runs += 1; return texts(reverse, countMax)(tx) })) // prettier-ignore
      } // prettier-ignore
      await succeedAll(1)
      assert.deepEqual(outcomes.slice(2), ['1: d', '2: d,e', '1: e', '3: e,d'])
      // A shared runner runs each of them on guesses first.
      assert.deepEqual(
        [runs, counts.alone],
        [kind === 'local' ? 4 : 8, 0],
        'each body has run once',
      )
    })

    test('reports an error caused by a pending write only once that write is durable', async () => {
      const { kv, commits } = openHeld(kind)
      const outcomes: string[] = []
      watch(outcomes, 'first', kv.write(append(KEY, 'a')))
      await roundTrip()
      const refuse = function* (tx: Tx<string>): Step<void> {
        tx.put(keyOf('never'), recordOf('never'))
        if ((yield* tx.get(KEY)) !== undefined) throw new Error('it exists')
      }
      watch(outcomes, 'second', kv.write(refuse))
      watch(outcomes, 'third', kv.attempt(function* (tx) {
        if ((yield* tx.get(KEY)) !== undefined) yield* need({ kind: 'something' })
      }).then((attempted) => 'need' in attempted)) // prettier-ignore
      await roundTrip()
      assert.deepEqual(outcomes, [])
      for (let at = 0; at < commits.length; at += 1) await commits[at]?.succeed()
      assert.deepEqual(outcomes, ['first: a', 'second failed: Error: it exists', 'third: true'])
      assert.equal(await kv.read(get(keyOf('never'))), undefined)
    })

    test('reports at once the outcome of a body that wrote nothing and read only durable records', async () => {
      const { kv, commits } = openHeld(kind)
      watch([], 'slow', kv.write(put(keyOf('slow'), '')))
      await roundTrip()
      assert.equal(await kv.write(function* () { return 1 }), 1) // prettier-ignore
      assert.equal(await kv.write(get(KEY)), undefined)
      assert.deepEqual(await kv.write((tx) => tx.scan({ ...prefixRange(KEY), countMax: 9 })), [])
      await assert.rejects(kv.write(function* (tx) {
        yield* tx.get(KEY)
        throw new Error('no')
      }), /^Error: no$/) // prettier-ignore
      assert.equal(commits.length, 1)
    })

    test('fails everything built on a failed commit, and carries on', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const outcomes: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(outcomes, letter, kv.write(append(KEY, letter)))
      await roundTrip()
      watch(outcomes, 'refused', kv.write(function* (tx) {
        throw new Error(recordText(yield* tx.get(KEY)))
      })) // prettier-ignore
      await roundTrip()
      await commits[0]?.fail()
      assert.deepEqual(outcomes, [`a ${FULL}`, `b ${FULL}`, `c ${FULL}`, `refused ${FULL}`])
      assert.equal(await kv.read(get(KEY)), undefined)
      watch(outcomes, 'd', kv.write(append(KEY, 'd')))
      await succeedAll(1)
      assert.equal(outcomes.at(-1), 'd: d')
    })

    test('does not fail writes that were already durable', async () => {
      const { kv, commits } = openHeld(kind)
      const outcomes: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(outcomes, letter, kv.write(append(KEY, letter)))
      await roundTrip()
      await commits[0]?.succeed()
      await commits[1]?.fail()
      assert.deepEqual(outcomes, ['a: a', `b ${FULL}`, `c ${FULL}`])
      assert.equal(await kv.read(get(KEY)), 'a')
    })

    for (const cache of ['with a cache', 'without one']) {
      test(`shows readers only durable writes, however often they read, ${cache}`, async () => {
        const limits = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }
        const { kv, commits } = openHeld(kind, cache === 'with a cache' ? { cache: limits } : {})
        const shows = async (text: string | undefined): Promise<void> => {
          for (let again = 0; again < 4; again += 1) {
            assert.equal(await kv.read(get(KEY)), text)
            assert.equal(await kv.read(texts(false, 9)), text ?? '')
          }
        }
        const outcomes: string[] = []
        await shows(undefined)
        watch(outcomes, '1', kv.write(append(KEY, 'a')))
        await shows(undefined)
        await commits[0]?.succeed()
        await shows('a')
        watch(outcomes, '2', kv.write(append(KEY, 'b')))
        await shows('a')
        await commits[1]?.fail()
        await shows('a')
        watch(outcomes, '3', kv.write(append(KEY, 'c')))
        await shows('a')
        await commits[2]?.succeed()
        await shows('ac')
        watch(outcomes, '4', kv.write(function* (tx) { tx.delete(KEY) })) // prettier-ignore
        await shows('ac')
        await commits[3]?.succeed()
        await shows(undefined)
        assert.deepEqual(outcomes, ['1: a', `2 ${FULL}`, '3: ac', '4: undefined'])
      })
    }

    test('puts many transactions into one commit', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const writes = Array.from({ length: 40 }, (_, n) => kv.write(put(keyOf(n), String(n))))
      await succeedAll(0)
      await Promise.all(writes)
      // The first alone, then half of the waiting writes, but at least 16.
      const names = commits.map(({ transactions }) =>
        transactions.reduce((sum, each) => sum + each.writes.length, 0),
      )
      assert.deepEqual(names, [1, 20, 16, 3])
    })

    test('closes once all transactions under way have ended', async () => {
      const { kv, commits } = openHeld(kind)
      const outcomes: string[] = []
      watch(outcomes, '1', kv.write(append(KEY, 'a')))
      watch(outcomes, '2', kv.write(append(KEY, 'b')))
      await roundTrip()
      watch(outcomes, 'closed', kv.close())
      await roundTrip()
      await commits[0]?.succeed()
      assert.deepEqual(outcomes, ['1: a'])
      await commits[1]?.succeed()
      assert.deepEqual(outcomes, ['1: a', '2: ab', 'closed: undefined'])
    })

    test('does not keep a finished run in memory for a later one that has read its writes', async () => {
      const { kv, commits } = openHeld(kind)
      const records: WeakRef<object>[] = []
      const add = () =>
        kv.write(function* (tx) {
          const record = recordOf(`${recordText(yield* tx.get(KEY)) ?? ''}x`)
          records.push(new WeakRef(record))
          tx.put(KEY, record)
        })
      // Each begins before the previous one is durable, so one is always under way.
      const writes = [add()]
      for (let at = 0; at < 20; at += 1) {
        writes.push(add())
        await roundTrip()
        await commits.shift()?.succeed()
      }
      const alive = await collectGarbage(() => records.filter((each) => each.deref() !== undefined))
      assert(records.length >= 21)
      assert(alive.length < 5, `${alive.length} of ${records.length} records`)
      await commits.shift()?.succeed()
      await Promise.all(writes)
    })
  })

  describe(`events of a ${kind} runner`, () => {
    const announcing = (...events: readonly string[]) =>
      function* (tx: Tx<string>): Step<void> {
        yield* tx.get(KEY)
        tx.put(KEY, recordOf('changed'))
        for (const event of events) tx.announce(event)
      }

    test('reach listeners in order, after the commit is durable', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const [events, others]: [string[], string[]] = [[], []]
      const stop = kv.listen((event) => events.push(event))
      kv.listen((event) => others.push(`other ${event}`))
      const writing = kv.write(announcing('first', 'second'))
      const behind = kv.write(announcing('third'))
      await roundTrip()
      assert.deepEqual(events, [])
      await commits[0]?.succeed()
      await writing
      assert.deepEqual(events, ['first', 'second'])
      await succeedAll(1)
      await behind
      assert.deepEqual(events, ['first', 'second', 'third'])
      assert.deepEqual(others, ['other first', 'other second', 'other third'])
      stop()
      watch([], 'unheard', kv.write(announcing('unheard')))
      await succeedAll(2)
      assert.deepEqual([events.length, others.at(-1)], [3, 'other unheard'])
    })

    test('reach listeners before the outcome is reported', async () => {
      const { kv, succeedAll } = openHeld(kind)
      const order: string[] = []
      kv.listen((event) => order.push(event))
      watch(order, 'outcome', kv.write(announcing('event')))
      await succeedAll(0)
      assert.deepEqual(order, ['event', 'outcome: undefined'])
    })

    test('are dropped when the commit fails, the body throws, or the body needs something', async () => {
      const { kv, commits } = openHeld(kind)
      const events: string[] = []
      kv.listen((event) => events.push(event))
      const writing = kv.write(announcing('failed'))
      await roundTrip()
      await Promise.all([assert.rejects(writing, /the disk is full/), commits[0]?.fail()])
      const throwing = kv.write(function* (tx) {
        tx.announce('thrown')
        throw new Error('no')
      })
      await assert.rejects(throwing, /^Error: no$/)
      await kv.attempt(function* (tx) {
        tx.announce('needed')
        yield* need({ kind: 'something' })
      })
      assert.deepEqual(events, [])
    })

    test('of a transaction that stores nothing reach listeners too', async () => {
      const { kv } = openHeld(kind)
      const events: string[] = []
      kv.listen((event) => events.push(event))
      await kv.write(function* (tx) {
        tx.announce('released')
      })
      assert.deepEqual(events, ['released'])
    })

    test('do not undo the write when a listener throws', async () => {
      const { kv, succeedAll } = openHeld(kind)
      kv.listen(() => {
        throw new Error('a listener')
      })
      const written = assert.rejects(kv.write(announcing('changed')), /a listener/)
      await succeedAll(0)
      await written
      assert.equal(await kv.read(get(KEY)), 'changed')
      watch([], 'later', kv.write(put(KEY, 'later')))
      await succeedAll(1)
      assert.equal(await kv.read(get(KEY)), 'later')
    })
  })
}
