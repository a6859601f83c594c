import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../shared/error.ts'
import { queueWorld, QUEUE, SECOND_MS, type QueueWorld } from './harness.ts'
import { listHeldMessages, makeMessageVisible } from './held.ts'

function list({ kv, now }: QueueWorld, countMax = 1_000) {
  return listHeldMessages(kv, { countMax, queuesMax: 1_000, nowMs: now.ms })
}

function makeVisible({ kv, now }: QueueWorld, messageId: string, queue = QUEUE) {
  return kv.write((tx) => makeMessageVisible(tx, queue, messageId, now.ms))
}

test('messages that a get has hidden are listed until their time is over', async () => {
  const world = await queueWorld()
  await world.put('visible later', { delayMs: 60 * SECOND_MS })
  const put = await world.put('got')
  await world.put('visible')
  await world.get(1, 30 * SECOND_MS)
  const { messages, isCut } = await list(world)
  assert.equal(isCut, false)
  assert.deepEqual(
    messages.map(({ dequeueCount, visibleAtMs, account, queue }) => [
      dequeueCount,
      visibleAtMs - world.now.ms,
      account,
      queue,
    ]),
    [
      [1, 30 * SECOND_MS, QUEUE.account, QUEUE.queue],
      [0, 60 * SECOND_MS, QUEUE.account, QUEUE.queue],
    ],
  )
  assert.equal(messages[0]?.id, put.id)
  world.advance(30 * SECOND_MS)
  assert.equal((await list(world)).messages.length, 1)
})

test('a message that expires while it is invisible is not listed', async () => {
  const world = await queueWorld()
  await world.put('short', { liveMs: 10 * SECOND_MS, delayMs: 60 * SECOND_MS })
  assert.equal((await list(world)).messages.length, 1)
  world.advance(10 * SECOND_MS)
  assert.equal((await list(world)).messages.length, 0)
})

test('a list that is full says so', async () => {
  const world = await queueWorld()
  for (let at = 0; at < 3; at += 1) await world.put('x', { delayMs: SECOND_MS })
  assert.deepEqual((await list(world, 3)).isCut, false)
  const { messages, isCut } = await list(world, 2)
  assert.deepEqual([messages.length, isCut], [2, true])
})

test('a message made visible can be got again, and the receipt of its receiver is stale', async () => {
  const world = await queueWorld()
  await world.put('x')
  const [got] = await world.get()
  assert(got !== undefined)
  assert.deepEqual(await world.get(), [])
  assert.equal(await makeVisible(world, got.id), 'moved')
  await assert.rejects(world.delete(got), (error) => {
    return error instanceof StorageError && error.code === 'MessageNotFound'
  })
  const [again] = await world.get()
  assert.equal(again?.dequeueCount, 2)
  assert.equal(await world.count(), 1)
})

test('only an invisible message can be made visible', async () => {
  const world = await queueWorld()
  const { id } = await world.put('x')
  assert.equal(await makeVisible(world, id), 'visible')
  assert.equal(await makeVisible(world, '00000000-0000-4000-8000-000000000000'), 'none')
  assert.equal(await makeVisible(world, id, { ...QUEUE, queue: 'other' }), 'no queue')
})
