// Fifty consumers of one queue with thousands of messages: within its timeout only one of them has a message, and none
// is lost, even if consumers crash while they hold messages or return late and delete with stale receipts. In memory
// and on disk.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { putMessage } from '../../src/storage/queue/message.ts'
import { ACCOUNT, outcome } from '../harness.ts'
import {
  send,
  get,
  countMessages,
  createQueue,
  messagePath,
  startQueueFixture,
  type QueueServer,
  type ReceivedMessage,
} from './fixture.ts'

const CONSUMERS = 50
const TIMEOUT_MS = 60_000
const GET = `?numofmessages=32&visibilitytimeout=${TIMEOUT_MS / 1_000}`

/** The text of every message is its number. */
async function fill(
  { store, now }: QueueServer,
  queue: string,
  messageCount: number,
): Promise<void> {
  const address = { account: ACCOUNT, queue }
  for (let from = 0; from < messageCount; from += 500) {
    const guids = Array.from({ length: 500 }, () => randomUUID())
    await store.kv.write(function* (tx) {
      for (const [i, randomGuid] of guids.entries()) {
        const text = Buffer.from(String(from + i))
        const put = { randomGuid, text, visibilityTimeoutMs: 0, timeToLiveMs: undefined }
        yield* putMessage(tx, address, put, now())
      }
    })
  }
}

async function remove(
  server: QueueServer,
  queue: string,
  message: ReceivedMessage,
): Promise<string> {
  const path = messagePath(queue, message.id, message.receipt)
  return outcome(await send(server, { method: 'DELETE', path }))
}

/** Consumes until a get returns nothing; the consumer crashes with the messages for which `keep` is true. */
async function consume(
  server: QueueServer,
  queue: string,
  keep: (message: ReceivedMessage) => boolean,
): Promise<{ readonly done: ReceivedMessage[]; readonly kept: ReceivedMessage[] }> {
  const [done, kept]: [ReceivedMessage[], ReceivedMessage[]] = [[], []]
  for (;;) {
    const messages = await get(server, queue, GET)
    if (messages.length === 0) return { done, kept }
    for (const message of messages) {
      if (keep(message)) {
        kept.push(message)
        continue
      }
      assert.equal(await remove(server, queue, message), '204')
      done.push(message)
    }
  }
}

async function drain(
  server: QueueServer,
  queue: string,
  keep: (message: ReceivedMessage) => boolean,
) {
  const all = await Promise.all(
    Array.from({ length: CONSUMERS }, () => consume(server, queue, keep)),
  )
  return { done: all.flatMap(({ done }) => done), kept: all.flatMap(({ kept }) => kept) }
}

const numbersOf = (messages: readonly ReceivedMessage[]) =>
  new Set(messages.map(({ text }) => text))

for (const [place, messageCount] of [
  ['in memory', 2_000],
  ['on disk', 10_000],
] as const) {
  describe(place, async () => {
    const server = await startQueueFixture({ onDisk: place === 'on disk' })

    test(`${CONSUMERS} consumers drain ${messageCount} messages, each once`, async () => {
      await createQueue(server, 'drained')
      await fill(server, 'drained', messageCount)
      const { done } = await drain(server, 'drained', () => false)
      assert.equal(done.length, messageCount)
      assert.equal(numbersOf(done).size, messageCount)
      assert(done.every(({ dequeueCount }) => dequeueCount === 1))
      assert.equal(await countMessages(server, 'drained'), 0)
    })

    test('messages of crashed consumers reappear once after their timeout', async () => {
      await createQueue(server, 'crashed')
      await fill(server, 'crashed', messageCount)
      const isThird = ({ text, dequeueCount }: ReceivedMessage) =>
        dequeueCount === 1 && Number(text) % 3 === 0
      const first = await drain(server, 'crashed', isThird)
      assert.equal(first.done.length + first.kept.length, messageCount)
      assert.equal(await countMessages(server, 'crashed'), first.kept.length)
      server.advance(TIMEOUT_MS - 1)
      assert.deepEqual(await get(server, 'crashed', GET), [])
      server.advance(1)
      // Others take over, while the presumed dead return and delete their old messages.
      const late = async (): Promise<string[]> => {
        const outcomes: string[] = []
        for (const message of first.kept.slice(0, 200)) {
          outcomes.push(await remove(server, 'crashed', message))
        }
        return outcomes
      }
      const [second, lateOutcomes] = await Promise.all([
        drain(server, 'crashed', () => false),
        late(),
      ])
      const lateDone = lateOutcomes.filter((text) => text === '204').length
      const stale = lateOutcomes.filter((text) => text === '404 MessageNotFound').length
      assert.equal(lateDone + stale, 200)
      assert.equal(second.done.length + lateDone, first.kept.length)
      assert.equal(numbersOf([...first.done, ...second.done]).size, messageCount - lateDone)
      assert(second.done.every(({ dequeueCount }) => dequeueCount === 2))
      assert.equal(await countMessages(server, 'crashed'), 0)
      for (const message of first.kept.slice(-20)) {
        assert.equal(await remove(server, 'crashed', message), '404 MessageNotFound')
      }
    })
  })
}
