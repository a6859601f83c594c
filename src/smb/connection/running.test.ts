// How CANCEL finds requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRunningRequests } from './running.ts'

test('CANCEL finds a waiting request by its message id', () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  let cancelled = 0
  assert.equal(
    running.wait(request, () => cancelled++),
    true,
    'an interim response is due',
  )
  running.cancel({ asyncId: undefined, messageId: 7n })
  assert.equal(cancelled, 1)
})

test('CANCEL finds a waiting request by its async id', () => {
  const running = createRunningRequests()
  const [first, second] = [running.begin(7n), running.begin(8n)]
  const cancelled: string[] = []
  running.wait(first, () => cancelled.push('first'))
  running.wait(second, () => cancelled.push('second'))
  for (const request of [first, second]) running.goAsync(request)
  assert.notEqual(first.asyncId, second.asyncId)
  running.cancel({ asyncId: second.asyncId, messageId: 7n })
  assert.deepEqual(cancelled, ['second'])
})

test('a request that waits again gets no second interim response, and CANCEL ends the last wait', () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  const cancelled: string[] = []
  assert.equal(
    running.wait(request, () => cancelled.push('first')),
    true,
  )
  running.goAsync(request)
  assert.equal(
    running.wait(request, () => cancelled.push('second')),
    false,
  )
  running.cancel({ asyncId: request.asyncId, messageId: 0n })
  assert.deepEqual(cancelled, ['second'])
})

test('a CANCEL before the wait ends it at once, without an interim response', async () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  running.cancel({ asyncId: undefined, messageId: 7n })
  let cancelled = 0
  assert.equal(
    running.wait(request, () => cancelled++),
    false,
  )
  assert.equal(cancelled, 0, 'not before the command waits')
  await Promise.resolve()
  assert.equal(cancelled, 1)
  assert.equal(request.asyncId, undefined)
})

test('CANCEL does not find a request that has ended', () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  let cancelled = 0
  running.wait(request, () => cancelled++)
  running.goAsync(request)
  running.end(request)
  running.cancel({ asyncId: request.asyncId, messageId: 7n })
  running.cancel({ asyncId: undefined, messageId: 7n })
  running.cancelAll()
  assert.equal(cancelled, 0)
})

test('the end of the connection cancels all requests', () => {
  const running = createRunningRequests()
  let cancelled = 0
  for (const id of [1n, 2n, 3n]) running.wait(running.begin(id), () => cancelled++)
  running.cancelAll()
  assert.equal(cancelled, 3)
})
