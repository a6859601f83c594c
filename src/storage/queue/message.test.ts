import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { countingWrites, openWorld, QUEUE, SECOND_MS, textOf } from './harness.ts'
import { putMessage, type Message } from './message.ts'
import { getMessages } from './visible.ts'

const NOT_FOUND = { code: 'MessageNotFound' }

for (const waits of [false, true]) {
  describe(waits ? 'on a store that waits' : 'on a store that runs straight', () => {
    test('of consumers that get at once, none gets what another has', async () => {
      const world = await openWorld({ waits })
      for (let i = 0; i < 30; i += 1) await world.put(String(i))
      const got = (await Promise.all(Array.from({ length: 12 }, () => world.get(3)))).flat()
      assert.equal(got.length, 30)
      assert.equal(new Set(got.map(textOf)).size, 30)
      assert.deepEqual(await world.get(32), [])
    })

    test('of those that hold one receipt and use it at once, one succeeds', async () => {
      const world = await openWorld({ waits })
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

    test('puts at once are all kept, and counted', async () => {
      const world = await openWorld({ waits })
      await Promise.all(Array.from({ length: 40 }, (_, i) => world.put(String(i))))
      assert.equal(await world.count(), 40)
      assert.equal((await world.get(32)).length, 32)
      assert.equal(await world.count(), 40)
    })
  })
}

test('messages of one millisecond come in the order in which they were moved', async () => {
  const world = await openWorld()
  await world.put('delayed', { delayMs: 5 * SECOND_MS })
  await world.put('first')
  const [first] = await world.get(1, 5 * SECOND_MS)
  world.advance(5 * SECOND_MS)
  await world.put('last')
  const all = await world.get(32, 9 * SECOND_MS)
  assert.deepEqual(all.map(textOf), ['delayed', 'first', 'last'])
  assert(first !== undefined)
  await assert.rejects(world.delete(first), NOT_FOUND)
})

test('a message leaves nothing behind', async () => {
  const world = await openWorld()
  const empty = await world.records()
  const message = await world.put('x', { liveMs: 60 * SECOND_MS })
  const [got] = await world.get()
  assert(got !== undefined)
  await assert.rejects(world.update(message, 1), NOT_FOUND)
  await world.delete(await world.update(got, 3 * SECOND_MS))
  assert.deepEqual(await world.records(), { ...empty, 'queue-tally': 1 })
})

test('a queue of many messages costs no more than one of few', async () => {
  const costOf = async (messageCount: number): Promise<readonly [number, readonly Message[]]> => {
    const world = await openWorld()
    for (let i = 0; i < messageCount; i += 1) await world.put(String(i))
    const counting = countingWrites(world.kv)
    const text = Buffer.from('new')
    const put = { randomGuid: randomUUID(), text, visibilityTimeoutMs: 0, timeToLiveMs: undefined }
    const get = { countMax: 8, visibilityTimeoutMs: 1 }
    await counting.kv.write((tx) => putMessage(tx, QUEUE, put, world.now.ms))
    const { messages } = await counting.kv.write((tx) => getMessages(tx, QUEUE, get, world.now.ms))
    return [counting.seen(), messages]
  }
  const [few, gotOfFew] = await costOf(10)
  const [many, gotOfMany] = await costOf(5_000)
  assert(few > 0)
  assert.equal(many, few)
  assert.deepEqual(gotOfMany.map(textOf), gotOfFew.map(textOf))
})
