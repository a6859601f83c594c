import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { countingWrites, queueWorld, QUEUE, SECOND_MS, messageText } from './harness.ts'
import { putMessage, type Message } from './message.ts'
import { getMessages } from './visible.ts'

const NOT_FOUND = { code: 'MessageNotFound' }

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    test('concurrent consumers never get the same message', async () => {
      const world = await queueWorld({ waits })
      for (let i = 0; i < 30; i += 1) await world.put(String(i))
      const got = (await Promise.all(Array.from({ length: 12 }, () => world.get(3)))).flat()
      assert.equal(got.length, 30)
      assert.equal(new Set(got.map(messageText)).size, 30)
      assert.deepEqual(await world.get(32), [])
    })

    test('concurrent uses of one receipt succeed only once', async () => {
      const world = await queueWorld({ waits })
      const message = await world.put('x')
      const uses = [
        world.delete(message),
        world.update(message, 0),
        world.delete(message),
        world.update(message, 5),
      ]
      const outcomes = await Promise.allSettled(uses)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'MessageNotFound')
      }
    })

    test('concurrent puts are all stored and counted', async () => {
      const world = await queueWorld({ waits })
      await Promise.all(Array.from({ length: 40 }, (_, i) => world.put(String(i))))
      assert.equal(await world.count(), 40)
      assert.equal((await world.get(32)).length, 32)
      assert.equal(await world.count(), 40)
    })
  })
}

test('messages that become visible in the same millisecond are in the order of their moves', async () => {
  const world = await queueWorld()
  await world.put('delayed', { delayMs: 5 * SECOND_MS })
  await world.put('first')
  const [first] = await world.get(1, 5 * SECOND_MS)
  world.advance(5 * SECOND_MS)
  await world.put('last')
  const all = await world.get(32, 9 * SECOND_MS)
  assert.deepEqual(all.map(messageText), ['delayed', 'first', 'last'])
  assert(first !== undefined)
  await assert.rejects(world.delete(first), NOT_FOUND)
})

test('a deleted message leaves nothing behind', async () => {
  const world = await queueWorld()
  const empty = await world.records()
  const message = await world.put('x', { liveMs: 60 * SECOND_MS })
  const [got] = await world.get()
  assert(got !== undefined)
  await assert.rejects(world.update(message, 1), NOT_FOUND)
  await world.delete(await world.update(got, 3 * SECOND_MS))
  assert.deepEqual(await world.records(), { ...empty, 'queue-tally': 1 })
})

test('puts and gets cost the same in long and short queues', async () => {
  const costOf = async (messageCount: number): Promise<readonly [number, readonly Message[]]> => {
    const world = await queueWorld()
    for (let i = 0; i < messageCount; i += 1) await world.put(String(i))
    const counting = countingWrites(world.kv)
    const text = Buffer.from('new')
    const put = { randomGuid: randomUUID(), text, visibilityTimeoutMs: 0, timeToLiveMs: undefined }
    const get = { countMax: 8, visibilityTimeoutMs: 1 }
    await counting.kv.write((tx) => putMessage(tx, QUEUE, put, world.now.ms))
    const { messages } = await counting.kv.write((tx) => getMessages(tx, QUEUE, get, world.now.ms))
    return [counting.count(), messages]
  }
  const [few, fromFew] = await costOf(10)
  const [many, fromMany] = await costOf(5_000)
  assert(few > 0)
  assert.equal(many, few)
  assert.deepEqual(fromMany.map(messageText), fromFew.map(messageText))
})
