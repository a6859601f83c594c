import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWriteTimeLate, noteWrite, showWriteTime, visibleWriteTime } from './write-time.ts'

const handle = () => ({ commandState: new Map<string, unknown>() })

test('the first write becomes visible after two seconds', () => {
  const own = handle()
  assert.equal(visibleWriteTime(own, '1', 0), '1')
  noteWrite(own, '1', '2', 1_000)
  assert.equal(visibleWriteTime(own, '2', 2_999), '1')
  assert.equal(visibleWriteTime(own, '2', 3_000), '2')
  assert.equal(isWriteTimeLate(own), false)
})

test('later writes stay invisible until showWriteTime', () => {
  const own = handle()
  noteWrite(own, '1', '2', 1_000)
  noteWrite(own, '2', '3', 2_000)
  assert.equal(isWriteTimeLate(own), false)
  noteWrite(own, '3', '4', 5_000)
  assert.equal(visibleWriteTime(own, '4', 9_000), '2')
  assert.equal(isWriteTimeLate(own), true)
  showWriteTime(own)
  assert.equal(visibleWriteTime(own, '4', 9_000), '4')
  assert.equal(isWriteTimeLate(own), false)
})

test('a time that another handle has set is visible at once', () => {
  const own = handle()
  noteWrite(own, '1', '2', 1_000)
  assert.equal(visibleWriteTime(own, '7', 1_001), '7')
})
