import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../storage/error.ts'
import { decodeSignedIdentifiers, encodeSignedIdentifiers } from './access-policy-xml.ts'

const document = (inner: string) => `<SignedIdentifiers>${inner}</SignedIdentifiers>`
const identifier = (id: string, policy: string) =>
  `<SignedIdentifier><Id>${id}</Id><AccessPolicy>${policy}</AccessPolicy></SignedIdentifier>`

const POLICY =
  '<Start>2026-01-01T00:00:00.0000000Z</Start><Expiry>2027-01-01T00:00:00.0000000Z</Expiry>' +
  '<Permission>rl</Permission>'

test('what is set comes back', () => {
  const body = document(identifier('one', POLICY) + identifier('two &amp; three', ''))
  const identifiers = decodeSignedIdentifiers(body)
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

test('no body, an empty list and an identifier without a policy', () => {
  assert.deepEqual(decodeSignedIdentifiers(''), [])
  assert.deepEqual(decodeSignedIdentifiers(document('')), [])
  assert.deepEqual(
    decodeSignedIdentifiers(document('<SignedIdentifier><Id>a</Id></SignedIdentifier>')),
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
  ['an id of 65', document(identifier('a'.repeat(65), '')), 'InvalidXmlDocument'],
  ['a time that is none', document(identifier('a', '<Start>now</Start>')), 'InvalidXmlNodeValue'],
  [
    'letters that are none',
    document(identifier('a', '<Permission>r!</Permission>')),
    'InvalidXmlNodeValue',
  ],
] as const

for (const [title, body, code] of REFUSED) {
  test(`${title} → ${code}`, () => {
    assert.throws(() => decodeSignedIdentifiers(body), { code })
  })
}

test('a document with a part replaced never throws anything but a StorageError', () => {
  const parts: readonly string[] = document(identifier('a', POLICY)).match(/<[^>]+>|[^<]+/g) ?? []
  fc.assert(
    fc.property(fc.nat(parts.length - 1), fc.string(), (at, other) => {
      try {
        decodeSignedIdentifiers(parts.with(at, other).join(''))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
