import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { expiryOf, firstIdAt, messageIdAt } from './message-id.ts'

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const NOW_MS = Date.UTC(2024, 0)
const idOf = (expiresMs: number | undefined, nowMs = NOW_MS) =>
  messageIdAt({ nowMs, expiresMs }, randomUUID())

test('an id is a version 8 GUID, whatever the clock says', () => {
  for (const nowMs of [0, NOW_MS, Date.UTC(9999, 11), 8.64e15]) {
    for (const expiresMs of [undefined, nowMs, nowMs + 1])
      assert.match(idOf(expiresMs, nowMs), GUID)
  }
})

test('ids are ordered by expiry, and those of one millisecond differ', () => {
  const times = [NOW_MS + 1, NOW_MS + 2, NOW_MS + 2 ** 31 * 1_000, undefined]
  const ids = times.map((expiresMs) => idOf(expiresMs))
  assert.deepEqual(ids.toSorted(), ids)
  assert.notEqual(idOf(NOW_MS), idOf(NOW_MS))
  assert(idOf(undefined) < idOf(undefined, NOW_MS + 1))
})

test('an id contains the expiry of its message, and firstIdAt is its lower bound', () => {
  for (const expiresMs of [1, NOW_MS, Date.UTC(9999, 11)]) {
    const id = idOf(expiresMs)
    assert.equal(expiryOf(id), expiresMs)
    assert(firstIdAt(expiresMs) < id && id < firstIdAt(expiresMs + 1))
  }
  assert.equal(expiryOf(idOf(undefined)), undefined)
  assert(firstIdAt(8.64e15) < idOf(undefined))
})
