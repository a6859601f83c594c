import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import { decodeCustomerKey } from './customer-key.ts'
import type { HeaderFields } from '../../http/protocol/header.ts'

// The key of the SDKs' own tests, and the hash that the service returned.
const KEY = 'MDEyMzQ1NjcwMTIzNDU2NzAxMjM0NTY3MDEyMzQ1Njc='
const SHA256 = '3QFFFpRA5+XANHqwwbT4yXDmrT/2JaLt/FKHjzhOdoE='
const [key, sha256, algorithm] = [
  'x-ms-encryption-key',
  'x-ms-encryption-key-sha256',
  'x-ms-encryption-algorithm',
] as const
const ALL = { [key]: KEY, [sha256]: SHA256, [algorithm]: 'AES256' }

test('the key is decoded from three headers', () => {
  const decoded = decodeCustomerKey(ALL, true, '')
  assert.deepEqual(decoded, { key: Buffer.from('01234567'.repeat(4)), sha256: SHA256 })
})

test('the source of a copy has headers of its own', () => {
  const source = Object.fromEntries(
    Object.entries(ALL).map(([name, value]) => [name.replace('x-ms-', 'x-ms-source-'), value]),
  )
  assert.equal(decodeCustomerKey(source, true, 'source-')?.sha256, SHA256)
  assert.equal(decodeCustomerKey(source, true, ''), undefined)
  assert.equal(decodeCustomerKey(ALL, true, 'source-'), undefined)
  assert.throws(() => decodeCustomerKey({ 'x-ms-source-encryption-key': KEY }, true, 'source-'), {
    details: { HeaderName: 'x-ms-source-encryption-key-sha256' },
  })
})

const NONE: readonly (readonly [title: string, headers: HeaderFields])[] = [
  ['no header', {}],
  ['empty headers', { [key]: '', [sha256]: '' }],
  ['the algorithm alone', { [algorithm]: 'AES256' }],
]
for (const [title, headers] of NONE) {
  test(`${title} → no key, over HTTP too`, () => {
    assert.equal(decodeCustomerKey(headers, true), undefined)
    assert.equal(decodeCustomerKey(headers, false), undefined)
  })
}

const MISSING = 'MissingRequiredHeader'
const INVALID = 'InvalidHeaderValue'
const OTHER_SHA256 = createHash('sha256').update('other').digest('base64')
// prettier-ignore
const REFUSED: readonly (readonly [title: string, change: HeaderFields, code: string, header: string])[] = [
  ['without the key',               { [key]: undefined },               MISSING, key],
  ['without the hash',              { [sha256]: undefined },            MISSING, sha256],
  ['without the algorithm',         { [algorithm]: undefined },         MISSING, algorithm],
  ['with another algorithm',        { [algorithm]: 'AES128' },          INVALID, algorithm],
  ['with a key of 31 bytes',        { [key]: `${KEY.slice(0, 42)}==` }, INVALID, key],
  ['with a key of 33 bytes',        { [key]: KEY.replace('=', 'A') },   INVALID, key],
  ['with a key that is not base64', { [key]: KEY.replace('M', '!') },   INVALID, key],
  ['with a key twice',              { [key]: [KEY, KEY] },              INVALID, key],
  ['with the hash of another key',  { [sha256]: OTHER_SHA256 },         INVALID, sha256],
  ['with a hash that is cut off',  { [sha256]: SHA256.slice(0, -1) },  INVALID, sha256],
]
for (const [title, change, code, header] of REFUSED) {
  test(`${title} → 400 ${code}`, () => {
    assert.throws(
      () => decodeCustomerKey({ ...ALL, ...change }, true),
      (error) => {
        assert(error instanceof StorageError)
        assert.deepEqual([error.status, error.code], [400, code])
        assert.equal(error.details['HeaderName'], header)
        return true
      },
    )
  })
}

test('a read may omit the algorithm, but not name another', () => {
  const read = (value: string | undefined) =>
    decodeCustomerKey({ ...ALL, [algorithm]: value }, true, '', 'read')
  assert.equal(read(undefined)?.sha256, SHA256)
  assert.throws(() => read('AES128'), { code: INVALID })
})

test('a key sent over plain HTTP → 400 UnsupportedHeader', () => {
  const refused = { status: 400, code: 'UnsupportedHeader' }
  assert.throws(() => decodeCustomerKey(ALL, false), refused)
  assert.throws(() => decodeCustomerKey({ [sha256]: SHA256 }, false), refused)
})

test('no error contains the key that was sent', () => {
  const text = fc.string({ minLength: 8 })
  fc.assert(
    fc.property(text, fc.boolean(), (sent, secure) => {
      try {
        decodeCustomerKey({ ...ALL, [key]: sent }, secure)
        assert.fail('a key that does not match the hash was accepted')
      } catch (error) {
        assert(error instanceof StorageError)
        assert(!Object.values(error.details).includes(sent) && error.message !== sent)
      }
    }),
  )
})
