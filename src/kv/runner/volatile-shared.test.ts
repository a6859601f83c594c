// Volatile records of a shared runner: the engine does not know them, so the runner orders and checks their changes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine } from '../engine/engine.ts'
import type { Key, Step, Tx } from '../kv.ts'
import { giveWay } from '../step.ts'
import {
  get,
  keyOf,
  openEngine,
  openHeld,
  put,
  putBoth,
  readBoth,
  recordOf,
  recordText,
  rivalWrite,
  spin,
  STORED,
  VOLATILE,
  watch,
  roundTrip,
} from './harness.ts'
import { openKv } from './runner.ts'

describe('a shared runner with volatile records', () => {
  test('does not commit a transaction together with one whose volatile records it has read', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const outcomes: string[] = []
    // The others wait while this one commits.
    watch(outcomes, 'first', kv.write(put(keyOf('first'), '')))
    await roundTrip()
    const open = function* (tx: Tx<string>): Step<string> {
      const text = recordText(yield* tx.get(STORED)) ?? 'none'
      tx.put(keyOf('count'), recordOf(text))
      tx.put(VOLATILE, recordOf(text))
      return text
    }
    watch(outcomes, 'open', kv.write(open))
    await roundTrip()
    watch(outcomes, 'seen', kv.write(function* (tx) {
      const text = recordText(yield* tx.get(VOLATILE)) ?? ''
      tx.put(keyOf('seen'), recordOf(text))
      return text
    })) // prettier-ignore
    await roundTrip()
    // Another writer changes what the second has read: it runs again, and so must the third.
    await inner.commit([rivalWrite(STORED, 'rival')])
    await commits[0]?.succeed()
    assert.equal(commits[1]?.transactions.length, 1)
    await succeedAll(1)
    assert.deepEqual(outcomes, ['first: undefined', 'open: rival', 'seen: rival'])
    assert.deepEqual(
      [await kv.read(get(VOLATILE)), await kv.read(get(keyOf('seen')))],
      ['rival', 'rival'],
    )
  })

  test('also retries those that depend on a refused transaction through volatile records', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const outcomes: string[] = []
    const copy = (name: string, from: Key, ...to: readonly Key[]) =>
      watch(outcomes, name, kv.write(function* (tx) {
        const text = recordText(yield* tx.get(from)) ?? 'none'
        for (const key of to) tx.put(key, recordOf(text))
        return text
      })) // prettier-ignore
    copy('first', STORED, keyOf('a'))
    await roundTrip()
    copy('second', keyOf('a'), keyOf('b'), VOLATILE)
    copy('third', VOLATILE, keyOf('c'))
    await roundTrip()
    await inner.commit([rivalWrite(STORED, 'rival')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.deepEqual(outcomes.toSorted(), ['first: rival', 'second: rival', 'third: rival'])
    assert.equal(await kv.read(get(keyOf('c'))), 'rival')
  })

  /** An engine whose first read ends when the test says so, and returns the state from when it began. */
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
    await roundTrip()
    await kv.write(putBoth('new'))
    end()
    assert.equal(await reading, 'new new')
  })

  test('checks stored records that volatile ones are derived from', async () => {
    const { inner, kv, end } = openSlow()
    const copying = kv.write(function* (tx) {
      tx.put(VOLATILE, recordOf(recordText(yield* tx.get(STORED)) ?? 'none'))
    })
    await roundTrip()
    await inner.commit([rivalWrite(STORED, 'rival')])
    end()
    await copying
    assert.equal(await kv.read(readBoth), 'rival rival')
  })

  test('undoes the volatile changes of an overtaken body', async () => {
    const { kv, inner, succeedAll } = openHeld('shared')
    let runs = 0
    const writing = kv.write(function* (tx) {
      runs += 1
      const text = recordText(yield* tx.get(STORED))
      tx.put(STORED, recordOf('own'))
      // Only in the runs before the rival's write.
      if (text === undefined) tx.put(VOLATILE, recordOf('never'))
    })
    await roundTrip()
    await inner.commit([rivalWrite(STORED, 'rival')])
    await succeedAll(0)
    await writing
    assert.deepEqual(
      [runs, await kv.read(get(STORED)), await kv.read(get(VOLATILE))],
      [3, 'own', undefined],
    )
  })

  test('orders a blind write after changes made meanwhile', async () => {
    const { kv, commits, succeedAll } = openHeld('shared')
    const outcomes: string[] = []
    // Writes the record, then gives way.
    watch(outcomes, 'blind', kv.write(function* (tx) {
      tx.put(VOLATILE, recordOf('blind'))
      spin(15)
      yield* giveWay()
    })) // prettier-ignore
    watch(outcomes, 'both', kv.write(putBoth('both')))
    await roundTrip()
    await roundTrip()
    assert.deepEqual(
      [outcomes, commits.length],
      [[], 1],
      'it has overwritten a record that is not durable',
    )
    await succeedAll(0)
    assert.deepEqual(outcomes, ['both: undefined', 'blind: undefined'])
    assert.deepEqual([await kv.read(get(STORED)), await kv.read(get(VOLATILE))], ['both', 'blind'])
  })
})
