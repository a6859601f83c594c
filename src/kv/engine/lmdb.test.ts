// What LMDB guarantees beyond the contract of an engine: commits survive, a full disk refuses them, files are private.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { newVersion, Texts, turn, valueOf } from './harness.ts'
import { openLmdbEngine, type LmdbSettings } from './lmdb.ts'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-lmdb-'))
  folders.push(folder)
  return folder
}

function open(folder: string, settings: LmdbSettings = {}) {
  const engine = openLmdbEngine(folder, settings)
  return { engine, texts: new Texts(engine, 'texts') }
}

for (const isShared of [false, true]) {
  describe(isShared ? 'LMDB, versions checked' : 'LMDB', () => {
    test('a reopened store has every acknowledged commit', async () => {
      const folder = newFolder()
      for (let opened = 0; opened < 3; opened += 1) {
        const { engine, texts } = open(folder, { isShared })
        const names = Array.from({ length: opened * 30 }, (_, n) => n)
        assert.deepEqual(await texts.names({ from: 0, to: 999 }), names)
        const commits = Array.from({ length: 30 }, (_, n) =>
          texts.write(
            texts.put(opened * 30 + n, String(opened)),
            texts.put('last', `${opened} ${n}`),
          ),
        )
        await Promise.all(commits)
        assert.equal(await texts.text('last'), `${opened} 29`)
        await engine.close()
      }
    })

    test('a full disk refuses commits, large ones first, and changes nothing', async () => {
      const disk = { freeBytes: 2 ** 30 }
      const { engine, texts } = open(newFolder(), { isShared, freeBytes: () => disk.freeBytes })
      const put = (name: string, lengthBytes: number) => texts.put(name, 'x'.repeat(lengthBytes))
      const lengths = async () => {
        const { keys } = await texts.found({ keys: ['before', 'large', 'small'] })
        return keys.map((text) => text?.length)
      }
      await texts.write(put('before', 10))
      disk.freeBytes = 1_100_000
      await assert.rejects(texts.write(put('before', 20), put('large', 100_000)), {
        code: 'ENOSPC',
      })
      await texts.write(put('small', 100))
      disk.freeBytes = 1_000_000
      await assert.rejects(texts.write(put('small', 200)), { code: 'ENOSPC' })
      assert.deepEqual(await lengths(), [10, undefined, 100])
      disk.freeBytes = 2 ** 30
      await texts.write(put('large', 100_000))
      assert.deepEqual(await lengths(), [10, 100_000, 100])
      await engine.close()
    })

    test('the check for a full disk adds up all transactions of a commit', async () => {
      const { engine, texts } = open(newFolder(), { isShared, freeBytes: () => 2_000_000 })
      const writes = (name: string) => [texts.put(name, 'x'.repeat(30_000))]
      await texts.engine.commit([{ writes: writes('a') }])
      const names = ['b', 'c', 'd']
      const commit = engine.commit(names.map((name) => ({ writes: writes(name) })))
      await assert.rejects(commit, { code: 'ENOSPC' })
      assert.deepEqual(await texts.names({ from: 'a', to: 'z' }), ['a'])
      await engine.close()
    })

    test('a commit that fails half-way stores nothing', async () => {
      const { engine, texts } = open(newFolder(), { isShared })
      await texts.fill('a')
      const tooLong = { ...texts.put('', ''), key: Buffer.alloc(5_000, 2) }
      const writes = [texts.put('a', 'never'), tooLong, texts.put('b', 'never')]
      await assert.rejects(engine.commit([{ writes: [texts.put('c', 'never')] }, { writes }]))
      // A commit in the background would be over after the next one.
      await texts.write(texts.put('d', 'after'))
      const keys = ['a', 'b', 'c', 'd']
      assert.deepEqual((await texts.found({ keys })).keys, ['a', undefined, undefined, 'after'])
      await engine.close()
    })

    test('free space is not queried before every commit while there is plenty', async () => {
      const queriedAt: number[] = []
      let now = 0
      const freeBytes = () => {
        queriedAt.push(now)
        return 2 ** 40
      }
      const { engine, texts } = open(newFolder(), { isShared, freeBytes, nowMs: () => now })
      for (; now < 250; now += 25) await texts.write(texts.put('a', 'a'))
      assert.deepEqual(queriedAt, [0, 100, 200])
      await engine.close()
    })

    test('closing waits until snapshots are released', async () => {
      const { engine, texts } = open(newFolder(), { isShared })
      await texts.fill('a')
      const [one, other] = [await engine.snapshot(), await engine.snapshot()]
      await texts.write(texts.put('a', 'later'))
      const state = { isClosed: false }
      const closing = engine.close().then(() => (state.isClosed = true))
      one.release()
      for (let turns = 0; turns < 5; turns += 1) await turn()
      assert.equal(state.isClosed, false)
      assert.deepEqual((await texts.found({ keys: ['a'] }, other)).keys, ['a'])
      other.release()
      await closing
    })

    test(
      'only the owner can access the files',
      { skip: process.platform === 'win32' },
      async () => {
        const folder = join(newFolder(), 'new', 'store')
        const { engine, texts } = open(folder, { isShared })
        await texts.fill('a')
        const modes = ['', 'data.mdb', 'lock.mdb'].map((name) => statSync(join(folder, name)).mode & 0o777) // prettier-ignore
        assert.deepEqual(modes, [0o700, 0o600, 0o600])
        await engine.close()
      },
    )

    test('the size is that of the file', async () => {
      const folder = newFolder()
      const { engine, texts } = open(folder, { isShared })
      await texts.write(texts.put('a', 'x'.repeat(2 ** 20)))
      assert.equal(engine.sizeBytes(), statSync(join(folder, 'data.mdb')).size)
      await engine.close()
    })
  })
}

describe('LMDB, versions checked', () => {
  test('a commit that fails half-way leaves values and versions as they were', async () => {
    const { engine, texts } = open(newFolder(), { isShared: true })
    const before = texts.put('a', 'before')
    await texts.write(before)
    const never = texts.put('a', 'never')
    const tooLong = { key: Buffer.alloc(5_000, 2), value: valueOf(''), version: newVersion() }
    await assert.rejects(engine.commit([{ writes: [never] }, { writes: [tooLong] }]))
    const { keys } = await engine.read({
      keys: [{ key: before.key, known: before.version }, { key: before.key, known: never.version }], // prettier-ignore
      ranges: [],
    })
    assert.equal(keys[0], 'unchanged')
    assert(typeof keys[1] === 'object' && keys[1].version === before.version)
    const reads = { keys: [{ key: before.key, version: before.version }], ranges: [] }
    const after = { reads, writes: [texts.put('a', 'after')] }
    assert.deepEqual(await engine.commit([after]), ['committed'])
    await engine.close()
  })

  test('records from an earlier process have a version that changes with their first write', async () => {
    const folder = newFolder()
    const first = open(folder, { isShared: true })
    await first.texts.fill('a', 'b')
    await first.engine.close()
    const { engine, texts } = open(folder, { isShared: true })
    const [a, b] = [await texts.readSet({ keys: ['a'] }), await texts.readSet({ keys: ['b'] })]
    await texts.write(texts.put('a', 'changed'))
    const verdicts = await engine.commit([
      { reads: a, writes: [] },
      { reads: b, writes: [] },
    ])
    assert.deepEqual([typeof verdicts[0], verdicts[1]], ['object', 'committed'])
    await engine.close()
  })
})

describe('replace', () => {
  const [one, two] = [Buffer.from('one'), Buffer.from('two')]

  test('changes a value only if it is the expected one', async () => {
    const { engine, texts } = open(newFolder())
    const key = texts.key('owner')
    const value = () => {
      const found = engine.local?.get(key, 'whole')
      return found && Buffer.from(found)
    }
    for (const [expected, next, isReplaced, after] of [
      [one, two, false, undefined],
      [undefined, one, true, one],
      [undefined, two, false, one],
      [two, two, false, one],
      [Buffer.from('on'), two, false, one],
      [one, two, true, two],
      [one, undefined, false, two],
      [two, undefined, true, undefined],
      [undefined, one, true, one],
    ] as const) {
      assert.equal(engine.replace(key, expected, next), isReplaced)
      assert.deepEqual(value(), after)
    }
    await engine.close()
  })

  test('is durable, also among commits under way', async () => {
    const folder = newFolder()
    const { engine, texts } = open(folder)
    const commits = Array.from({ length: 20 }, (_, n) => texts.write(texts.put('n', String(n))))
    assert(engine.replace(texts.key('owner'), undefined, valueOf('one')))
    await Promise.all(commits)
    assert(engine.replace(texts.key('owner'), valueOf('one'), valueOf('two')))
    await engine.close()
    const again = open(folder)
    assert.deepEqual((await again.texts.found({ keys: ['n', 'owner'] })).keys, ['19', 'two'])
    await again.engine.close()
  })
})
