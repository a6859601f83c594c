import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../test/random.ts'
import { countingWrites, openWorld, QUEUE, SECOND_MS, textOf, type World } from './harness.ts'
import { putMessage } from './message.ts'
import { sweepQueues } from './sweep.ts'
import { getFirstMessages, getMessages, peekMessages } from './visible.ts'

const GET = { countMax: 1, visibilityTimeoutMs: 30 * SECOND_MS }
const HOUR_MS = 3_600 * SECOND_MS

/** Many at once: a transaction each would take too long. */
async function putMany(world: World, count: number, timeToLiveMs: number): Promise<void> {
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

/** What the next get brings, and how many records it looks at. */
async function costOfGet({ kv, now }: World): Promise<readonly [string[], number]> {
  const counting = countingWrites(kv)
  const got = await getFirstMessages(counting.kv, QUEUE, GET, now.ms)
  return [got.map(textOf), counting.seen()]
}

for (const waits of [false, true]) {
  describe(waits ? 'on a store that waits' : 'on a store that runs straight', () => {
    test('what has expired is neither got, peeked nor counted, though its record is there', async () => {
      const world = await openWorld({ waits })
      await world.put('short', { liveMs: SECOND_MS })
      world.advance(SECOND_MS - 1)
      assert.deepEqual((await world.peek()).map(textOf), ['short'])
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

    test('live ones are found between expired ones, in order', async () => {
      const world = await openWorld({ waits })
      for (let i = 0; i < 40; i += 1) {
        await world.put(String(i), i % 10 === 7 ? {} : { liveMs: SECOND_MS })
      }
      world.advance(SECOND_MS)
      assert.deepEqual((await world.peek(32)).map(textOf), ['7', '17', '27', '37'])
      assert.deepEqual((await world.get(3)).map(textOf), ['7', '17', '27'])
      assert.deepEqual((await world.get(3)).map(textOf), ['37'])
      assert.deepEqual(await world.get(3), [])
      assert.equal(await world.count(), 4)
    })
  })
}

test('where all live equally long, a get steps over any number of expired ones at once', async () => {
  const costs: number[] = []
  for (const count of [10, 3_000]) {
    const world = await openWorld()
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

test('where some live longer, expired ones are looked at once, not by every get', async () => {
  const world = await openWorld()
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

test('a transaction looks at a bounded number of them; the answer is the same', async () => {
  const world = await openWorld()
  await putMany(world, 12_000, SECOND_MS)
  await world.put('alive', { liveMs: HOUR_MS })
  world.advance(SECOND_MS)
  const counting = countingWrites(world.kv)
  const peeked = await world.kv.read((tx) => peekMessages(tx, QUEUE, 1, world.now.ms))
  assert.deepEqual([peeked.messages, peeked.isCut], [[], true])
  const got = await counting.kv.write((tx) => getMessages(tx, QUEUE, GET, world.now.ms))
  assert.deepEqual(got, { messages: [], isCut: true })
  assert(counting.seen() < 6_000)
  assert.deepEqual((await world.peek()).map(textOf), ['alive'])
  const [found, cost] = await costOfGet(world)
  assert.deepEqual(found, ['alive'])
  // The get passed 5,000 and the peek as many: what is left.
  assert(cost < 3_000)
  // Not lower than the number that there are, but higher until a sweep.
  assert.equal(await world.count(), 12_001 - 5_000)
  await sweepQueues(world.kv, world.now.ms)
  assert.equal(await world.count(), 1)
})

test('what is put after the clock was set back is got, though gets had passed its place', async () => {
  const world = await openWorld()
  await world.put('short', { liveMs: SECOND_MS })
  await world.put('long', { delayMs: HOUR_MS })
  world.advance(SECOND_MS)
  assert.deepEqual(await world.get(), [])
  world.advance(-HOUR_MS)
  await world.put('early', { liveMs: HOUR_MS })
  assert.deepEqual((await world.get()).map(textOf), ['early'])
})

describe('as a list that is looked through from the beginning', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    test(`seed ${seed}`, () => compareWithList(seed))
  }
})

type Listed = { readonly text: string; endsMs: number; visibleAtMs: number; moved: number }

/** Puts, gets, waits and sweeps by chance; every get must bring what the list says. */
async function compareWithList(seed: number): Promise<void> {
  const world = await openWorld()
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
        got.map(textOf),
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
