// The contract of engines with one writer: local reads, which never wait.
import assert from 'node:assert/strict'
import type { Key } from '../kv.ts'
import { parseFields } from '../record.ts'
import type { Engine, Snapshot } from './engine.ts'
import { turn, valueOf, valueText, type Check, type Name } from './harness.ts'

export function localConformance(check: Check): void {
  const localOf = ({ local }: Engine | Snapshot) => {
    assert(local !== undefined)
    return local
  }

  check('local reads return the same as a read', async (texts) => {
    await texts.write(texts.put('a', 'first'), texts.put('b', ''), texts.put('c', 'third'))
    const keys = ['a', 'b', 'c', 'none']
    const ranges = [
      { from: 'a', to: 'c' },
      { from: 'a', to: 'z', reverse: true, countMax: 2 },
      { from: 'c', to: 'a' },
    ]
    const snapshot = await texts.engine.snapshot()
    for (const each of [texts.engine, snapshot]) {
      const local = localOf(each)
      const found = await each.read(texts.wanted({ keys, ranges }))
      assert.deepEqual(
        keys.map((name) => bytesOf(local.get(texts.key(name), 'whole'))),
        found.keys.map((entry) => (typeof entry === 'object' ? bytesOf(entry.value) : entry)),
      )
      assert.deepEqual(
        ranges.map((range) => Array.from(local.keys(texts.range(range)), (key) => texts.name(key))),
        found.ranges.map((entries) => entries.map(({ key }) => texts.name(key))),
      )
    }
    snapshot.release()
  })

  check('a local read of fields returns them, and perhaps the bytes behind them', async (texts) => {
    await texts.write(texts.put('a', 'first'))
    const local = localOf(texts.engine)
    const [whole, fields] = [
      local.get(texts.key('a'), 'whole'),
      local.get(texts.key('a'), 'fields'),
    ]
    assert(whole !== undefined && fields !== undefined)
    assert.deepEqual(parseFields(fields), { length: 5 })
    assert.deepEqual(bytesOf(fields), bytesOf(whole.subarray(0, fields.length)))
    assert.equal(local.get(texts.key('none'), 'fields'), undefined)
  })

  check('local reads see every commit acknowledged before them', async (texts) => {
    const local = localOf(texts.engine)
    const writer = async (name: Name): Promise<void> => {
      const key: Key = texts.key(name)
      const range = texts.range({ from: name, to: Number(name) + 1 })
      for (let n = 0; n < 20; n += 1) {
        local.get(key, 'whole')
        await texts.write(texts.put(name, String(n)))
        assert.deepEqual(bytesOf(local.get(key, 'whole')), bytesOf(valueOf(String(n))))
        await texts.write(texts.delete(name))
        assert.deepEqual([local.get(key, 'whole'), ...local.keys(range)], [undefined])
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, n) => writer(n)))
  })

  check('local snapshots keep their state too', async (texts) => {
    await texts.fill('a', 'b')
    const snapshot = await texts.engine.snapshot()
    const local = localOf(snapshot)
    await texts.write(texts.put('a', 'later'), texts.delete('b'), texts.put('c', 'c'))
    await turn()
    assert.deepEqual(bytesOf(local.get(texts.key('a'), 'whole')), bytesOf(valueOf('a')))
    const names = Array.from(local.keys(texts.range({ from: 'a', to: 'z' })), (key) => texts.name(key)) // prettier-ignore
    assert.deepEqual(names, ['a', 'b'])
    snapshot.release()
  })

  check('a local scan of keys may look up each of them', async (texts) => {
    const names = Array.from({ length: 50 }, (_, n) => n)
    await texts.write(...names.map((n) => texts.put(n, String(n))))
    const local = localOf(texts.engine)
    const found: string[] = []
    const held: Key[] = []
    for (const key of local.keys(texts.range({ from: 0, to: 50 }))) {
      held.push(key)
      const value = local.get(key, 'whole')
      if (value !== undefined) found.push(valueText(value))
    }
    assert.deepEqual(found, names.map(String))
    assert.deepEqual(held.map((key) => texts.name(key)), names, 'keys are the caller’s own') // prettier-ignore
  })

  check('work alone commits and returns its result', async (texts) => {
    const result = await texts.engine.alone(async (commit) => {
      assert.deepEqual(await commit([{ writes: [texts.put('a', 'alone')] }]), ['committed'])
      return 'done'
    })
    assert.deepEqual([result, await texts.text('a')], ['done', 'alone'])
    await assert.rejects(
      texts.engine.alone(() => Promise.reject(new Error('no'))),
      /^Error: no$/,
    )
    await texts.write(texts.put('a', 'after'))
    assert.equal(await texts.text('a'), 'after')
  })
}

function bytesOf(value: Uint8Array | undefined): Buffer | undefined {
  return value && Buffer.from(value)
}
