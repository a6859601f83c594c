// Cached records of a shared runner: their version says whether they are still current.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Engine, Wanted } from '../engine/engine.ts'
import { openLmdbEngine } from '../engine/lmdb.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { keyAfter, prefixRange, type ReadTx, type Step } from '../kv.ts'
import { encodeSharedRecord } from '../record.ts'
import { append, get, keyOf, put, recordText, rivalWrite } from './harness.ts'
import { openKv, versionsOf } from './runner.ts'

const CACHE = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }
const KEY = keyOf('n')
const [A, B] = [keyOf('a'), keyOf('b')]
const ALL = { ...prefixRange(encodeKey('k')), countMax: 99 }

const openShared = () => openMemoryEngine({ isShared: true })

describe('a cached record', () => {
  test('is used as long as the engine reports it unchanged', async () => {
    const engine = openShared()
    const wanted: Wanted[] = []
    const kv = openKv<string>(
      { ...engine, read: (each) => (wanted.push(each), engine.read(each)) },
      { cache: CACHE },
    )
    const other = openKv<string>(engine, { cache: CACHE, nextVersion: versionsOf(2) })
    await other.write(put(KEY, 'first'))
    const read = () => kv.read((tx) => tx.get(KEY))
    const known = () => wanted.at(-1)?.keys[0]?.known !== undefined
    assert.deepEqual([recordText(await read()), known()], ['first', false])
    const kept = await read()
    assert.equal(await read(), kept)
    assert.deepEqual([recordText(kept), known()], ['first', true])
    await other.write(put(KEY, 'second'))
    const changed = await read()
    assert.deepEqual([recordText(changed), known()], ['second', true])
    assert.equal(await read(), changed)
    await other.write(function* (tx) {
      tx.delete(KEY)
    })
    assert.equal(await read(), undefined)
  })

  test('is used in scans as long as the scan finds its version', async () => {
    const engine = openShared()
    const kv = openKv<string>(engine, { cache: CACHE })
    const scan = async () => (await kv.read((tx) => tx.scan(ALL))).map(({ value }) => value)
    await engine.commit([rivalWrite(A, 'a'), rivalWrite(B, 'b')])
    await scan()
    const kept = await scan()
    assert.deepEqual(kept.map(recordText), ['a', 'b'])
    const again = await scan()
    assert.deepEqual([again[0] === kept[0], again[1] === kept[1]], [true, true])
    await engine.commit([rivalWrite(B, 'changed')])
    const changed = await scan()
    assert.deepEqual(changed.map(recordText), ['a', 'changed'])
    assert.equal(changed[0], kept[0])
  })

  test('is not used by a writer after another runner has changed it', async () => {
    const engine = openShared()
    const runners = [1, 2].map((number) =>
      openKv<string>(engine, { cache: CACHE, nextVersion: versionsOf(number) }),
    )
    let expected = ''
    for (let n = 0; n < 20; n += 1) {
      expected += String(n % 10)
      assert.equal(await runners[n % 2]?.write(append(KEY, String(n % 10))), expected)
      for (const runner of runners) assert.equal(await runner.read(get(KEY)), expected)
    }
  })

  test('is the record last written, with the version of that write', async () => {
    const engine = openShared()
    const kv = openKv<string>(engine, { cache: CACHE })
    const fields = [{ n: 0 }, { n: 1 }]
    for (const each of fields) {
      await kv.write(function* (tx) {
        tx.put(KEY, encodeSharedRecord(each))
      })
      for (let again = 0; again < 2; again += 1) await kv.read((tx) => tx.get(KEY))
    }
    assert.equal((await kv.read((tx) => tx.get(KEY)))?.fields, fields[1])
    await engine.commit([{ writes: [{ key: KEY, value: encodeSharedRecord({ n: 2 }).value, version: 1 }] }]) // prettier-ignore
    assert.deepEqual((await kv.read((tx) => tx.get(KEY)))?.fields, { n: 2 })
  })

  const folders: string[] = []
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))
  const openLmdb = (): Engine => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-shared-'))
    folders.push(folder)
    return openLmdbEngine(folder, { isShared: true })
  }
  for (const [name, open] of [
    ['LMDB', openLmdb],
    ['memory', openShared],
  ] as const) {
    // prettier-ignore
    test(`is never used for a snapshot of another state: ${name}`, async () => {
      const engine = open()
      const kv = openKv<string>(engine, { cache: CACHE })
      const keys = Array.from({ length: 8 }, (_, n) => keyOf(n))
      // Enough round trips to need a snapshot.
      const readAll = function* (tx: ReadTx): Step<readonly unknown[]> {
        const found: unknown[] = []
        for (const key of keys) {
          const entries = yield* tx.scan({ from: key, to: keyAfter(key), countMax: 1 })
          found.push(...entries.map(({ value }) => recordText(value)))
        }
        for (const key of keys) found.push(recordText(yield* tx.get(key)))
        return found
      }
      for (const text of ['a', 'b', 'c']) {
        await engine.commit(keys.map((key) => rivalWrite(key, text)))
        for (let again = 0; again < 3; again += 1) {
          assert.deepEqual(await kv.read(readAll), Array.from({ length: 16 }, () => text))
        }
      }
      await kv.close()
    })
  }
})
