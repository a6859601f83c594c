import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { encodeKey } from '../../kv/key.ts'
import { prefixRange, type Step, type Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { leavingName, sweepHeldNames, takingName, type ReusedName } from './held-name.ts'

const NOW_MS = 1_800_000_000_000
const HELD = { kind: 'table', account: 'a', name: 'Name', reuseMs: 30_000 } as const

function* put(tx: Tx, value: string): Step<string> {
  tx.put(encodeKey('thing'), encodeRecord({ value }))
  return value
}

function openNames() {
  const kv = openMemoryKv()
  return {
    kv,
    take: (name: ReusedName, nowMs: number) =>
      kv.write((tx) => takingName(tx, name, nowMs, put(tx, 'taken'))),
    leave: (name: ReusedName, nowMs: number) =>
      kv.write((tx) => leavingName(tx, name, nowMs, put(tx, 'left'))),
    count: async () => {
      const range = { ...prefixRange(encodeKey('held-name')), countMax: 10_000 }
      return (await kv.read((tx) => tx.scan(range))).length
    },
  }
}

test('a name is held until its time ends, to the millisecond', async () => {
  const { take, leave } = openNames()
  assert.equal(await take(HELD, NOW_MS), 'taken')
  assert.equal(await leave(HELD, NOW_MS), 'left')
  const rejected = { code: 'TableBeingDeleted', status: 409 }
  await assert.rejects(take(HELD, NOW_MS), rejected)
  await assert.rejects(take({ ...HELD, name: 'NAME' }, NOW_MS + 29_999), rejected)
  assert.equal(await take(HELD, NOW_MS + 30_000), 'taken')
})

test('only that name of that kind in that account is held', async () => {
  const { take, leave } = openNames()
  await leave(HELD, NOW_MS)
  for (const other of [{ kind: 'queue' }, { account: 'b' }, { name: 'Named' }] as const) {
    assert.equal(await take({ ...HELD, ...other }, NOW_MS), 'taken')
  }
})

test('with a time of 0 nothing is stored, and existing records are ignored', async () => {
  const { take, leave, count } = openNames()
  await leave({ ...HELD, reuseMs: 0 }, NOW_MS)
  assert.equal(await count(), 0)
  await leave(HELD, NOW_MS)
  assert.equal(await take({ ...HELD, reuseMs: 0 }, NOW_MS), 'taken')
})

test('a sweep removes only names that are free again', async () => {
  const { kv, leave, take, count } = openNames()
  for (let i = 0; i < 1_200; i += 1) {
    await leave({ ...HELD, name: `n${i}` }, NOW_MS + (i % 2) * 1_000)
  }
  await sweepHeldNames(kv, NOW_MS + 29_999)
  assert.equal(await count(), 1_200)
  await sweepHeldNames(kv, NOW_MS + 30_000)
  assert.equal(await count(), 600)
  await assert.rejects(take({ ...HELD, name: 'n1' }, NOW_MS + 30_000), {
    code: 'TableBeingDeleted',
  })
  await sweepHeldNames(kv, NOW_MS + 31_000)
  assert.equal(await count(), 0)
})
