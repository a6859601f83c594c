import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../test/random.ts'
import {
  countingWrites,
  queueWorld,
  QUEUE,
  SECOND_MS,
  messageText,
  type QueueWorld,
} from './harness.ts'
import { putMessage } from './message.ts'
import { sweepQueues } from './sweep.ts'
import { getFirstMessages, getMessages, peekMessages } from './visible.ts'

const GET = { countMax: 1, visibilityTimeoutMs: 30 * SECOND_MS }
const HOUR_MS = 3_600 * SECOND_MS

/** Puts many in one transaction: one each would take too long. */
async function putMany(world: QueueWorld, count: number, timeToLiveMs: number): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const guids = Array.from({ length: Math.min(500, count - from) }, () => randomUUID())
    await world.kv.write(function* (tx) {
      for (const randomGuid of guids) {
        const put = { randomGuid, text: Buffer.from('x'), visibilityTimeoutMs: 0, timeToLiveMs }
        yield* putMessage(tx, QUEUE, put, world.now.ms)
      }
    })
  }
}

/** The result of the next get, and how many records it reads. */
async function costOfGet({ kv, now }: QueueWorld): Promise<readonly [string[], number]> {
  const counting = countingWrites(kv)
  const got = await getFirstMessages(counting.kv, QUEUE, GET, now.ms)
  return [got.map(messageText), counting.count()]
}

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    test('an expired message is not got, peeked or counted, even before the sweep', async () => {
      const world = await queueWorld({ waits })
      await world.put('short', { liveMs: SECOND_MS })
      world.advance(SECOND_MS - 1)
      assert.deepEqual((await world.peek()).map(messageText), ['short'])
      assert.equal(await world.count(), 1)
      world.advance(1)
      assert.deepEqual(await world.peek(), [])
      assert.deepEqual(await world.get(), [])
      assert.equal(await world.count(), 0)
      assert.equal((await world.records())['message'], 1)
      await sweepQueues(world.kv, world.now.ms)
      assert.equal((await world.records())['message'], undefined)
      assert.equal(await world.count(), 0)
    })

    test('live messages among expired ones are found in order', async () => {
      const world = await queueWorld({ waits })
      for (let i = 0; i < 40; i += 1) {
        await world.put(String(i), i % 10 === 7 ? {} : { liveMs: SECOND_MS })
      }
      world.advance(SECOND_MS)
      assert.deepEqual((await world.peek(32)).map(messageText), ['7', '17', '27', '37'])
      assert.deepEqual((await world.get(3)).map(messageText), ['7', '17', '27'])
      assert.deepEqual((await world.get(3)).map(messageText), ['37'])
      assert.deepEqual(await world.get(3), [])
      assert.equal(await world.count(), 4)
    })
  })
}

test('if all messages have the same time to live, a get skips any number of expired ones at once', async () => {
  const costs: number[] = []
  for (const count of [10, 3_000]) {
    const world = await queueWorld()
    await putMany(world, count, HOUR_MS)
    world.advance(HOUR_MS / 2)
    await world.put('alive', { liveMs: HOUR_MS })
    world.advance(HOUR_MS / 2)
    const [got, cost] = await costOfGet(world)
    assert.deepEqual(got, ['alive'])
    costs.push(cost)
  }
  assert.equal(costs[0], costs[1])
})

test('if some messages live longer, expired ones are read once, not by every get', async () => {
  const world = await queueWorld()
  await putMany(world, 3_000, SECOND_MS)
  await world.put('one', { liveMs: HOUR_MS })
  await world.put('two')
  world.advance(SECOND_MS)
  const [first, firstCost] = await costOfGet(world)
  const [second, secondCost] = await costOfGet(world)
  assert.deepEqual([first, second], [['one'], ['two']])
  assert(firstCost > 3_000)
  assert(secondCost < 10)
})

test('a transaction reads a bounded number of expired messages, and the result is the same', async () => {
  const world = await queueWorld()
  await putMany(world, 12_000, SECOND_MS)
  await world.put('alive', { liveMs: HOUR_MS })
  world.advance(SECOND_MS)
  const counting = countingWrites(world.kv)
  const peeked = await world.kv.read((tx) => peekMessages(tx, QUEUE, 1, world.now.ms))
  assert.deepEqual([peeked.messages, peeked.isCut], [[], true])
  const got = await counting.kv.write((tx) => getMessages(tx, QUEUE, GET, world.now.ms))
  assert.deepEqual(got, { messages: [], isCut: true })
  assert(counting.count() < 6_000)
  assert.deepEqual((await world.peek()).map(messageText), ['alive'])
  const [found, cost] = await costOfGet(world)
  assert.deepEqual(found, ['alive'])
  // The get and the peek have each passed 5,000.
  assert(cost < 3_000)
  // Too high until the sweep, but never too low.
  assert.equal(await world.count(), 12_001 - 5_000)
  await sweepQueues(world.kv, world.now.ms)
  assert.equal(await world.count(), 1)
})

test('a message that is put after the clock was set back is found, though gets had passed its position', async () => {
  const world = await queueWorld()
  await world.put('short', { liveMs: SECOND_MS })
  await world.put('long', { delayMs: HOUR_MS })
  world.advance(SECOND_MS)
  assert.deepEqual(await world.get(), [])
  world.advance(-HOUR_MS)
  await world.put('early', { liveMs: HOUR_MS })
  assert.deepEqual((await world.get()).map(messageText), ['early'])
})

describe('a queue behaves like the model', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    test(`seed ${seed}`, () => compareWithModel(seed))
  }
})

type Listed = { readonly text: string; endsMs: number; visibleAtMs: number; moved: number }

/** Random puts, gets, waits and sweeps. The model is a list that is searched from the start. */
async function compareWithModel(seed: number): Promise<void> {
  const world = await queueWorld()
  const { below } = randomFrom(seed)
  const list: Listed[] = []
  let moves = 0
  const isSteady = seed % 2 === 0
  for (let i = 0; i < 300; i += 1) {
    const [choice, nowMs] = [below(10), world.now.ms]
    if (choice < 5) {
      const [delayMs, liveMs] = [below(3) * 10, isSteady ? 100 : 31 + below(200)]
      const isEndless = !isSteady && below(8) === 0
      await world.put(String(i), isEndless ? { delayMs } : { delayMs, liveMs })
      const endsMs = isEndless ? Number.POSITIVE_INFINITY : nowMs + liveMs
      list.push({ text: String(i), endsMs, visibleAtMs: nowMs + delayMs, moved: (moves += 1) })
    } else if (choice < 8) {
      const [countMax, timeoutMs] = [1 + below(4), 1 + below(40)]
      const expected = list
        .filter(({ endsMs, visibleAtMs }) => visibleAtMs <= nowMs && nowMs < endsMs)
        .sort((a, b) => a.visibleAtMs - b.visibleAtMs || a.moved - b.moved)
        .slice(0, countMax)
      const got = await world.get(countMax, timeoutMs)
      assert.deepEqual(
        got.map(messageText),
        expected.map(({ text }) => text),
      )
      for (const one of expected) {
        Object.assign(one, { visibleAtMs: nowMs + timeoutMs, moved: (moves += 1) })
      }
    } else if (choice < 9) world.advance(below(60))
    else if (below(4) === 0) await sweepQueues(world.kv, nowMs)
    assert.equal(await world.count(), list.filter(({ endsMs }) => world.now.ms < endsMs).length)
  }
}
