// [MS-SMB2] 3.3.5.14: a repeated LOCK is answered again but does not run again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT } from '../session/dialect.ts'
import { hasLockSequences, isRepeated, storeSequence } from './lock-sequence.ts'

test('a bucket stores its last number', () => {
  const handle = { lockSequences: new Map<number, number>() }
  const first = { sequenceIndex: 1, sequenceNumber: 5 }
  assert.equal(isRepeated(handle, first), false)
  assert.equal(isRepeated(handle, first), false, 'it was not completed')
  storeSequence(handle, first)
  assert.equal(isRepeated(handle, first), true)
  assert.equal(isRepeated(handle, { sequenceIndex: 2, sequenceNumber: 5 }), false)
  assert.equal(isRepeated(handle, { sequenceIndex: 1, sequenceNumber: 6 }), false)
  assert.equal(isRepeated(handle, first), false, 'there was another one in between')
})

for (const [sequenceIndex, isStored] of [
  [0, false],
  [1, true],
  [64, true],
  [65, false],
] as const) {
  test(`bucket ${sequenceIndex} ${isStored ? 'stores' : 'does not store'} a number`, () => {
    const handle = { lockSequences: new Map<number, number>() }
    storeSequence(handle, { sequenceIndex, sequenceNumber: 1 })
    assert.equal(isRepeated(handle, { sequenceIndex, sequenceNumber: 1 }), isStored)
  })
}

test('handles of 3.x have lock sequences, others only if they are resilient', () => {
  const durable = {
    kind: 'resilient',
    timeoutMs: 1_000,
    account: 'account',
    sid: undefined,
    share: 'share',
    clientGuid: '',
    createGuid: undefined,
  } as const
  assert.equal(hasLockSequences(DIALECT.smb300, {}), true)
  assert.equal(hasLockSequences(DIALECT.smb210, {}), false)
  assert.equal(hasLockSequences(DIALECT.smb210, { durable: { ...durable, kind: 'v1' } }), false)
  assert.equal(hasLockSequences(DIALECT.smb210, { durable }), true)
})
