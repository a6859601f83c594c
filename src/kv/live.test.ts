// The live part of a store: gone with the process, unseen by the engine, and one with the durable part in
// every transaction.
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { kvConformance } from './conformance.ts'
import { encodeKey } from './key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from './kv.ts'
import { liveKey, mayHaveLive, openLiveKv, type LiveKv } from './live.ts'
import { openLmdbKv } from './lmdb.ts'
import { openMemoryKv } from './memory.ts'
import { bufferWrites, runStraight } from './transaction.ts'

function overLive(engine: Kv): Kv {
  const { read, write } = openLiveKv<never>(engine)
  return { ...engine, read, write }
}

kvConformance('a live store on memory', async () => overLive(openMemoryKv()))
kvConformance('a live store on LMDB', async () =>
  overLive(openLmdbKv(mkdtempSync(join(tmpdir(), 'lazuli-live-')))),
)

const bytes = (text: string) => Buffer.from(text)
const text = (value: Uint8Array | undefined) => value && Buffer.from(value).toString()

function* put(tx: Tx, key: Key, value: string): Step<void> {
  tx.put(key, bytes(value))
}

function get(kv: Pick<Kv, 'read'> | LiveKv<unknown>, key: Key): Promise<string | undefined> {
  return kv.read(function* (tx: ReadTx) {
    return text(yield* tx.get(key))
  })
}

const LIVE = liveKey('open', 1)
const DURABLE = encodeKey('file', 1)

/** An engine whose commits end when the test says so, well or badly. */
function heldEngine() {
  const engine = openMemoryKv()
  const commits: { succeed(): void; fail(): void }[] = []
  const kv: Kv = {
    ...engine,
    write: <T>(body: (tx: Tx) => Step<T>) =>
      new Promise<T>((resolve, reject) => {
        // The body has run and nothing of it can be read yet: this is the time of a sync.
        void engine.read(function* (reads) {
          const tx = bufferWrites(reads)
          const value = runStraight(body(tx))
          const commit = function* (into: Tx): Step<void> {
            for (const write of tx.writes().values()) {
              if (write.value === undefined) into.delete(write.key)
              else into.put(write.key, write.value)
            }
          }
          commits.push({
            succeed: () => void engine.write(commit).then(() => resolve(value)),
            fail: () => reject(new Error('the disk is full')),
          })
        })
      }),
  }
  return { kv, engine, commits }
}

describe('live records', () => {
  test('are not in the engine, and not there for the next process', async () => {
    const engine = openMemoryKv()
    const kv = openLiveKv<never>(engine)
    await kv.write(function* (tx) {
      yield* put(tx, LIVE, 'live')
      yield* put(tx, DURABLE, 'durable')
    })
    assert.deepEqual([await get(kv, LIVE), await get(kv, DURABLE)], ['live', 'durable'])
    assert.deepEqual([await get(engine, LIVE), await get(engine, DURABLE)], [undefined, 'durable'])
    const next = openLiveKv<never>(engine)
    assert.deepEqual([await get(next, LIVE), await get(next, DURABLE)], [undefined, 'durable'])
  })

  test('are read, scanned both ways and deleted as others are', async () => {
    const kv = openLiveKv<never>(openMemoryKv())
    await kv.writeLive(function* (tx) {
      for (const n of [2, 1, 3]) yield* put(tx, liveKey('open', n), String(n))
      tx.delete(liveKey('open', 2))
    })
    const range = { ...prefixRange(liveKey('open')), countMax: 9 }
    const found = await kv.read(function* (tx) {
      const up = (yield* tx.scan(range)).map(({ value }) => text(value))
      const down = yield* tx.scanWith({ ...range, reverse: true }, (_, value) =>
        text(value.bytes()),
      )
      return { up, down }
    })
    assert.deepEqual(found, { up: ['1', '3'], down: ['3', '1'] })
  })

  test('a key that only begins with the same letters is durable', async () => {
    const engine = openMemoryKv()
    await openLiveKv<never>(engine).write((tx) => put(tx, encodeKey('lively'), 'here'))
    assert.equal(await get(engine, encodeKey('lively')), 'here')
  })

  test('a read has nothing to write with', async () => {
    const kv = openLiveKv<never>(openMemoryKv())
    await kv.read(function* (tx) {
      for (const name of ['put', 'delete', 'announce']) assert(!(name in tx), name)
    })
  })
})

/** What `mayHaveLive` says to a read, a write and a live body. */
function* asked(tx: ReadTx): Step<boolean> {
  return mayHaveLive(tx)
}

describe('whether there may be a live record', () => {
  const ask = async (kv: LiveKv<never>) => [
    await kv.read(asked),
    await kv.write(asked),
    await kv.writeLive(asked),
  ]

  test('is known: none at first, some, and none again', async () => {
    const kv = openLiveKv<never>(openMemoryKv())
    await kv.write((tx) => put(tx, DURABLE, 'durable'))
    assert.deepEqual(await ask(kv), [false, false, false])
    await kv.writeLive((tx) => put(tx, LIVE, 'live'))
    assert.deepEqual(await ask(kv), [true, true, true])
    await kv.writeLive(function* (tx) {
      tx.delete(LIVE)
    })
    assert.deepEqual(await ask(kv), [false, false, false])
  })

  test('a body sees its own', async () => {
    const kv = openLiveKv<never>(openMemoryKv())
    const body = function* (tx: Tx): Step<readonly boolean[]> {
      const before = mayHaveLive(tx)
      yield* put(tx, LIVE, 'live')
      const after = mayHaveLive(tx)
      tx.delete(LIVE)
      return [before, after]
    }
    assert.deepEqual(await kv.write(body), [false, true])
    assert.deepEqual(await kv.writeLive(body), [false, true])
  })

  test('one that a commit under way has removed may come back', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<never>(engine)
    await kv.writeLive((tx) => put(tx, LIVE, 'live'))
    const removing = kv.write(function* (tx) {
      tx.delete(LIVE)
      yield* put(tx, DURABLE, 'durable')
    })
    assert.equal(await kv.writeLive(asked), true)
    commits[0]?.succeed()
    await removing
    assert.equal(await kv.writeLive(asked), false)
  })

  test('of another store nothing is known', async () => {
    assert.equal(await openMemoryKv().read(asked), true)
  })
})

describe('a body that throws', () => {
  for (const how of ['write', 'writeLive'] as const) {
    test(`changes neither part and tells nothing (${how})`, async () => {
      const kv = openLiveKv<string>(openMemoryKv())
      const told: string[] = []
      kv.listen((event) => told.push(event))
      const failing = kv[how](function* (tx) {
        yield* put(tx, LIVE, 'live')
        if (how === 'write') yield* put(tx, DURABLE, 'durable')
        tx.announce('changed')
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual([await get(kv, LIVE), await get(kv, DURABLE)], [undefined, undefined])
      assert.deepEqual(told, [])
    })
  }
})

describe('while another transaction is being committed', () => {
  test('one that touches only live records is done at once', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<never>(engine)
    const slow = kv.write((tx) => put(tx, DURABLE, 'slow'))
    await kv.writeLive((tx) => put(tx, LIVE, 'live'))
    assert.equal(await get(kv, LIVE), 'live')
    assert.equal(commits.length, 1)
    commits[0]?.succeed()
    await slow
  })

  test('one that reads other durable records too is done at once', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<never>(engine)
    const slow = kv.write((tx) => put(tx, DURABLE, 'slow'))
    await kv.writeLive(function* (tx) {
      yield* tx.get(encodeKey('file', 2))
      yield* put(tx, LIVE, 'live')
    })
    assert.equal(commits.length, 1)
    commits[0]?.succeed()
    await slow
  })

  const others: readonly (readonly [string, (tx: Tx) => Step<unknown>])[] = [
    ['gets', (tx) => tx.get(LIVE)],
    ['scans', (tx) => tx.scan({ ...prefixRange(liveKey('open')), countMax: 9 })],
    ['writes', (tx) => put(tx, LIVE, 'other')],
  ]
  for (const [how, touching] of others) {
    test(`one that ${how} the live part of it waits: it may yet be taken back`, async () => {
      const { kv: engine, commits } = heldEngine()
      const kv = openLiveKv<never>(engine)
      const slow = kv.write(function* (tx) {
        yield* put(tx, DURABLE, 'slow')
        yield* put(tx, LIVE, 'slow')
      })
      const behind = kv.writeLive(touching)
      await untilTrue(() => commits.length === 2)
      for (const commit of commits) commit.succeed()
      await Promise.all([slow, behind])
    })
  }

  const reads: readonly (readonly [string, (tx: ReadTx) => Step<unknown>])[] = [
    ['gets', (tx) => tx.get(DURABLE)],
    ['scans', (tx) => tx.scan({ ...prefixRange(encodeKey('file')), countMax: 9 })],
    ['picks', (tx) => tx.scanWith({ ...prefixRange(encodeKey('file')), countMax: 9 }, () => 0)],
  ]
  for (const [how, reading] of reads) {
    test(`one that ${how} what is committed takes its turn behind it`, async () => {
      const { kv: engine, commits } = heldEngine()
      const kv = openLiveKv<never>(engine)
      const order: string[] = []
      const slow = kv.write((tx) => put(tx, DURABLE, 'slow')).then(() => order.push('slow'))
      const behind = kv
        .writeLive(function* (tx) {
          yield* reading(tx)
          yield* put(tx, LIVE, 'behind')
        })
        .then(() => order.push('behind'))
      await untilTrue(() => commits.length === 2)
      for (const commit of commits) commit.succeed()
      await Promise.all([slow, behind])
      assert.deepEqual(order, ['slow', 'behind'])
    })
  }

  test('once it is committed, nobody waits for it', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<never>(engine)
    const slow = kv.write((tx) => put(tx, DURABLE, 'slow'))
    commits[0]?.succeed()
    await slow
    const seen = await kv.writeLive(function* (tx) {
      return text(yield* tx.get(DURABLE))
    })
    assert.deepEqual([seen, commits.length], ['slow', 1])
  })

  test('a live body that writes something durable after all is a transaction like any other', async () => {
    const engine = openMemoryKv()
    const kv = openLiveKv<never>(engine)
    await kv.writeLive(function* (tx) {
      yield* put(tx, LIVE, 'live')
      yield* put(tx, DURABLE, 'durable')
    })
    assert.deepEqual([await get(kv, LIVE), await get(engine, DURABLE)], ['live', 'durable'])
  })

  test('a live body that deletes something durable does, too', async () => {
    const engine = openMemoryKv()
    const kv = openLiveKv<never>(engine)
    await kv.write((tx) => put(tx, DURABLE, 'durable'))
    await kv.writeLive(function* (tx) {
      tx.delete(DURABLE)
    })
    assert.equal(await get(engine, DURABLE), undefined)
  })
})

describe('a commit that fails', () => {
  test('takes back the live part: what was new goes, what was changed or deleted is as before', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<string>(engine)
    const told: string[] = []
    kv.listen((event) => told.push(event))
    const [old, gone] = [liveKey('open', 8), liveKey('open', 9)]
    await kv.writeLive(function* (tx) {
      for (const key of [old, gone]) yield* put(tx, key, 'before')
    })
    const failing = kv.write(function* (tx) {
      yield* put(tx, DURABLE, 'durable')
      yield* put(tx, LIVE, 'new')
      yield* put(tx, old, 'changed')
      tx.delete(gone)
      tx.announce('changed')
    })
    commits[0]?.fail()
    await assert.rejects(failing, /the disk is full/)
    const found = await Promise.all([LIVE, old, gone, DURABLE].map((key) => get(kv, key)))
    assert.deepEqual(found, [undefined, 'before', 'before', undefined])
    assert.deepEqual(told, [])
    // What it had written holds nobody up.
    await kv.writeLive(function* (tx) {
      yield* tx.get(DURABLE)
    })
    assert.equal(commits.length, 1)
  })
})

describe('events', () => {
  test('are told in order when the commit is done, not before', async () => {
    const { kv: engine, commits } = heldEngine()
    const kv = openLiveKv<string>(engine)
    const told: string[] = []
    const stop = kv.listen((event) => told.push(event))
    const writing = kv.write(function* (tx) {
      yield* put(tx, DURABLE, 'durable')
      tx.announce('first')
      tx.announce('second')
    })
    assert.deepEqual(told, [])
    commits[0]?.succeed()
    await writing
    assert.deepEqual(told, ['first', 'second'])
    stop()
    await kv.writeLive(function* (tx) {
      tx.announce('nobody hears it')
    })
    assert.equal(told.length, 2)
  })

  test('of a live body are told when it is done, to every listener', async () => {
    const kv = openLiveKv<string>(openMemoryKv())
    const told: string[] = []
    kv.listen((event) => told.push(`a ${event}`))
    kv.listen((event) => told.push(`b ${event}`))
    await kv.writeLive(function* (tx) {
      tx.announce('released')
    })
    assert.deepEqual(told, ['a released', 'b released'])
  })

  test('of a body that was tried at once and then waited are told once', async () => {
    const kv = openLiveKv<string>(openMemoryKv())
    const told: string[] = []
    kv.listen((event) => told.push(event))
    await kv.writeLive(function* (tx) {
      tx.announce('closed')
      yield* put(tx, DURABLE, 'durable')
    })
    assert.deepEqual(told, ['closed'])
  })

  test('what a listener throws takes nothing back', async () => {
    const kv = openLiveKv<string>(openMemoryKv())
    kv.listen(() => {
      throw new Error('a listener')
    })
    const written = kv.write(function* (tx) {
      yield* put(tx, LIVE, 'live')
      yield* put(tx, DURABLE, 'durable')
      tx.announce('closed')
    })
    await assert.rejects(written, /a listener/)
    assert.deepEqual([await get(kv, LIVE), await get(kv, DURABLE)], ['live', 'durable'])
  })
})

/** For what the event loop brings about by itself, turn by turn. */
async function untilTrue(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !isTrue(); turn += 1) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert(isTrue(), 'it never came to this')
}
