import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { POLICY_LETTERS } from '../../storage/shared/access-policy.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { decodeSignedIdentifiers, encodeSignedIdentifiers } from './access-policy-xml.ts'

const document = (inner: string) => `<SignedIdentifiers>${inner}</SignedIdentifiers>`
const identifier = (id: string, policy: string) =>
  `<SignedIdentifier><Id>${id}</Id><AccessPolicy>${policy}</AccessPolicy></SignedIdentifier>`

const POLICY =
  '<Start>2026-01-01T00:00:00.0000000Z</Start><Expiry>2027-01-01T00:00:00.0000000Z</Expiry>' +
  '<Permission>rl</Permission>'

test('the policies that were set are returned', () => {
  const body = document(
    identifier('one', POLICY) + '<SignedIdentifier><Id>two &amp; three</Id></SignedIdentifier>',
  )
  const identifiers = decodeSignedIdentifiers('blob', body)
  assert.deepEqual(identifiers, [
    {
      id: 'one',
      policy: {
        start: '2026-01-01T00:00:00.0000000Z',
        expiry: '2027-01-01T00:00:00.0000000Z',
        permission: 'rl',
      },
    },
    { id: 'two & three', policy: {} },
  ])
  assert.equal(
    encodeSignedIdentifiers(identifiers),
    `<?xml version="1.0" encoding="utf-8"?>${body}`,
  )
})

test('no body and an empty list clear the policies; an identifier needs no policy', () => {
  assert.deepEqual(decodeSignedIdentifiers('blob', ''), [])
  assert.deepEqual(decodeSignedIdentifiers('blob', document('')), [])
  assert.deepEqual(
    decodeSignedIdentifiers('blob', document('<SignedIdentifier><Id>a</Id></SignedIdentifier>')),
    [{ id: 'a', policy: {} }],
  )
  assert.match(encodeSignedIdentifiers([]), /<SignedIdentifiers \/>$/)
})

const REFUSED = [
  ['another root', '<Identifiers/>', 'InvalidXmlDocument'],
  ['no id', document('<SignedIdentifier/>'), 'InvalidXmlDocument'],
  ['another element', document('<Identifier><Id>a</Id></Identifier>'), 'InvalidXmlDocument'],
  ['an unknown part of a policy', document(identifier('a', '<End/>')), 'InvalidXmlDocument'],
  [
    'six policies',
    document([1, 2, 3, 4, 5, 6].map((n) => identifier(`${n}`, '')).join('')),
    'InvalidXmlDocument',
  ],
  ['an id twice', document(identifier('a', '') + identifier('a', '')), 'InvalidXmlDocument'],
  ['an id of 65 characters', document(identifier('a'.repeat(65), '')), 'InvalidXmlDocument'],
  ['an invalid time', document(identifier('a', '<Start>now</Start>')), 'InvalidXmlNodeValue'],
  [
    'unknown letters',
    document(identifier('a', '<Permission>r!</Permission>')),
    'InvalidXmlDocument',
  ],
] as const

for (const [title, body, code] of REFUSED) {
  test(`${title} → ${code}`, () => {
    assert.throws(() => decodeSignedIdentifiers('blob', body), { code })
  })
}

test('each service accepts its own letters only', () => {
  const body = (letters: string) => document(identifier('a', `<Permission>${letters}</Permission>`))
  for (const [service, letters] of Object.entries(POLICY_LETTERS)) {
    const name = service as keyof typeof POLICY_LETTERS
    assert.equal(decodeSignedIdentifiers(name, body(letters))[0]?.policy.permission, letters)
  }
  // Recorded from a queue.
  for (const service of ['queue', 'table'] as const) {
    assert.throws(() => decodeSignedIdentifiers(service, body('rwdl')), {
      code: 'InvalidXmlDocument',
    })
  }
  assert.throws(() => decodeSignedIdentifiers('file', body('ra')), { code: 'InvalidXmlDocument' })
  assert.throws(() => decodeSignedIdentifiers('blob', body('rz')), { code: 'InvalidXmlDocument' })
})

test('a document with a part replaced never throws anything but a StorageError', () => {
  const parts: readonly string[] = document(identifier('a', POLICY)).match(/<[^>]+>|[^<]+/g) ?? []
  fc.assert(
    fc.property(fc.nat(parts.length - 1), fc.string(), (at, other) => {
      try {
        decodeSignedIdentifiers('blob', parts.with(at, other).join(''))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
