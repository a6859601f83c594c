import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWriteTimeLate, noteWrite, showWriteTime, shownWriteTime } from './write-time.ts'

const handle = () => ({ kept: new Map<string, unknown>() })

test('a first write is shown after two seconds', () => {
  const own = handle()
  assert.equal(shownWriteTime(own, '1', 0), '1')
  noteWrite(own, '1', '2', 1_000)
  assert.equal(shownWriteTime(own, '2', 2_999), '1')
  assert.equal(shownWriteTime(own, '2', 3_000), '2')
  assert.equal(isWriteTimeLate(own), false)
})

test('further writes are not shown until something shows them', () => {
  const own = handle()
  noteWrite(own, '1', '2', 1_000)
  noteWrite(own, '2', '3', 2_000)
  assert.equal(isWriteTimeLate(own), false)
  noteWrite(own, '3', '4', 5_000)
  assert.equal(shownWriteTime(own, '4', 9_000), '2')
  assert.equal(isWriteTimeLate(own), true)
  showWriteTime(own)
  assert.equal(shownWriteTime(own, '4', 9_000), '4')
  assert.equal(isWriteTimeLate(own), false)
})

test('a time that another handle has set is shown at once', () => {
  const own = handle()
  noteWrite(own, '1', '2', 1_000)
  assert.equal(shownWriteTime(own, '7', 1_001), '7')
})
