// What faults do to bodies and answers, without a connection.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Harm } from '../../control/point.ts'
import type { Exchange } from '../protocol/exchange.ts'
import { harmedAnswer, withSlowBody } from './harm.ts'
import type { Answer, Request } from './operation.ts'

type Sent = () => void

function exchangeOf(method = 'GET') {
  const events: string[] = []
  const unsent: Sent[] = []
  const exchange = {
    head: { method },
    write: (bytes: Uint8Array, done: Sent) => {
      events.push(`write ${bytes.length}`)
      unsent.push(done)
      return true
    },
    drop: () => void events.push('drop'),
  } as unknown as Exchange
  return { exchange, events, unsent }
}

const ANSWER: Answer = { status: 200, headers: ['ETag', '"1"'], body: 'äbcd' }

/** Takes note of what passes, and lets all of it pass. */
function paceOf(sliceBytes: number) {
  const taken: number[] = []
  const take = (bytes: number) => Promise.resolve(void taken.push(bytes))
  return { taken, pace: { sliceBytes, take } }
}

async function* chunks(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield Buffer.alloc(size)
}

async function lengths(body: AsyncIterable<Uint8Array> | undefined): Promise<readonly number[]> {
  const found: number[] = []
  for await (const bytes of body ?? []) found.push(bytes.length)
  return found
}

test('without harm, the answer is the same', () => {
  assert.equal(harmedAnswer(exchangeOf().exchange, ANSWER, {}), ANSWER)
})

for (const harm of [{ truncateBytes: 1 }, { pace: paceOf(1).pace }] satisfies Harm[]) {
  test(`an answer without a body is the same with ${Object.keys(harm).join()}`, () => {
    const empty = { status: 204, headers: [] }
    assert.equal(harmedAnswer(exchangeOf().exchange, empty, harm), empty)
    assert.equal(harmedAnswer(exchangeOf('HEAD').exchange, ANSWER, harm), ANSWER)
  })
}

test('a lost answer ends the connection', () => {
  const { exchange, events } = exchangeOf()
  assert.equal(harmedAnswer(exchange, ANSWER, { isAnswerLost: true }), undefined)
  assert.deepEqual(events, ['drop'])
})

test('a body that is cut off keeps its length, and the connection ends once its bytes are sent', async () => {
  const { exchange, events, unsent } = exchangeOf()
  const answer = harmedAnswer(exchange, ANSWER, { truncateBytes: 2 })
  assert.deepEqual(answer?.headers, ['ETag', '"1"', 'Content-Length', '5'])
  const sending = lengths(answer?.stream?.())
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(events, ['write 0'])
  for (const sent of unsent) sent()
  assert.deepEqual(await sending, [2])
  assert.deepEqual(events, ['write 0', 'drop'])
})

test('a stream that is cut off is cut between chunks, too, and its chunks are not given back', async () => {
  const { exchange, events, unsent } = exchangeOf()
  const headers = ['Content-Length', '9']
  const given = { status: 200, headers, stream: () => chunks(3, 3, 3), recycle: () => undefined }
  const answer = harmedAnswer(exchange, given, { truncateBytes: 6 })
  assert.deepEqual(answer?.headers, headers)
  assert.equal(answer?.recycle, undefined)
  const sending = lengths(answer?.stream?.())
  while (unsent.length === 0) await new Promise((resolve) => setImmediate(resolve))
  unsent[0]?.()
  assert.deepEqual(await sending, [3, 3, 0])
  assert.deepEqual(events, ['write 0', 'drop'])
})

test('a body that fits arrives whole', async () => {
  const { exchange, events } = exchangeOf()
  const answer = harmedAnswer(exchange, ANSWER, { truncateBytes: 5 })
  assert.deepEqual(await lengths(answer?.stream?.()), [5])
  assert.deepEqual(events, [])
})

test('a slow answer passes in slices', async () => {
  const { taken, pace } = paceOf(2)
  const answer = harmedAnswer(exchangeOf().exchange, ANSWER, { pace })
  assert.deepEqual(await lengths(answer?.stream?.()), [2, 2, 1])
  assert.deepEqual(taken, [2, 2, 1])
})

test('a slow body of a request passes whole or in slices', async () => {
  const { taken, pace } = paceOf(4)
  const body = {
    lengthBytes: 6,
    read: () => Promise.resolve(Buffer.alloc(6)),
    stream: () => chunks(5, 1),
  }
  const request = { body } as unknown as Request
  const slow = withSlowBody(request, { pace })
  assert.equal(slow.body.lengthBytes, 6)
  assert.equal((await slow.body.read(10)).length, 6)
  assert.deepEqual(await lengths(slow.body.stream()), [4, 1, 1])
  assert.deepEqual(taken, [6, 4, 1, 1])
  assert.equal(withSlowBody(request, {}), request)
})
