// The life of a message: put, hidden, visible, received, updated, deleted, expired. The test controls the clock.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome } from '../harness.ts'
import {
  send,
  countMessages,
  get,
  createQueue,
  messagePath,
  messageXml,
  put,
  messagesIn,
  startQueueFixture,
} from './fixture.ts'

const server = await startQueueFixture()
let queueCount = 0

/** Creates a new queue for a test. */
async function newQueue(): Promise<string> {
  queueCount += 1
  await createQueue(server, `queue-${queueCount}`)
  return `queue-${queueCount}`
}

const SECOND_MS = 1_000
const WEEK_SECONDS = 604_800
const httpDate = (afterMs: number) => new Date(server.now() + afterMs).toUTCString()
const texts = (messages: readonly { readonly text: string }[]) => messages.map(({ text }) => text)

const update = (queue: string, id: string, receipt: string, seconds: number, text?: string) =>
  send(server, {
    method: 'PUT',
    path: messagePath(queue, id, receipt, `&visibilitytimeout=${seconds}`),
    ...(text !== undefined && { body: messageXml(text) }),
  })
const remove = (queue: string, id: string, receipt: string) =>
  send(server, { method: 'DELETE', path: messagePath(queue, id, receipt) })
const peek = async (queue: string, count = 32) =>
  messagesIn(
    await send(server, {
      method: 'GET',
      path: `/${queue}/messages?peekonly=true&numofmessages=${count}`,
    }),
  )

describe('put', () => {
  test('returns id, times and receipt, but no text', async () => {
    const queue = await newQueue()
    const message = await put(server, queue, 'hello', '?visibilitytimeout=5&messagettl=60')
    assert.match(message.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.deepEqual(
      [message.inserted, message.nextVisible, message.expires, message.text],
      [httpDate(0), httpDate(5 * SECOND_MS), httpDate(60 * SECOND_MS), ''],
    )
    assert.notEqual(message.receipt, '')
  })

  test('returns no body before 2016-05-31', async () => {
    const queue = await newQueue()
    const headers = { 'x-ms-version': '2015-12-11' }
    const path = `/${queue}/messages`
    const answer = await send(server, { method: 'POST', path, headers, body: messageXml('x') })
    assert.deepEqual([answer.status, answer.text], [201, ''])
  })

  test('sets a lifetime of a week by default, and unlimited with -1', async () => {
    const queue = await newQueue()
    assert.equal((await put(server, queue, 'x')).expires, httpDate(WEEK_SECONDS * SECOND_MS))
    const forever = await put(server, queue, 'y', '?messagettl=-1')
    assert.equal(forever.expires, 'Fri, 31 Dec 9999 23:59:59 GMT')
  })

  test('returns a receipt that is valid for update and delete until the first get', async () => {
    const queue = await newQueue()
    const one = await put(server, queue, 'one')
    assert.equal(outcome(await remove(queue, one.id, one.receipt)), '204')
    const two = await put(server, queue, 'two')
    await get(server, queue)
    assert.equal(outcome(await remove(queue, two.id, two.receipt)), '404 MessageNotFound')
  })

  test('hides the message for the given delay', async () => {
    const queue = await newQueue()
    await put(server, queue, 'later', '?visibilitytimeout=10')
    server.advance(10 * SECOND_MS - 1)
    assert.deepEqual(await get(server, queue), [])
    server.advance(1)
    assert.deepEqual(texts(await get(server, queue)), ['later'])
  })
})

describe('get', () => {
  test('hides the message for 30 seconds by default and counts', async () => {
    const queue = await newQueue()
    await put(server, queue, 'x')
    for (const [dequeueCount, query, hiddenMs] of [
      [1, '', 30 * SECOND_MS],
      [2, '?visibilitytimeout=1', SECOND_MS],
      [3, `?visibilitytimeout=${WEEK_SECONDS - 60}`, (WEEK_SECONDS - 60) * SECOND_MS],
    ] as const) {
      const [message] = await get(server, queue, query)
      assert.equal(message?.dequeueCount, dequeueCount)
      assert.equal(message?.nextVisible, httpDate(hiddenMs))
      server.advance(hiddenMs - 1)
      assert.deepEqual(await get(server, queue), [])
      server.advance(1)
    }
  })

  test('returns one message or the requested number, each with its own receipt', async () => {
    const queue = await newQueue()
    for (let i = 0; i < 40; i += 1) await put(server, queue, String(i))
    assert.deepEqual(texts(await get(server, queue)), ['0'])
    const many = await get(server, queue, '?numofmessages=32')
    assert.deepEqual(
      texts(many),
      Array.from({ length: 32 }, (_, i) => String(i + 1)),
    )
    assert.equal(new Set(many.map(({ receipt }) => receipt)).size, 32)
    for (const { id, receipt } of many) {
      assert.equal(outcome(await remove(queue, id, receipt)), '204')
    }
    assert.equal((await get(server, queue, '?numofmessages=32')).length, 7)
    assert.equal(await countMessages(server, queue), 8)
  })

  test('returns messages in the order in which they became visible', async () => {
    const queue = await newQueue()
    await put(server, queue, 'delayed', '?visibilitytimeout=3')
    await put(server, queue, 'got')
    await put(server, queue, 'last', '?visibilitytimeout=6')
    await get(server, queue, '?visibilitytimeout=5')
    server.advance(10 * SECOND_MS)
    await put(server, queue, 'new')
    const all = await get(server, queue, '?numofmessages=32')
    assert.deepEqual(texts(all), ['delayed', 'got', 'last', 'new'])
  })

  test('returns a message that became visible again after the other visible ones', async () => {
    const queue = await newQueue()
    for (const text of ['a', 'b']) await put(server, queue, text)
    const [a] = await get(server, queue)
    assert.equal(outcome(await update(queue, a?.id ?? '', a?.receipt ?? '', 0)), '204')
    assert.deepEqual(texts(await peek(queue)), ['b', 'a'])
  })
})

describe('peek', () => {
  test('returns visible messages and changes nothing', async () => {
    const queue = await newQueue()
    for (const text of ['a', 'b', 'c']) await put(server, queue, text)
    await get(server, queue)
    for (let i = 0; i < 2; i += 1) assert.deepEqual(texts(await peek(queue)), ['b', 'c'])
    const [message] = await peek(queue, 1)
    assert.deepEqual([message?.dequeueCount, message?.receipt, message?.nextVisible], [0, '', ''])
    assert.deepEqual(texts(await get(server, queue)), ['b'])
  })
})

describe('update', () => {
  test('returns a new receipt and time, and changes the text only if given', async () => {
    const queue = await newQueue()
    await put(server, queue, 'old')
    const [message] = await get(server, queue)
    const { id = '', receipt = '' } = message ?? {}
    const first = await update(queue, id, receipt, 5)
    assert.equal(first.status, 204)
    assert.equal(first.headers['x-ms-time-next-visible'], httpDate(5 * SECOND_MS))
    const second = await update(queue, id, String(first.headers['x-ms-popreceipt']), 7, 'new')
    assert.equal(second.headers['x-ms-time-next-visible'], httpDate(7 * SECOND_MS))
    assert.equal(outcome(await update(queue, id, receipt, 0)), '404 MessageNotFound')
    server.advance(7 * SECOND_MS)
    const [again] = await get(server, queue)
    assert.deepEqual([again?.text, again?.dequeueCount], ['new', 2])
    server.advance(30 * SECOND_MS)
    const [last] = await get(server, queue)
    await update(queue, id, last?.receipt ?? '', 0)
    assert.deepEqual(texts(await peek(queue)), ['new'])
  })

  test('can hide a message beyond its expiry, which still applies', async () => {
    const queue = await newQueue()
    const { id, receipt } = await put(server, queue, 'short', '?messagettl=5')
    const answer = await update(queue, id, receipt, 60)
    assert.equal(answer.status, 204)
    server.advance(5 * SECOND_MS)
    const latest = String(answer.headers['x-ms-popreceipt'])
    assert.equal(outcome(await remove(queue, id, latest)), '404 MessageNotFound')
    assert.equal(await countMessages(server, queue), 0)
  })
})

describe('a pop receipt', () => {
  test('stays valid when only the timeout is over', async () => {
    const queue = await newQueue()
    await put(server, queue, 'x')
    const [message] = await get(server, queue, '?visibilitytimeout=1')
    server.advance(60 * SECOND_MS)
    assert.deepEqual(texts(await peek(queue)), ['x'])
    assert.equal(outcome(await remove(queue, message?.id ?? '', message?.receipt ?? '')), '204')
    assert.equal(await countMessages(server, queue), 0)
  })

  test('is stale after another get, an update, a delete, a clear', async () => {
    const queue = await newQueue()
    await put(server, queue, 'x')
    const [first] = await get(server, queue, '?visibilitytimeout=1')
    const { id = '', receipt: stale = '' } = first ?? {}
    server.advance(SECOND_MS)
    const [second] = await get(server, queue)
    assert.equal(outcome(await remove(queue, id, stale)), '404 MessageNotFound')
    assert.equal(outcome(await update(queue, id, stale, 0)), '404 MessageNotFound')
    const updated = await update(queue, id, second?.receipt ?? '', 10)
    assert.equal(outcome(await remove(queue, id, second?.receipt ?? '')), '404 MessageNotFound')
    const latest = String(updated.headers['x-ms-popreceipt'])
    assert.equal(outcome(await remove(queue, id, latest)), '204')
    assert.equal(outcome(await remove(queue, id, latest)), '404 MessageNotFound')
    const other = await put(server, queue, 'y')
    const path = `/${queue}/messages`
    assert.equal(outcome(await send(server, { method: 'DELETE', path })), '204')
    assert.equal(outcome(await remove(queue, other.id, other.receipt)), '404 MessageNotFound')
  })

  test('of another message is a mismatch, and an invalid one is refused', async () => {
    const queue = await newQueue()
    const [one, other] = [await put(server, queue, '1'), await put(server, queue, '2')]
    const unknown = '00000000-0000-4000-8000-000000000000'
    const CASES = [
      [one.id, other.receipt, '400 PopReceiptMismatch'],
      [one.id, 'nonsense', '400 InvalidQueryParameterValue'],
      [one.id, `${one.receipt}A`, '400 InvalidQueryParameterValue'],
      [one.id, '', '400 MissingRequiredQueryParameter'],
      [unknown, one.receipt, '404 MessageNotFound'],
      ['not-a-guid', one.receipt, '404 MessageNotFound'],
      ['x'.repeat(5_000), one.receipt, '404 MessageNotFound'],
    ] as const
    for (const [id, receipt, expected] of CASES) {
      assert.equal(outcome(await remove(queue, id, receipt)), expected)
      assert.equal(outcome(await update(queue, id, receipt, 0)), expected)
    }
    assert.equal(await countMessages(server, queue), 2)
  })
})

describe('time to live', () => {
  test('ends at the exact millisecond, visible or not, swept or not', async () => {
    const queue = await newQueue()
    const short = await put(server, queue, 'short', '?messagettl=2')
    await put(server, queue, 'hidden', '?messagettl=2&visibilitytimeout=1')
    await put(server, queue, 'long', '?messagettl=3')
    await put(server, queue, 'forever', '?messagettl=-1')
    server.advance(2 * SECOND_MS - 1)
    assert.equal((await peek(queue)).length, 4)
    assert.equal(await countMessages(server, queue), 4)
    server.advance(1)
    assert.deepEqual(texts(await peek(queue)), ['long', 'forever'])
    assert.equal(await countMessages(server, queue), 2)
    assert.equal(outcome(await remove(queue, short.id, short.receipt)), '404 MessageNotFound')
    server.advance(1_000 * WEEK_SECONDS * SECOND_MS)
    assert.deepEqual(texts(await get(server, queue, '?numofmessages=32')), ['forever'])
  })

  test('of many messages that expire together does not hide later ones', async () => {
    const queue = await newQueue()
    for (let i = 0; i < 1_100; i += 1) await put(server, queue, 'x', '?messagettl=1')
    await put(server, queue, 'alive', '?messagettl=60')
    server.advance(SECOND_MS)
    assert.deepEqual(texts(await peek(queue)), ['alive'])
    assert.deepEqual(texts(await get(server, queue)), ['alive'])
    assert.equal(await countMessages(server, queue), 1)
  })
})

test('clear removes all messages, including hidden and delayed ones, and keeps the queue', async () => {
  const queue = await newQueue()
  const metadata = {
    method: 'PUT',
    path: `/${queue}?comp=metadata`,
    headers: { 'x-ms-meta-a': '1' },
  }
  await send(server, metadata)
  for (const query of ['', '', '?visibilitytimeout=5']) await put(server, queue, 'x', query)
  await get(server, queue)
  const answer = await send(server, { method: 'DELETE', path: `/${queue}/messages` })
  assert.equal(outcome(answer), '204')
  server.advance(60 * SECOND_MS)
  assert.deepEqual([await countMessages(server, queue), await peek(queue)], [0, []])
  const { headers } = await send(server, { method: 'GET', path: `/${queue}?comp=metadata` })
  assert.equal(headers['x-ms-meta-a'], '1')
  await put(server, queue, 'after')
  await server.sweep()
  assert.deepEqual(texts(await get(server, queue)), ['after'])
})
