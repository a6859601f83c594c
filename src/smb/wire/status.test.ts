import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hex } from './example.ts'
import { encodeErrorContext, errorBody, NT_STATUS } from './status.ts'

test('every status is a u32 and has one name', () => {
  const numbers = Object.values(NT_STATUS)
  assert(numbers.every((status) => Number.isInteger(status) && status >= 0 && status <= 0xffffffff))
  assert.equal(new Set(numbers).size, numbers.length)
})

test('an error body has one data byte even when there is no data', () => {
  assert.deepEqual(errorBody(), hex('0900 00 00 00000000 00'))
})

test('an error body with data', () => {
  assert.deepEqual(errorBody(hex('78000000')), hex('0900 00 00 04000000 78000000'))
})

test('3.1.1 wraps error data in a context', () => {
  const context = encodeErrorContext(0, hex('78000000'))
  assert.deepEqual(context, hex('04000000 00000000 78000000'))
  assert.deepEqual(errorBody(context, 1).subarray(0, 8), hex('0900 01 00 0c000000'))
})
