// Volatile records: they end with the process, never reach the engine, and take part in transactions like stored ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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
  OPENS,
  put,
  putBoth,
  readBoth,
  readVolatileFirst,
  recordOf,
  recordText,
  RUNNER_KINDS,
  spin,
  STORED,
  VOLATILE,
  watch,
  roundTrip,
} from './harness.ts'
import { openKv, versionsOf } from './runner.ts'

const FILES = { ...prefixRange(encodeKey('k')), countMax: 9 }

for (const kind of RUNNER_KINDS) {
  describe(`volatile records of a ${kind} runner`, () => {
    test('are not in the engine, and absent in the next process', async () => {
      const engine = openEngine(kind)
      const kv = openKv<string>(engine)
      await kv.write(putBoth('here'))
      assert.equal(await kv.read(readBoth), 'here here')
      const { keys } = await engine.read({ keys: [{ key: STORED }, { key: VOLATILE }], ranges: [] })
      assert.deepEqual([typeof keys[0], keys[1]], ['object', undefined])
      assert.equal(
        await openKv(engine, { nextVersion: versionsOf(2) }).read(readBoth),
        'here undefined',
      )
    })

    test('are read, scanned in both directions and deleted like stored ones', async () => {
      const { kv, commits } = openHeld(kind)
      const scans = function* (tx: ReadTx): Step<unknown> {
        const up = (yield* tx.scan(OPENS)).map(({ value }) => recordText(value))
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
      assert.equal(await openKv(engine, { nextVersion: versionsOf(2) }).read(get(key)), 'here')
    })

    test('do not keep a larger buffer alive', async () => {
      const kv = openKv<string>(openEngine(kind))
      await kv.write(put(VOLATILE, 'text'))
      const record = await kv.read((tx) => tx.get(VOLATILE))
      assert.equal(record?.value.buffer.byteLength, record?.value.length)
    })

    test('are unchanged when a body throws', async () => {
      const kv = openKv<string>(openEngine(kind))
      const events: string[] = []
      kv.listen((event) => events.push(event))
      await kv.write(putBoth('before'))
      const failing = kv.write(function* (tx) {
        tx.put(VOLATILE, recordOf('after'))
        tx.put(STORED, recordOf('after'))
        tx.announce('changed')
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual([await kv.read(readBoth), events], ['before before', []])
    })

    test('lose no concurrent change', async () => {
      const kv = openKv<string>(openEngine(kind))
      const adding = Array.from({ length: 100 }, (_, n) =>
        kv.write(function* (tx) {
          const letters = recordText(yield* tx.get(VOLATILE)) ?? ''
          tx.put(VOLATILE, recordOf(`${letters}x`))
          if (n % 3 === 0) yield* append(STORED, 'x')(tx)
        }),
      )
      await Promise.all(adding)
      assert.equal(await kv.read(readBoth), `${'x'.repeat(34)} ${'x'.repeat(100)}`)
    })
  })

  describe(`while a ${kind} runner commits a change to both kinds`, () => {
    test('a transaction on other volatile records ends at once', async () => {
      const { kv, commits } = openHeld(kind)
      const slow = kv.write(putBoth('slow'))
      await roundTrip()
      const other = volatileKey('open', 2)
      await kv.write(put(other, 'quick'))
      assert.equal(await kv.write(get(other)), 'quick')
      assert.equal(commits.length, 1)
      await commits[0]?.succeed()
      await slow
      assert.equal(await kv.read(get(other)), 'quick')
    })

    const waiting: readonly (readonly [string, (tx: Tx<string>) => Step<unknown>])[] = [
      ['reads the same volatile record', (tx) => tx.get(VOLATILE)],
      ['scans the same volatile record', (tx) => tx.scan(OPENS)],
      ['overwrites the same volatile record', put(VOLATILE, 'other')],
      ['reads the same stored record', (tx) => tx.get(STORED)],
      ['scans the same stored record', (tx) => tx.scan(FILES)],
    ]
    for (const [what, touching] of waiting) {
      /** A commit under way, and a transaction behind it. */
      const start = async () => {
        const held = openHeld(kind)
        const outcomes: string[] = []
        watch(outcomes, 'slow', held.kv.write(putBoth('slow')))
        await roundTrip()
        watch(outcomes, 'behind', held.kv.write(function* (tx) {
          yield* touching(tx)
          tx.put(volatileKey('open', 2), recordOf('behind'))
        })) // prettier-ignore
        await roundTrip()
        return { ...held, outcomes }
      }

      test(`a transaction that ${what} waits for the commit`, async () => {
        const { kv, commits, succeedAll, outcomes } = await start()
        assert.deepEqual(outcomes, [])
        await succeedAll(0)
        assert.deepEqual(outcomes, ['slow: undefined', 'behind: undefined'])
        assert.equal(await kv.read(get(volatileKey('open', 2))), 'behind')
        assert(commits.length <= 2)
      })

      test(`a transaction that ${what} fails with the commit`, async () => {
        const { kv, commits, outcomes } = await start()
        await commits[0]?.fail()
        const full = 'failed: Error: the disk is full'
        assert.deepEqual(outcomes, [`slow ${full}`, `behind ${full}`])
        assert.deepEqual(await kv.read((tx) => tx.scan(OPENS)), [])
      })
    }

    test('a reader of both kinds waits, and sees both changes or fails with them', async () => {
      for (const end of ['succeed', 'fail'] as const) {
        const { kv, commits, succeedAll } = openHeld(kind)
        const outcomes: string[] = []
        watch(outcomes, 'slow', kv.write(putBoth('slow')))
        await roundTrip()
        watch(outcomes, 'reader', kv.read(readBoth))
        watch(outcomes, 'throwing', kv.read(function* (tx) {
          throw new Error(yield* readBoth(tx))
        })) // prettier-ignore
        await roundTrip()
        assert.deepEqual(outcomes, [])
        await commits[0]?.[end]()
        await succeedAll(1)
        const full = 'failed: Error: the disk is full'
        assert.match(outcomes[0] ?? '', /^slow/)
        assert.deepEqual(
          outcomes.toSorted(),
          end === 'fail'
            ? [`reader ${full}`, `slow ${full}`, `throwing ${full}`]
            : ['reader: slow slow', 'slow: undefined', 'throwing failed: Error: slow slow'],
        )
      }
    })

    test('a reader of other records does not wait', async () => {
      const { kv, commits } = openHeld(kind)
      watch([], 'slow', kv.write(putBoth('slow')))
      await roundTrip()
      assert.equal(await kv.read(get(keyOf('other'))), undefined)
      assert.equal(commits.length, 1)
    })

    test('a change to a record that it only read ends at once, and readers of both kinds wait', async () => {
      const { kv, succeedAll } = openHeld(kind)
      const outcomes: string[] = []
      watch(outcomes, 'slow', kv.write(function* (tx) {
        const open = recordText(yield* tx.get(VOLATILE)) ?? 'closed'
        tx.put(STORED, recordOf(open))
      })) // prettier-ignore
      await roundTrip()
      await kv.write(put(VOLATILE, 'open'))
      watch(outcomes, 'reader', kv.read(readBoth))
      watch(outcomes, 'backwards', kv.read(readVolatileFirst))
      await roundTrip()
      assert.equal(await kv.read(get(VOLATILE)), 'open')
      assert.deepEqual(outcomes, [], 'slow precedes the change and is not durable yet')
      await succeedAll(0)
      assert.equal(outcomes[0], 'slow: undefined')
      assert.deepEqual(outcomes.toSorted().slice(0, 2), [
        'backwards: closed open',
        'reader: closed open',
      ])
    })

    test('nothing waits for it once it has ended', async () => {
      const { kv, commits, succeedAll } = openHeld(kind)
      watch([], 'slow', kv.write(putBoth('slow')))
      await succeedAll(0)
      await kv.write(function* (tx) {
        yield* tx.get(VOLATILE)
        tx.put(VOLATILE, recordOf('changed'))
      })
      assert.equal(commits.length, 1)
    })
  })

  describe(`a failed commit of a ${kind} runner`, () => {
    test('undoes additions, changes and deletions', async () => {
      const { kv, commits } = openHeld(kind)
      const events: string[] = []
      kv.listen((event) => events.push(event))
      const [changed, deleted] = [volatileKey('open', 8), volatileKey('open', 9)]
      await kv.write(function* (tx) {
        for (const key of [changed, deleted]) tx.put(key, recordOf('before'))
      })
      const failing = kv.write(function* (tx) {
        yield* putBoth('new')(tx)
        tx.put(changed, recordOf('after'))
        tx.delete(deleted)
        tx.announce('changed')
      })
      await roundTrip()
      await Promise.all([assert.rejects(failing, /the disk is full/), commits[0]?.fail()])
      const found = await Promise.all(
        [VOLATILE, changed, deleted, STORED].map((key) => kv.read(get(key))),
      )
      assert.deepEqual(found, [undefined, 'before', 'before', undefined])
      assert.deepEqual(events, [])
      await kv.write(put(VOLATILE, 'at once'))
      assert.equal(commits.length, 1, 'its changes block nothing')
    })

    test('undoes only what was not durable, and no change by others', async () => {
      const { kv, commits } = openHeld(kind)
      const other = volatileKey('open', 2)
      watch([], 'first', kv.write(putBoth('first')))
      await roundTrip()
      watch([], 'second', kv.write(putBoth('second')))
      await kv.write(put(other, 'other'))
      await roundTrip()
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
    test(`are of one state for every reader: ${name}`, async () => {
      const engine = open()
      const kv = openKv<string>(engine)
      const rival = openKv<string>(engine, { nextVersion: versionsOf(2) })
      await kv.write(putBoth('0'))
      const keys: readonly Key[] = [VOLATILE, STORED]
      const state = { isWriting: true }
      const writes = Array.from({ length: 60 }, (_, n) =>
        kv.write(function* (tx) {
          // Reads make the runner wait, and the rival overtakes it.
          yield* tx.get(keyOf('rival'))
          const text = recordText(yield* tx.get(STORED))
          assert.equal(recordText(yield* tx.get(VOLATILE)), text)
          for (const key of keys) tx.put(key, recordOf(`${n}`))
        }),
      )
      const rivals = Array.from({ length: engine.local === undefined ? 20 : 0 }, (_, n) =>
        rival.write(put(keyOf('rival'), String(n))),
      )
      const written = Promise.all([...writes, ...rivals]).finally(() => (state.isWriting = false))
      let seen = 0
      while (state.isWriting) {
        const reads = [kv.read(readBoth), kv.write(readBoth), kv.read(readVolatileFirst)]
        for (const found of await Promise.all(reads)) {
          const [stored, held] = found.split(' ')
          assert.equal(stored, held)
          seen += 1
        }
        await roundTrip()
      }
      await written
      assert(seen > 0)
    })
  }

  test('are of one state for a long reader of records changed meanwhile', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(put(keyOf('first'), '')))
    // Still in the queue when the reader could take its snapshot.
    watch(outcomes, 'copy', kv.write(function* (tx) {
      const open = (yield* tx.scan(OPENS)).length > 0 ? 'open' : 'closed'
      tx.put(STORED, recordOf(open))
    })) // prettier-ignore
    await kv.write(put(VOLATILE, 'open'))
    watch(outcomes, 'reader', kv.read(function* (tx) {
      for (let again = 0; again < 3; again += 1) {
        spin(15)
        yield* giveWay()
      }
      return yield* readBoth(tx)
    })) // prettier-ignore
    await roundTrip()
    await commits[0]?.succeed()
    for (let turns = 0; turns < 5; turns += 1) await roundTrip()
    assert.deepEqual(outcomes, ['first: undefined'])
    await succeedAll(1)
    for (let turns = 0; turns < 20 && outcomes.length < 3; turns += 1) await roundTrip()
    assert.deepEqual(outcomes.slice(1), ['copy: undefined', 'reader: closed open'])
  })

  test('are of one state for a long reader during a commit', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    watch([], 'first', kv.write(putBoth('first')))
    await succeedAll(0)
    const read = (): Promise<string> =>
      kv.read(function* (tx) {
        const held = recordText(yield* tx.get(VOLATILE))
        for (let again = 0; again < 3; again += 1) {
          spin(15)
          yield* giveWay()
        }
        return `${recordText(yield* tx.get(STORED))} ${held}`
      })
    const reading = read()
    watch([], 'second', kv.write(putBoth('second')))
    const behind = read()
    const outcomes: string[] = []
    watch(outcomes, 'reader', reading)
    watch(outcomes, 'reader behind', behind)
    for (let turns = 0; turns < 5; turns += 1) await roundTrip()
    assert.deepEqual(outcomes, [], 'a snapshot waits for the commit under way')
    await commits[1]?.succeed()
    await Promise.all([reading, behind])
    assert.deepEqual(outcomes, ['reader: second second', 'reader behind: second second'])
  })
})
