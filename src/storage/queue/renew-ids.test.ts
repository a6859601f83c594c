import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { encodeKey } from '../../kv/key.ts'
import { encodeRecord } from '../../kv/record.ts'
import { queueWorld, SECOND_MS, messageText, type QueueWorld } from './harness.ts'
import { messageIdKey, messageKey } from './keys.ts'
import { renewMessageIds } from './renew-ids.ts'
import { sweepQueues } from './sweep.ts'
import { saveTally } from './tally.ts'

/** A queue in format 1: ids of version 7, and an index of expiry times. */
async function openFormat1(messageCount: number): Promise<QueueWorld> {
  const world = await queueWorld()
  const queueId = 1
  const nowMs = world.now.ms
  await world.kv.write(function* (tx) {
    for (let i = 1; i <= messageCount; i += 1) {
      const time = nowMs.toString(16).padStart(12, '0')
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
      const position = { visibleAtMs: nowMs, sequence: i }
      // Every other message expires; the earlier it was put, the later.
      const expiresMs = i % 2 === 0 ? undefined : nowMs + (messageCount - i + 1) * SECOND_MS
      const record = { id, insertedMs: nowMs, ...(expiresMs && { expiresMs }), dequeueCount: 0 }
      tx.put(messageKey(queueId, position), encodeRecord(record, Buffer.from(`text ${i}`)))
      tx.put(messageIdKey(queueId, id), encodeRecord(position))
      if (expiresMs !== undefined) {
        tx.put(encodeKey('message-expiry', queueId, expiresMs, id), encodeRecord({}))
      }
    }
    saveTally(tx, queueId, { messageCount, lastSequence: messageCount })
  })
  return world
}

test('messages of format 1 keep their texts, can be got and deleted, and expire', async () => {
  const world = await openFormat1(1_200)
  await renewMessageIds(world.kv)
  // An interrupted migration starts again.
  await renewMessageIds(world.kv)
  assert.deepEqual(await world.records(), {
    queue: 1,
    'queue-tally': 1,
    message: 1_200,
    'message-id': 1_200,
  })
  const got = await world.get(4)
  assert.deepEqual(got.map(messageText), ['text 1', 'text 2', 'text 3', 'text 4'])
  for (const message of got) await world.delete(message)
  // Message 1,199 expires after two seconds, 1,197 after four.
  world.advance(4 * SECOND_MS)
  await sweepQueues(world.kv, world.now.ms)
  assert.equal((await world.records())['message'], 1_200 - 4 - 2)
  assert.equal(await world.count(), 1_200 - 4 - 2)
})

test('the migration removes what a sweep has left of a deleted queue', async () => {
  const world = await openFormat1(3)
  await world.kv.write(function* (tx) {
    for (let i = 1; i <= 3; i += 1) {
      tx.delete(messageKey(1, { visibleAtMs: world.now.ms, sequence: i }))
    }
  })
  await renewMessageIds(world.kv)
  assert.deepEqual(await world.records(), { queue: 1, 'queue-tally': 1 })
})
