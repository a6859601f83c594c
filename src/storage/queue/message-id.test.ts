import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { messageIdAt } from './message-id.ts'

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is a GUID of version 7', () => {
  for (const nowMs of [0, Date.UTC(2024, 0), Date.UTC(9999, 11)]) {
    assert.match(messageIdAt(nowMs, randomUUID()), GUID)
  }
})

test('later ids come later, those of one millisecond differ', () => {
  const nowMs = Date.UTC(2024, 0)
  assert(messageIdAt(nowMs, randomUUID()) < messageIdAt(nowMs + 1, randomUUID()))
  assert.notEqual(messageIdAt(nowMs, randomUUID()), messageIdAt(nowMs, randomUUID()))
})
