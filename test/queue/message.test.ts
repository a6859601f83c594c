// The life of a message: put, hidden, visible, got, updated, deleted, expired; on a clock that the test holds.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { outcome } from '../harness.ts'
import {
  ask,
  countOf,
  get,
  makeQueue,
  messagePath,
  messageXml,
  put,
  seenMessages,
  startQueueServer,
  type QueueServer,
} from './queue-server.ts'

let server: QueueServer
let made = 0

/** A queue of its own for each test. */
async function fresh(): Promise<string> {
  made += 1
  await makeQueue(server, `queue-${made}`)
  return `queue-${made}`
}

const SECOND_MS = 1_000
const WEEK_SECONDS = 604_800
const httpDate = (afterMs: number) => new Date(server.now() + afterMs).toUTCString()
const texts = (messages: readonly { readonly text: string }[]) => messages.map(({ text }) => text)

const update = (queue: string, id: string, receipt: string, seconds: number, text?: string) =>
  ask(server, {
    method: 'PUT',
    path: messagePath(queue, id, receipt, `&visibilitytimeout=${seconds}`),
    ...(text !== undefined && { body: messageXml(text) }),
  })
const remove = (queue: string, id: string, receipt: string) =>
  ask(server, { method: 'DELETE', path: messagePath(queue, id, receipt) })
const peek = async (queue: string, count = 32) =>
  seenMessages(
    await ask(server, {
      method: 'GET',
      path: `/${queue}/messages?peekonly=true&numofmessages=${count}`,
    }),
  )

before(async () => {
  server = await startQueueServer()
})

after(() => server.close())

describe('put', () => {
  test('answers with id, times and receipt, and no text', async () => {
    const queue = await fresh()
    const message = await put(server, queue, 'hello', '?visibilitytimeout=5&messagettl=60')
    assert.match(message.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.deepEqual(
      [message.inserted, message.nextVisible, message.expires, message.text],
      [httpDate(0), httpDate(5 * SECOND_MS), httpDate(60 * SECOND_MS), ''],
    )
    assert.notEqual(message.receipt, '')
  })

  test('before 2016-05-31 there is no body', async () => {
    const queue = await fresh()
    const headers = { 'x-ms-version': '2015-12-11' }
    const path = `/${queue}/messages`
    const answer = await ask(server, { method: 'POST', path, headers, body: messageXml('x') })
    assert.deepEqual([answer.status, answer.text], [201, ''])
  })

  test('lives a week unless it says otherwise, and with -1 for ever', async () => {
    const queue = await fresh()
    assert.equal((await put(server, queue, 'x')).expires, httpDate(WEEK_SECONDS * SECOND_MS))
    const forever = await put(server, queue, 'y', '?messagettl=-1')
    assert.equal(forever.expires, 'Fri, 31 Dec 9999 23:59:59 GMT')
  })

  test('its receipt updates and deletes, until the first get', async () => {
    const queue = await fresh()
    const one = await put(server, queue, 'one')
    assert.equal(outcome(await remove(queue, one.id, one.receipt)), '204')
    const two = await put(server, queue, 'two')
    await get(server, queue)
    assert.equal(outcome(await remove(queue, two.id, two.receipt)), '404 MessageNotFound')
  })

  test('with a delay it is invisible until that is over', async () => {
    const queue = await fresh()
    await put(server, queue, 'later', '?visibilitytimeout=10')
    server.advance(10 * SECOND_MS - 1)
    assert.deepEqual(await get(server, queue), [])
    server.advance(1)
    assert.deepEqual(texts(await get(server, queue)), ['later'])
  })
})

describe('get', () => {
  test('hides for 30 seconds unless it says otherwise, and counts', async () => {
    const queue = await fresh()
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

  test('gives one, or as many as asked for, each with a receipt of its own', async () => {
    const queue = await fresh()
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
    assert.equal(await countOf(server, queue), 8)
  })

  test('gives first what became visible first', async () => {
    const queue = await fresh()
    await put(server, queue, 'delayed', '?visibilitytimeout=3')
    await put(server, queue, 'got')
    await put(server, queue, 'last', '?visibilitytimeout=6')
    await get(server, queue, '?visibilitytimeout=5')
    server.advance(10 * SECOND_MS)
    await put(server, queue, 'new')
    const all = await get(server, queue, '?numofmessages=32')
    assert.deepEqual(texts(all), ['delayed', 'got', 'last', 'new'])
  })

  test('and what was given back goes behind the others that are visible', async () => {
    const queue = await fresh()
    for (const text of ['a', 'b']) await put(server, queue, text)
    const [a] = await get(server, queue)
    assert.equal(outcome(await update(queue, a?.id ?? '', a?.receipt ?? '', 0)), '204')
    assert.deepEqual(texts(await peek(queue)), ['b', 'a'])
  })
})

describe('peek', () => {
  test('shows what is visible and changes nothing', async () => {
    const queue = await fresh()
    for (const text of ['a', 'b', 'c']) await put(server, queue, text)
    await get(server, queue)
    for (let i = 0; i < 2; i += 1) assert.deepEqual(texts(await peek(queue)), ['b', 'c'])
    const [message] = await peek(queue, 1)
    assert.deepEqual([message?.dequeueCount, message?.receipt, message?.nextVisible], [0, '', ''])
    assert.deepEqual(texts(await get(server, queue)), ['b'])
  })
})

describe('update', () => {
  test('gives a new receipt and time, and a text only if it brings one', async () => {
    const queue = await fresh()
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

  test('may hide a message beyond its end, where it ends all the same', async () => {
    const queue = await fresh()
    const { id, receipt } = await put(server, queue, 'short', '?messagettl=5')
    const answer = await update(queue, id, receipt, 60)
    assert.equal(answer.status, 204)
    server.advance(5 * SECOND_MS)
    const latest = String(answer.headers['x-ms-popreceipt'])
    assert.equal(outcome(await remove(queue, id, latest)), '404 MessageNotFound')
    assert.equal(await countOf(server, queue), 0)
  })
})

describe('a pop receipt', () => {
  test('holds when only the timeout is over', async () => {
    const queue = await fresh()
    await put(server, queue, 'x')
    const [message] = await get(server, queue, '?visibilitytimeout=1')
    server.advance(60 * SECOND_MS)
    assert.deepEqual(texts(await peek(queue)), ['x'])
    assert.equal(outcome(await remove(queue, message?.id ?? '', message?.receipt ?? '')), '204')
    assert.equal(await countOf(server, queue), 0)
  })

  test('is stale after another get, an update, a delete, a clear', async () => {
    const queue = await fresh()
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
    assert.equal(outcome(await ask(server, { method: 'DELETE', path })), '204')
    assert.equal(outcome(await remove(queue, other.id, other.receipt)), '404 MessageNotFound')
  })

  test('of another message is a mismatch, and text that is none is refused', async () => {
    const queue = await fresh()
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
    assert.equal(await countOf(server, queue), 2)
  })
})

describe('time to live', () => {
  test('ends at its millisecond, visible or not, with a sweep or without', async () => {
    const queue = await fresh()
    const short = await put(server, queue, 'short', '?messagettl=2')
    await put(server, queue, 'hidden', '?messagettl=2&visibilitytimeout=1')
    await put(server, queue, 'long', '?messagettl=3')
    await put(server, queue, 'forever', '?messagettl=-1')
    server.advance(2 * SECOND_MS - 1)
    assert.equal((await peek(queue)).length, 4)
    assert.equal(await countOf(server, queue), 4)
    server.advance(1)
    assert.deepEqual(texts(await peek(queue)), ['long', 'forever'])
    assert.equal(await countOf(server, queue), 2)
    assert.equal(outcome(await remove(queue, short.id, short.receipt)), '404 MessageNotFound')
    server.advance(1_000 * WEEK_SECONDS * SECOND_MS)
    assert.deepEqual(texts(await get(server, queue, '?numofmessages=32')), ['forever'])
  })

  test('many that end at once leave those behind them to be got', async () => {
    const queue = await fresh()
    for (let i = 0; i < 1_100; i += 1) await put(server, queue, 'x', '?messagettl=1')
    await put(server, queue, 'alive', '?messagettl=60')
    server.advance(SECOND_MS)
    assert.deepEqual(texts(await peek(queue)), ['alive'])
    assert.deepEqual(texts(await get(server, queue)), ['alive'])
    assert.equal(await countOf(server, queue), 1)
  })
})

test('clear removes all, hidden and delayed ones too, and keeps the queue', async () => {
  const queue = await fresh()
  const metadata = {
    method: 'PUT',
    path: `/${queue}?comp=metadata`,
    headers: { 'x-ms-meta-a': '1' },
  }
  await ask(server, metadata)
  for (const query of ['', '', '?visibilitytimeout=5']) await put(server, queue, 'x', query)
  await get(server, queue)
  const answer = await ask(server, { method: 'DELETE', path: `/${queue}/messages` })
  assert.equal(outcome(answer), '204')
  server.advance(60 * SECOND_MS)
  assert.deepEqual([await countOf(server, queue), await peek(queue)], [0, []])
  const { headers } = await ask(server, { method: 'GET', path: `/${queue}?comp=metadata` })
  assert.equal(headers['x-ms-meta-a'], '1')
  await put(server, queue, 'after')
  await server.sweep()
  assert.deepEqual(texts(await get(server, queue)), ['after'])
})
