// Volatile records: gone with the process, never in the engine, and one with stored records in every transaction.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine } from '../engine/engine.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { decodeKey, encodeKey } from '../key.ts'
import { prefixRange, type Key, type ReadTx, type Step, type Tx } from '../kv.ts'
import { giveWay } from '../step.ts'
import { volatileKey } from '../volatile.ts'
import {
  append,
  get,
  keyOf,
  openEngine,
  openHeld,
  put,
  recordOf,
  rivalWrite,
  RUNNER_KINDS,
  spin,
  textOf,
  turn,
  watch,
} from './harness.ts'
import { openKv } from './runner.ts'

const VOLATILE = volatileKey('open', 1)
const STORED = keyOf('file')
const OPENS = { ...prefixRange(volatileKey('open')), countMax: 9 }
const FILES = { ...prefixRange(encodeKey('k')), countMax: 9 }

/** Writes both kinds. */
function both(text: string) {
  return function* (tx: Tx<string>): Step<void> {
    tx.put(STORED, recordOf(text))
    tx.put(VOLATILE, recordOf(text))
  }
}

function* readBoth(tx: ReadTx): Step<string> {
  const stored = textOf(yield* tx.get(STORED))
  return `${stored} ${textOf(yield* tx.get(VOLATILE))}`
}

for (const kind of RUNNER_KINDS) {
  describe(`volatile records of a ${kind} runner`, () => {
    test('are not in the engine, and not there for the next process', async () => {
      const engine = openEngine(kind)
      const kv = openKv<string>(engine)
      await kv.write(both('here'))
      assert.equal(await kv.read(readBoth), 'here here')
      const { keys } = await engine.read({ keys: [{ key: STORED }, { key: VOLATILE }], ranges: [] })
      assert.deepEqual([typeof keys[0], keys[1]], ['object', undefined])
      assert.equal(await openKv(engine, { number: 2 }).read(readBoth), 'here undefined')
    })

    test('are read, scanned in both directions and deleted like others', async () => {
      const { kv, commits } = openHeld(kind)
      const scans = function* (tx: ReadTx): Step<unknown> {
        const up = (yield* tx.scan(OPENS)).map(({ value }) => textOf(value))
        const down = yield* tx.scanKeys({ ...OPENS, reverse: true, countMax: 2 })
        return { up, down: down.map((key) => decodeKey(key)[2]) }
      }
      const own = await kv.write(function* (tx) {
        for (const n of [2, 1, 4, 3]) tx.put(volatileKey('open', n), recordOf(String(n)))
        tx.delete(volatileKey('open', 2))
        return yield* scans(tx)
      })
      const expected = { up: ['1', '3', '4'], down: [4, 3] }
      assert.deepEqual([own, await kv.read(scans)], [expected, expected])
      assert.equal(commits.length, 0)
    })

    test('do not include keys that only begin with the same letters', async () => {
      const engine = openEngine(kind)
      const key = encodeKey('lively')
      await openKv<string>(engine).write(put(key, 'here'))
      assert.equal(await openKv(engine, { number: 2 }).read(get(key)), 'here')
    })

    test('keep no larger buffer alive that they are part of', async () => {
      const kv = openKv<string>(openEngine(kind))
      await kv.write(put(VOLATILE, 'text'))
      const record = await kv.read((tx) => tx.get(VOLATILE))
      assert.equal(record?.value.buffer.byteLength, record?.value.length)
    })

    test('are as they were when a body throws', async () => {
      const kv = openKv<string>(openEngine(kind))
      const told: string[] = []
      kv.listen((event) => told.push(event))
      await kv.write(both('before'))
      const failing = kv.write(function* (tx) {
        tx.put(VOLATILE, recordOf('after'))
        tx.put(STORED, recordOf('after'))
        tx.announce('changed')
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual([await kv.read(readBoth), told], ['before before', []])
    })

    test('lose no change to concurrent ones', async () => {
      const kv = openKv<string>(openEngine(kind))
      const adding = Array.from({ length: 100 }, (_, n) =>
        kv.write(function* (tx) {
          const letters = textOf(yield* tx.get(VOLATILE)) ?? ''
          tx.put(VOLATILE, recordOf(`${letters}x`))
          if (n % 3 === 0) yield* append(STORED, 'x')(tx)
        }),
      )
      await Promise.all(adding)
      assert.equal(await kv.read(readBoth), `${'x'.repeat(34)} ${'x'.repeat(100)}`)
    })
  })

  describe(`while a ${kind} runner commits a change of both kinds`, () => {
    test('a transaction of other volatile records is done at once', async () => {
      const { kv, commits } = openHeld(kind)
      const slow = kv.write(both('slow'))
      await turn()
      const other = volatileKey('open', 2)
      await kv.write(put(other, 'quick'))
      assert.equal(await kv.write(get(other)), 'quick')
      assert.equal(commits.length, 1)
      await commits[0]?.succeed()
      await slow
      assert.equal(await kv.read(get(other)), 'quick')
    })

    const waiting: readonly (readonly [string, (tx: Tx<string>) => Step<unknown>])[] = [
      ['gets its volatile record', (tx) => tx.get(VOLATILE)],
      ['scans its volatile record', (tx) => tx.scan(OPENS)],
      ['overwrites its volatile record', put(VOLATILE, 'other')],
      ['gets its stored record', (tx) => tx.get(STORED)],
      ['scans its stored record', (tx) => tx.scan(FILES)],
    ]
    for (const [what, touching] of waiting) {
      test(`one that ${what} waits for it`, async () => {
        const { kv, commits, succeedAll } = openHeld(kind)
        const told: string[] = []
        watch(told, 'slow', kv.write(both('slow')))
        await turn()
        watch(told, 'behind', kv.write(function* (tx) {
          yield* touching(tx)
          tx.put(volatileKey('open', 2), recordOf('behind'))
        })) // prettier-ignore
        await turn()
        assert.deepEqual(told, [])
        await succeedAll(0)
        assert.deepEqual(told, ['slow: undefined', 'behind: undefined'])
        assert.equal(await kv.read(get(volatileKey('open', 2))), 'behind')
        assert(commits.length <= 2)
      })

      test(`one that ${what} fails with it`, async () => {
        const { kv, commits } = openHeld(kind)
        const told: string[] = []
        watch(told, 'slow', kv.write(both('slow')))
        await turn()
        watch(told, 'behind', kv.write(function* (tx) {
          yield* touching(tx)
          tx.put(volatileKey('open', 2), recordOf('behind'))
        })) // prettier-ignore
        await turn()
        await commits[0]?.fail()
        const full = 'failed: Error: the disk is full'
        assert.deepEqual(told, [`slow ${full}`, `behind ${full}`])
        assert.deepEqual(await kv.read((tx) => tx.scan(OPENS)), [])
      })
    }

    test('a reader of both kinds waits, and sees both changes or fails with them', async () => {
      for (const end of ['succeed', 'fail'] as const) {
        const { kv, commits, succeedAll } = openHeld(kind)
        const told: string[] = []
        watch(told, 'slow', kv.write(both('slow')))
        await turn()
        watch(told, 'reader', kv.read(readBoth))
        watch(told, 'throwing', kv.read(function* (tx) {
          throw new Error(yield* readBoth(tx))
        })) // prettier-ignore
        await turn()
        assert.deepEqual(told, [])
        await commits[0]?.[end]()
        await succeedAll(1)
        const full = 'failed: Error: the disk is full'
        assert.match(told[0] ?? '', /^slow/)
        assert.deepEqual(
          told.toSorted(),
          end === 'fail'
            ? [`reader ${full}`, `slow ${full}`, `throwing ${full}`]
            : ['reader: slow slow', 'slow: undefined', 'throwing failed: Error: slow slow'],
        )
      }
    })

    test('a reader of other records does not wait', async () => {
      const { kv, commits } = openHeld(kind)
      watch([], 'slow', kv.write(both('slow')))
      await turn()
      assert.equal(await kv.read(get(keyOf('other'))), undefined)
      assert.equal(commits.length, 1)
    })

    test('a change of what it has only read is done at once, and readers of both kinds wait', async () => {
      const { kv, succeedAll } = openHeld(kind)
      const told: string[] = []
      watch(told, 'slow', kv.write(function* (tx) {
        const open = textOf(yield* tx.get(VOLATILE)) ?? 'closed'
        tx.put(STORED, recordOf(open))
      })) // prettier-ignore
      await turn()
      await kv.write(put(VOLATILE, 'open'))
      watch(told, 'reader', kv.read(readBoth))
      watch(told, 'backwards', kv.read(readBackwards))
      await turn()
      assert.equal(await kv.read(get(VOLATILE)), 'open')
      assert.deepEqual(told, [], 'slow was before the change, and is not durable yet')
      await succeedAll(0)
      assert.equal(told[0], 'slow: undefined')
      assert.deepEqual(told.toSorted().slice(0, 2), [
        'backwards: closed open',
        'reader: closed open',
      ])
    })

    test('nobody waits for it once it is done', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      watch([], 'slow', kv.write(both('slow')))
      await succeedAll(0)
      await kv.write(function* (tx) {
        yield* tx.get(VOLATILE)
        tx.put(VOLATILE, recordOf('changed'))
      })
      assert.equal(commits.length, 1)
    })
  })

  describe(`a failed commit of a ${kind} runner`, () => {
    test('takes back what was added, changed and deleted', async () => {
      const { kv, commits } = openHeld(kind)
      const told: string[] = []
      kv.listen((event) => told.push(event))
      const [changed, deleted] = [volatileKey('open', 8), volatileKey('open', 9)]
      await kv.write(function* (tx) {
        for (const key of [changed, deleted]) tx.put(key, recordOf('before'))
      })
      const failing = kv.write(function* (tx) {
        yield* both('new')(tx)
        tx.put(changed, recordOf('after'))
        tx.delete(deleted)
        tx.announce('changed')
      })
      await turn()
      await Promise.all([assert.rejects(failing, /the disk is full/), commits[0]?.fail()])
      const found = await Promise.all(
        [VOLATILE, changed, deleted, STORED].map((key) => kv.read(get(key))),
      )
      assert.deepEqual(found, [undefined, 'before', 'before', undefined])
      assert.deepEqual(told, [])
      await kv.write(put(VOLATILE, 'at once'))
      assert.equal(commits.length, 1, 'its changes hold nobody up')
    })

    test('takes back only what was not durable, and no change of others', async () => {
      const { kv, commits } = openHeld(kind)
      const other = volatileKey('open', 2)
      watch([], 'first', kv.write(both('first')))
      await turn()
      watch([], 'second', kv.write(both('second')))
      await kv.write(put(other, 'other'))
      await turn()
      await commits[0]?.succeed()
      await commits[1]?.fail()
      const found = await Promise.all([STORED, VOLATILE, other].map((key) => kv.read(get(key))))
      assert.deepEqual(found, ['first', 'first', 'other'])
    })
  })
}

describe('stored and volatile records', () => {
  const engines = [
    ['local', () => openMemoryEngine()],
    ['shared', () => openMemoryEngine({ isShared: true })],
    ['waiting (seed 1)', () => openMemoryEngine({ waitSeed: 1 })],
    ['waiting (seed 2)', () => openMemoryEngine({ waitSeed: 2 })],
  ] as const
  for (const [name, open] of engines) {
    test(`are of one moment for every reader: ${name}`, async () => {
      const engine = open()
      const kv = openKv<string>(engine)
      const rival = openKv<string>(engine, { number: 2 })
      await kv.write(both('0'))
      const keys: readonly Key[] = [VOLATILE, STORED]
      const state = { isWriting: true }
      const writes = Array.from({ length: 60 }, (_, n) =>
        kv.write(function* (tx) {
          // Reads make the runner wait, and the rival overtakes it.
          yield* tx.get(keyOf('rival'))
          const text = textOf(yield* tx.get(STORED))
          assert.equal(textOf(yield* tx.get(VOLATILE)), text)
          for (const key of keys) tx.put(key, recordOf(`${n}`))
        }),
      )
      const rivals = Array.from({ length: engine.local === undefined ? 20 : 0 }, (_, n) =>
        rival.write(put(keyOf('rival'), String(n))),
      )
      const written = Promise.all([...writes, ...rivals]).finally(() => (state.isWriting = false))
      let seen = 0
      while (state.isWriting) {
        const reads = [kv.read(readBoth), kv.write(readBoth), kv.read(readBackwards)]
        for (const found of await Promise.all(reads)) {
          const [stored, held] = found.split(' ')
          assert.equal(stored, held)
          seen += 1
        }
        await turn()
      }
      await written
      assert(seen > 0)
    })
  }

  test('are of one moment for a long reader of what was changed meanwhile', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    const told: string[] = []
    watch(told, 'first', kv.write(put(keyOf('first'), '')))
    // It waits in the queue when the reader could take its snapshot.
    watch(told, 'copy', kv.write(function* (tx) {
      const open = (yield* tx.scan(OPENS)).length > 0 ? 'open' : 'closed'
      tx.put(STORED, recordOf(open))
    })) // prettier-ignore
    await kv.write(put(VOLATILE, 'open'))
    watch(told, 'reader', kv.read(function* (tx) {
      for (let again = 0; again < 3; again += 1) {
        spin(15)
        yield* giveWay()
      }
      return yield* readBoth(tx)
    })) // prettier-ignore
    await turn()
    await commits[0]?.succeed()
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual(told, ['first: undefined'])
    await succeedAll(1)
    for (let turns = 0; turns < 20 && told.length < 3; turns += 1) await turn()
    assert.deepEqual(told.slice(1), ['copy: undefined', 'reader: closed open'])
  })

  test('are of one moment for a long reader too', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    watch([], 'first', kv.write(both('first')))
    await succeedAll(0)
    const read = (): Promise<string> =>
      kv.read(function* (tx) {
        const held = textOf(yield* tx.get(VOLATILE))
        for (let again = 0; again < 3; again += 1) {
          spin(15)
          yield* giveWay()
        }
        return `${textOf(yield* tx.get(STORED))} ${held}`
      })
    const reading = read()
    watch([], 'second', kv.write(both('second')))
    const behind = read()
    const told: string[] = []
    watch(told, 'reader', reading)
    watch(told, 'reader behind', behind)
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual(told, [], 'a snapshot waits for the commit under way')
    await commits[1]?.succeed()
    await Promise.all([reading, behind])
    assert.deepEqual(told, ['reader: second second', 'reader behind: second second'])
  })
})

function* readBackwards(tx: ReadTx): Step<string> {
  const [held] = yield* tx.scan(OPENS)
  const stored = textOf(yield* tx.get(STORED))
  return `${stored} ${textOf(held?.value)}`
}

describe('a shared runner', () => {
  test('does not commit a transaction with another whose volatile records it has seen', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const told: string[] = []
    // While it is committed, the others wait.
    watch(told, 'first', kv.write(put(keyOf('first'), '')))
    await turn()
    const open = function* (tx: Tx<string>): Step<string> {
      const text = textOf(yield* tx.get(STORED)) ?? 'none'
      tx.put(keyOf('count'), recordOf(text))
      tx.put(VOLATILE, recordOf(text))
      return text
    }
    watch(told, 'open', kv.write(open))
    await turn()
    watch(told, 'seen', kv.write(function* (tx) {
      const text = textOf(yield* tx.get(VOLATILE)) ?? ''
      tx.put(keyOf('seen'), recordOf(text))
      return text
    })) // prettier-ignore
    await turn()
    // Somebody else changes what the second has read: it runs again, and so must the third.
    await inner.commit([rivalWrite(STORED, 'rival')])
    await commits[0]?.succeed()
    assert.equal(commits[1]?.transactions.length, 1)
    await succeedAll(1)
    assert.deepEqual(told, ['first: undefined', 'open: rival', 'seen: rival'])
    assert.deepEqual(
      [await kv.read(get(VOLATILE)), await kv.read(get(keyOf('seen')))],
      ['rival', 'rival'],
    )
  })

  test('takes along, with a refused transaction, those that have seen volatile records behind it', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const told: string[] = []
    const copy = (name: string, from: Key, ...to: readonly Key[]) =>
      watch(told, name, kv.write(function* (tx) {
        const text = textOf(yield* tx.get(from)) ?? 'none'
        for (const key of to) tx.put(key, recordOf(text))
        return text
      })) // prettier-ignore
    copy('first', STORED, keyOf('a'))
    await turn()
    copy('second', keyOf('a'), keyOf('b'), VOLATILE)
    copy('third', VOLATILE, keyOf('c'))
    await turn()
    await inner.commit([rivalWrite(STORED, 'rival')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.deepEqual(told.toSorted(), ['first: rival', 'second: rival', 'third: rival'])
    assert.equal(await kv.read(get(keyOf('c'))), 'rival')
  })

  /** An engine whose first read takes as long as the test wants, and finds what was there when it began. */
  function openSlow() {
    const inner = openEngine('shared')
    let isFirst = true
    let end = (): void => {}
    const read: Engine['read'] = async (wanted) => {
      const found = await inner.read(wanted)
      if (isFirst) {
        isFirst = false
        await new Promise<void>((resolve) => {
          end = resolve
        })
      }
      return found
    }
    return { inner, kv: openKv<string>({ ...inner, read }), end: () => end() }
  }

  test('checks stored records that were read before volatile ones', async () => {
    const { kv, end } = openSlow()
    const reading = kv.write(readBoth)
    await turn()
    await kv.write(both('new'))
    end()
    assert.equal(await reading, 'new new')
  })

  test('checks stored records that volatile ones are made from', async () => {
    const { inner, kv, end } = openSlow()
    const copying = kv.write(function* (tx) {
      tx.put(VOLATILE, recordOf(textOf(yield* tx.get(STORED)) ?? 'none'))
    })
    await turn()
    await inner.commit([rivalWrite(STORED, 'rival')])
    end()
    await copying
    assert.equal(await kv.read(readBoth), 'rival rival')
  })

  test('takes back volatile changes of a body that is overtaken', async () => {
    const { kv, inner, succeedAll } = openHeld('shared')
    let runs = 0
    const writing = kv.write(function* (tx) {
      runs += 1
      const text = textOf(yield* tx.get(STORED))
      tx.put(STORED, recordOf('own'))
      // Only on what the rival has changed since.
      if (text === undefined) tx.put(VOLATILE, recordOf('never'))
    })
    await turn()
    await inner.commit([rivalWrite(STORED, 'rival')])
    await succeedAll(0)
    await writing
    assert.deepEqual(
      [runs, await kv.read(get(STORED)), await kv.read(get(VOLATILE))],
      [2, 'own', undefined],
    )
  })

  test('orders a change that was made without a look behind those made meanwhile', async () => {
    const { kv, commits, succeedAll } = openHeld('shared')
    const told: string[] = []
    // It has written the record, and then gives way.
    watch(told, 'blind', kv.write(function* (tx) {
      tx.put(VOLATILE, recordOf('blind'))
      spin(15)
      yield* giveWay()
    })) // prettier-ignore
    watch(told, 'both', kv.write(both('both')))
    await turn()
    await turn()
    assert.deepEqual([told, commits.length], [[], 1], 'it has overwritten what is not durable')
    await succeedAll(0)
    assert.deepEqual(told, ['both: undefined', 'blind: undefined'])
    assert.deepEqual([await kv.read(get(STORED)), await kv.read(get(VOLATILE))], ['both', 'blind'])
  })
})
