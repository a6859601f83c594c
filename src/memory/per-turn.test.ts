import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { perTurn } from './per-turn.ts'

test('callers of one turn share a read, those of the next turn get a new one', async () => {
  const keys: string[] = []
  const read = perTurn((key) => {
    keys.push(key)
    return Promise.resolve(keys.length)
  })
  assert.deepEqual(await Promise.all([read('a'), read('a'), read('b')]), [1, 1, 2])
  await setImmediate()
  assert.equal(await read('a'), 3)
  assert.deepEqual(keys, ['a', 'b', 'a'])
})

test('a failed read fails for its turn only', async () => {
  let count = 0
  const read = perTurn(() => {
    count += 1
    return count === 1 ? Promise.reject(new Error('away')) : Promise.resolve('back')
  })
  await Promise.all([assert.rejects(read('a'), /away/), assert.rejects(read('a'), /away/)])
  await setImmediate()
  assert.equal(await read('a'), 'back')
})
