import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rarely } from './rarely.ts'

test('a message is reported at most once a minute, with the number of those left out', () => {
  let nowMs = 0
  const reported: unknown[] = []
  const report = rarely(
    (message, fields) => reported.push([message, fields]),
    () => nowMs,
  )
  for (const atMs of [0, 1, 59_999]) {
    nowMs = atMs
    report('a', { atMs })
  }
  report('b', {})
  nowMs = 60_000
  report('a', { atMs: nowMs })
  nowMs = 120_000
  report('a', { atMs: nowMs })
  assert.deepEqual(reported, [
    ['a', { atMs: 0 }],
    ['b', {}],
    ['a', { atMs: 60_000, leftOut: 2 }],
    ['a', { atMs: 120_000 }],
  ])
})
