import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  checkSignedIdentifiers,
  POLICY_LETTERS,
  policyTime,
  policyTimeMs,
} from './access-policy.ts'
import { StorageError } from './error.ts'

const LETTERS = POLICY_LETTERS.blob

const identifiers = (...ids: string[]) => ids.map((id) => ({ id, policy: {} }))

test('zero to five policies with ids of up to 64 characters are valid', () => {
  checkSignedIdentifiers([], LETTERS)
  checkSignedIdentifiers(identifiers('a'.repeat(64), 'b', 'c', 'd', ''), LETTERS)
})

for (const [title, list] of [
  ['six policies', identifiers('1', '2', '3', '4', '5', '6')],
  ['an id of 65 characters', identifiers('a'.repeat(65))],
  ['a duplicate id', identifiers('a', 'a')],
] as const) {
  test(`${title} → InvalidXmlDocument`, () => {
    assert.throws(() => checkSignedIdentifiers(list, LETTERS), { code: 'InvalidXmlDocument' })
  })
}

test('permissions consist of known letters', () => {
  checkSignedIdentifiers([{ id: 'a', policy: { permission: 'racwdxltmeop' } }], LETTERS)
  assert.throws(
    () => checkSignedIdentifiers([{ id: 'a', policy: { permission: 'r w' } }], LETTERS),
    {
      code: 'InvalidXmlDocument',
    },
  )
})

const TIMES = [
  ['2026-01-02', '2026-01-02T00:00:00.0000000Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.0000000Z'],
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.0000000Z'],
  ['2026-01-02T03:04:05', '2026-01-02T03:04:05.0000000Z'],
  ['2026-01-02T03:04:05.1234567Z', '2026-01-02T03:04:05.1234567Z'],
  ['2026-01-02T03:04:05.5+01:00', '2026-01-02T02:04:05.5000000Z'],
] as const

for (const [text, normalized] of TIMES) {
  test(`the time ${text} of a policy is stored as ${normalized}`, () => {
    assert.equal(policyTime('Start', text), normalized)
  })
}

test('a stored time converts to milliseconds', () => {
  assert.equal(policyTimeMs('2026-01-02T03:04:05.1234567Z'), Date.UTC(2026, 0, 2, 3, 4, 5, 123))
})

for (const text of ['', 'tomorrow', '2026-13-01', '2026-01-02T25:00Z', '2026-01-02 03:04']) {
  test(`${JSON.stringify(text)} is not a time`, () => {
    assert.throws(() => policyTime('Expiry', text), { code: 'InvalidXmlNodeValue' })
  })
}

test('any text is a valid time or throws a StorageError', () => {
  const text = fc.oneof(
    fc.string(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  )
  fc.assert(
    fc.property(text, (time) => {
      try {
        assert.equal(policyTime('Start', time).length, 28)
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
