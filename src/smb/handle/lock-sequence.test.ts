// [MS-SMB2] 3.3.5.14: a LOCK that comes again is answered again and not done again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT } from '../session/dialect.ts'
import { countsSequences, isRepeated, rememberSequence } from './lock-sequence.ts'

test('the last number of a bucket is known', () => {
  const handle = { lockSequences: new Map<number, number>() }
  const first = { sequenceIndex: 1, sequenceNumber: 5 }
  assert.equal(isRepeated(handle, first), false)
  assert.equal(isRepeated(handle, first), false, 'it was not done')
  rememberSequence(handle, first)
  assert.equal(isRepeated(handle, first), true)
  assert.equal(isRepeated(handle, { sequenceIndex: 2, sequenceNumber: 5 }), false)
  assert.equal(isRepeated(handle, { sequenceIndex: 1, sequenceNumber: 6 }), false)
  assert.equal(isRepeated(handle, first), false, 'another has come in between')
})

for (const [sequenceIndex, isKnown] of [
  [0, false],
  [1, true],
  [64, true],
  [65, false],
] as const) {
  test(`bucket ${sequenceIndex}: ${isKnown}`, () => {
    const handle = { lockSequences: new Map<number, number>() }
    rememberSequence(handle, { sequenceIndex, sequenceNumber: 1 })
    assert.equal(isRepeated(handle, { sequenceIndex, sequenceNumber: 1 }), isKnown)
  })
}

test('handles of 3.x count, others only if they were made to last', () => {
  const durable = {
    kind: 'resilient',
    timeoutMs: 1_000,
    account: 'account',
    sid: undefined,
    share: 'share',
    clientGuid: '',
    createGuid: undefined,
  } as const
  assert.equal(countsSequences(DIALECT.smb300, {}), true)
  assert.equal(countsSequences(DIALECT.smb210, {}), false)
  assert.equal(countsSequences(DIALECT.smb210, { durable: { ...durable, kind: 'v1' } }), false)
  assert.equal(countsSequences(DIALECT.smb210, { durable }), true)
})
