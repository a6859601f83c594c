// What CANCEL finds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRunningRequests } from './running.ts'

test('by its message id, before and after the client was told to wait', () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  let cancelled = 0
  assert.equal(
    running.wait(request, () => cancelled++),
    true,
    'the client is to be told',
  )
  running.cancel({ asyncId: undefined, messageId: 7n })
  assert.equal(cancelled, 1)
})

test('by its async id', () => {
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

test('who waits again is told once, and what is cancelled is the last wait', () => {
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

test('a CANCEL that comes before the wait ends it at once, without an interim answer', async () => {
  const running = createRunningRequests()
  const request = running.begin(7n)
  running.cancel({ asyncId: undefined, messageId: 7n })
  let cancelled = 0
  assert.equal(
    running.wait(request, () => cancelled++),
    false,
  )
  assert.equal(cancelled, 0, 'not while the command is still on its way to wait')
  await Promise.resolve()
  assert.equal(cancelled, 1)
  assert.equal(request.asyncId, undefined)
})

test('what has ended is not found', () => {
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

test('all of them, when the connection ends', () => {
  const running = createRunningRequests()
  let cancelled = 0
  for (const id of [1n, 2n, 3n]) running.wait(running.begin(id), () => cancelled++)
  running.cancelAll()
  assert.equal(cancelled, 3)
})
