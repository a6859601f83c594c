import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hex } from './example.ts'
import { errorBody, NT_STATUS } from './status.ts'

test('every status is a u32 with one name', () => {
  const numbers = Object.values(NT_STATUS)
  assert(numbers.every((status) => Number.isInteger(status) && status >= 0 && status <= 0xffffffff))
  assert.equal(new Set(numbers).size, numbers.length)
})

test('an error body without data has one data byte', () => {
  assert.deepEqual(errorBody(), hex('0900 00 00 00000000 00'))
})

test('an error body contains its data', () => {
  assert.deepEqual(errorBody(hex('78000000')), hex('0900 00 00 04000000 78000000'))
})
