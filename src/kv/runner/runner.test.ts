// Bodies run ahead of their commits, alone with an engine or beside other runners. Nobody hears of what is not
// durable yet, and a commit that fails takes along what was built on it.
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
  RUNNER_KINDS,
  textOf,
  turn,
  watch,
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
    return found.map(({ value }) => textOf(value)).join()
  }
}

for (const kind of RUNNER_KINDS) {
  describe(`a ${kind} runner`, () => {
    test('runs a body on the writes before it, and tells its outcome when they are durable', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(told, letter, kv.write(append(KEY, letter)))
      await turn()
      assert.deepEqual([commits.length, told], [1, []])
      await commits[0]?.succeed()
      assert.deepEqual([commits.length, told], [2, ['a: a']])
      await commits[1]?.succeed()
      assert.deepEqual(told, ['a: a', 'b: ab', 'c: abc'])
      assert.equal(commits.length, 2)
    })

    test('lets a body scan the writes before it, in both directions and to its count', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const told: string[] = []
      watch(told, 'stored', kv.write(function* (tx) {
        for (const name of ['a', 'c', 'e', 'g']) tx.put(keyOf(name), recordOf(name))
      })) // prettier-ignore
      await succeedAll(0)
      const before = commits.length
      watch(told, 'b', kv.write(put(keyOf('b'), 'b')))
      watch(told, 'f', kv.write(put(keyOf('f'), 'f')))
      watch(told, 'c', kv.write(put(keyOf('c'), 'C')))
      watch(told, 'delete a', kv.write(function* (tx) { tx.delete(keyOf('a')) })) // prettier-ignore
      watch(told, 'delete g', kv.write(function* (tx) { tx.delete(keyOf('g')) })) // prettier-ignore
      watch(told, 'up', kv.write(texts(false, 99)))
      watch(told, 'down', kv.write(texts(true, 99)))
      watch(told, 'first', kv.write(texts(false, 2)))
      watch(told, 'last', kv.write(texts(true, 2)))
      watch(told, 'durable', kv.read(texts(false, 99)))
      await turn()
      await turn()
      assert.deepEqual(told.slice(1), ['durable: a,c,e,g'])
      await succeedAll(before)
      assert.deepEqual(told.slice(-4), ['up: b,C,e,f', 'down: f,e,C,b', 'first: b,C', 'last: f,e'])
      assert.equal(await kv.read(texts(false, 99)), 'b,C,e,f')
    })

    test('lets a scan find as many as it wants behind writes that delete', async () => {
      const { kv, counts, succeedAll } = openHeld(kind)
      const told: string[] = []
      watch(told, 'stored', kv.write(function* (tx) {
        for (const name of ['a', 'b', 'c', 'd', 'e']) tx.put(keyOf(name), recordOf(name))
      })) // prettier-ignore
      await succeedAll(0)
      let runs = 0
      watch(told, 'delete', kv.write(function* (tx) {
        for (const name of ['a', 'b', 'c']) tx.delete(keyOf(name))
      })) // prettier-ignore
      for (const [reverse, countMax] of [[false, 1], [false, 2], [true, 1], [true, 3]] as const) {
        watch(told, `${countMax}`, kv.write((tx) => { runs += 1; return texts(reverse, countMax)(tx) })) // prettier-ignore
      } // prettier-ignore
      await succeedAll(1)
      assert.deepEqual(told.slice(2), ['1: d', '2: d,e', '1: e', '3: e,d'])
      assert.deepEqual([runs, counts.alone], [4, 0], 'each body has run once')
    })

    test('tells no error that comes from a write before that is durable', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      watch(told, 'first', kv.write(append(KEY, 'a')))
      await turn()
      const refuse = function* (tx: Tx<string>): Step<void> {
        tx.put(keyOf('never'), recordOf('never'))
        if ((yield* tx.get(KEY)) !== undefined) throw new Error('it exists')
      }
      watch(told, 'second', kv.write(refuse))
      watch(told, 'third', kv.attempt(function* (tx) {
        if ((yield* tx.get(KEY)) !== undefined) yield* need({ kind: 'something' })
      }).then((attempted) => 'need' in attempted)) // prettier-ignore
      await turn()
      assert.deepEqual(told, [])
      for (let at = 0; at < commits.length; at += 1) await commits[at]?.succeed()
      assert.deepEqual(told, ['first: a', 'second failed: Error: it exists', 'third: true'])
      assert.equal(await kv.read(get(keyOf('never'))), undefined)
    })

    test('tells at once what has changed nothing and seen only what is durable', async () => {
      const { kv, commits } = openHeld(kind)
      watch([], 'slow', kv.write(put(keyOf('slow'), '')))
      await turn()
      assert.equal(await kv.write(function* () { return 1 }), 1) // prettier-ignore
      assert.equal(await kv.write(get(KEY)), undefined)
      assert.deepEqual(await kv.write((tx) => tx.scan({ ...prefixRange(KEY), countMax: 9 })), [])
      await assert.rejects(kv.write(function* (tx) {
        yield* tx.get(KEY)
        throw new Error('no')
      }), /^Error: no$/) // prettier-ignore
      assert.equal(commits.length, 1)
    })

    test('fails whatever was built on a commit that fails, and goes on', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const told: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(told, letter, kv.write(append(KEY, letter)))
      await turn()
      watch(told, 'refused', kv.write(function* (tx) {
        throw new Error(textOf(yield* tx.get(KEY)))
      })) // prettier-ignore
      await turn()
      await commits[0]?.fail()
      assert.deepEqual(told, [`a ${FULL}`, `b ${FULL}`, `c ${FULL}`, `refused ${FULL}`])
      assert.equal(await kv.read(get(KEY)), undefined)
      watch(told, 'd', kv.write(append(KEY, 'd')))
      await succeedAll(1)
      assert.equal(told.at(-1), 'd: d')
    })

    test('fails nothing that was durable before', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      for (const letter of ['a', 'b', 'c']) watch(told, letter, kv.write(append(KEY, letter)))
      await turn()
      await commits[0]?.succeed()
      await commits[1]?.fail()
      assert.deepEqual(told, ['a: a', `b ${FULL}`, `c ${FULL}`])
      assert.equal(await kv.read(get(KEY)), 'a')
    })

    for (const cache of ['with a cache', 'without one']) {
      test(`shows readers only what is durable, however often they read, ${cache}`, async () => {
        const limits = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }
        const { kv, commits } = openHeld(kind, cache === 'with a cache' ? { cache: limits } : {})
        const shows = async (text: string | undefined): Promise<void> => {
          for (let again = 0; again < 4; again += 1) {
            assert.equal(await kv.read(get(KEY)), text)
            assert.equal(await kv.read(texts(false, 9)), text ?? '')
          }
        }
        const told: string[] = []
        await shows(undefined)
        watch(told, '1', kv.write(append(KEY, 'a')))
        await shows(undefined)
        await commits[0]?.succeed()
        await shows('a')
        watch(told, '2', kv.write(append(KEY, 'b')))
        await shows('a')
        await commits[1]?.fail()
        await shows('a')
        watch(told, '3', kv.write(append(KEY, 'c')))
        await shows('a')
        await commits[2]?.succeed()
        await shows('ac')
        watch(told, '4', kv.write(function* (tx) { tx.delete(KEY) })) // prettier-ignore
        await shows('ac')
        await commits[3]?.succeed()
        await shows(undefined)
        assert.deepEqual(told, ['1: a', `2 ${FULL}`, '3: ac', '4: undefined'])
      })
    }

    test('puts many transactions into one commit', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const writes = Array.from({ length: 40 }, (_, n) => kv.write(put(keyOf(n), String(n))))
      await succeedAll(0)
      await Promise.all(writes)
      // The first alone, then half of those that wait but at least 16.
      const names = commits.map(({ transactions }) =>
        transactions.reduce((sum, each) => sum + each.writes.length, 0),
      )
      assert.deepEqual(names, [1, 20, 16, 3])
    })

    test('closes when nothing is under way any more', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      watch(told, '1', kv.write(append(KEY, 'a')))
      watch(told, '2', kv.write(append(KEY, 'b')))
      await turn()
      watch(told, 'closed', kv.close())
      await turn()
      await commits[0]?.succeed()
      assert.deepEqual(told, ['1: a'])
      await commits[1]?.succeed()
      assert.deepEqual(told, ['1: a', '2: ab', 'closed: undefined'])
    })

    test('keeps no run in memory for another that has seen it', async () => {
      const { kv, commits } = openHeld(kind)
      const records: WeakRef<object>[] = []
      const add = () =>
        kv.write(function* (tx) {
          const record = recordOf(`${textOf(yield* tx.get(KEY)) ?? ''}x`)
          records.push(new WeakRef(record))
          tx.put(KEY, record)
        })
      // Each begins before the one before it is durable: there is always one under way.
      const writes = [add()]
      for (let at = 0; at < 20; at += 1) {
        writes.push(add())
        await turn()
        await commits.shift()?.succeed()
      }
      const alive = await collectGarbage(() => records.filter((each) => each.deref() !== undefined))
      assert.equal(records.length, 21)
      assert(alive.length < 5, `${alive.length} of 21 records`)
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

    test('are told in order once they are durable', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      const [told, order]: [string[], string[]] = [[], []]
      const stop = kv.listen((event) => told.push(event))
      kv.listen((event) => order.push(`other ${event}`))
      const writing = kv.write(announcing('first', 'second'))
      const behind = kv.write(announcing('third'))
      await turn()
      assert.deepEqual(told, [])
      await commits[0]?.succeed()
      await writing
      assert.deepEqual(told, ['first', 'second'])
      await succeedAll(1)
      await behind
      assert.deepEqual(told, ['first', 'second', 'third'])
      assert.deepEqual(order, ['other first', 'other second', 'other third'])
      stop()
      watch([], 'unheard', kv.write(announcing('unheard')))
      await succeedAll(2)
      assert.deepEqual([told.length, order.at(-1)], [3, 'other unheard'])
    })

    test('are told before the outcome is', async () => {
      const { kv, succeedAll } = openHeld(kind)
      const told: string[] = []
      kv.listen((event) => told.push(event))
      watch(told, 'outcome', kv.write(announcing('event')))
      await succeedAll(0)
      assert.deepEqual(told, ['event', 'outcome: undefined'])
    })

    test('are not told when the commit fails, the body throws, or needs something', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      kv.listen((event) => told.push(event))
      const writing = kv.write(announcing('failed'))
      await turn()
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
      assert.deepEqual(told, [])
    })

    test('of a transaction that stores nothing are told as well', async () => {
      const { kv } = openHeld(kind)
      const told: string[] = []
      kv.listen((event) => told.push(event))
      await kv.write(function* (tx) {
        tx.announce('released')
      })
      assert.deepEqual(told, ['released'])
    })

    test('take nothing back when a listener throws', async () => {
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
