import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { severalAtOnce } from './several-at-once.ts'

test('a few run at once, and all of them run', async () => {
  let [running, most, done] = [0, 0, 0]
  await severalAtOnce(Array.from({ length: 100 }), async () => {
    running += 1
    most = Math.max(most, running)
    await setImmediate()
    running -= 1
    done += 1
  })
  assert.deepEqual([most, done], [8, 100])
})

test('after an error nothing more begins, and what has begun ends first', async () => {
  const begun: number[] = []
  const ended: number[] = []
  const working = severalAtOnce([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], async (at) => {
    begun.push(at)
    if (at === 1) throw new Error('wrong')
    await setImmediate()
    ended.push(at)
  })
  await assert.rejects(working, /wrong/)
  assert.equal(ended.length, begun.length - 1)
  assert(begun.length < 10)
})
