import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { queueWorld, QUEUE, SECOND_MS, messageText } from './harness.ts'
import { clearMessages, deleteQueue } from './queue.ts'
import { sweepQueues } from './sweep.ts'

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    test('nothing is left of a deleted queue', async () => {
      const world = await queueWorld({ waits })
      const count = waits ? 20 : 1_200
      for (let i = 0; i < count; i += 1) await world.put('x', { liveMs: SECOND_MS })
      await world.get(5)
      await world.kv.write((tx) => deleteQueue(tx, QUEUE))
      await sweepQueues(world.kv, world.now.ms)
      assert.deepEqual(await world.records(), {})
    })

    test('messages that were put after a clear stay', async () => {
      const world = await queueWorld({ waits })
      for (let i = 0; i < 10; i += 1) await world.put('before')
      const newId = world.newId()
      await world.kv.write((tx) => clearMessages(tx, QUEUE, newId))
      assert.equal(await world.count(), 0)
      await world.put('after', { liveMs: SECOND_MS })
      await sweepQueues(world.kv, world.now.ms)
      assert.deepEqual((await world.get(32)).map(messageText), ['after'])
      assert.equal((await world.records())['message'], 1)
      assert.equal((await world.records())['deleted-queue'], undefined)
    })

    test('only expired messages are removed', async () => {
      const world = await queueWorld({ waits })
      await world.put('short', { liveMs: SECOND_MS })
      await world.put('hidden', { liveMs: SECOND_MS, delayMs: SECOND_MS - 1 })
      await world.put('long', { liveMs: 2 * SECOND_MS })
      await world.put('forever')
      world.advance(SECOND_MS)
      const swept = await sweepQueues(world.kv, world.now.ms)
      assert.equal(swept.recordCount, 2)
      const { message, 'message-id': ids } = await world.records()
      assert.deepEqual([message, ids], [2, 2])
      assert.equal(await world.count(), 2)
      assert.equal((await sweepQueues(world.kv, world.now.ms)).recordCount, 0)
    })
  })
}
