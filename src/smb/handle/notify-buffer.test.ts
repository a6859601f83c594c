import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNotifyBuffer } from './notify-buffer.ts'
import { encodeChanges, NOTIFY_ACTION, type Change } from '../wire/file/change-notify.ts'

const { added, modified, removed } = NOTIFY_ACTION
const one: Change = { action: added, name: 'a' }
/** 12 bytes and the name, rounded up to a multiple of four. */
const ONE_BYTES = 16

test('take returns all changes in order', () => {
  const buffer = createNotifyBuffer(1_000)
  assert.equal(buffer.isEmpty, true)
  const changes = [one, { action: removed, name: 'a' }, { action: added, name: 'bb' }]
  for (const change of changes) buffer.add(change)
  assert.equal(buffer.isEmpty, false)
  assert.deepEqual(buffer.take(1_000), encodeChanges(changes, 1_000))
  assert.equal(buffer.isEmpty, true)
})

test('consecutive modifications of the same name are one change', () => {
  const buffer = createNotifyBuffer(1_000)
  const change = { action: modified, name: 'a' }
  for (const each of [change, change, { action: modified, name: 'b' }, change]) buffer.add(each)
  const expected = [change, { action: modified, name: 'b' }, change]
  assert.deepEqual(buffer.take(1_000), encodeChanges(expected, 1_000))
})

test('an overflow drops the changes, and the client has to list the directory once', () => {
  const buffer = createNotifyBuffer(2 * ONE_BYTES)
  for (const name of ['a', 'b', 'c', 'd']) buffer.add({ action: added, name })
  assert.equal(buffer.isEmpty, false)
  assert.equal(buffer.take(1_000), undefined)
  assert.equal(buffer.isEmpty, true)
  buffer.add(one)
  assert.deepEqual(buffer.take(1_000), encodeChanges([one], 1_000))
})

test('changes that exceed a request are dropped', () => {
  const buffer = createNotifyBuffer(1_000)
  buffer.add(one)
  assert.equal(buffer.take(ONE_BYTES - 3), undefined)
  assert.equal(buffer.isEmpty, true)
})
