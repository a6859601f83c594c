import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from './error.ts'
import { checkTags, decodeTagsHeader, NO_TAGS, type Tags } from './tags.ts'

const numbered = (count: number): Tags =>
  Array.from({ length: count }, (_, i) => [`name${i}`, 'value'] as const)

const VALID: readonly (readonly [title: string, tags: Tags])[] = [
  ['none', []],
  ['ten', numbered(10)],
  ['a name of 128, a value of 256', [['n'.repeat(128), 'v'.repeat(256)]]],
  ['an empty value', [['name', '']]],
  ['all permitted characters', [['azAZ09 +-./:=_', ' azAZ09+-./:=_']]],
  ['names that differ in case', [['a', '1'], ['A', '2']]],
  ['a name that JavaScript uses', [['__proto__', 'constructor']]],
] // prettier-ignore

for (const [title, tags] of VALID) {
  test(`tags: ${title} → ok`, () => checkTags(tags))
}

const INVALID: readonly (readonly [title: string, tags: Tags, code: string])[] = [
  ['eleven', numbered(11), 'TagsTooLarge'],
  ['an empty name', [['', 'value']], 'EmptyTagName'],
  ['a name of 129', [['n'.repeat(129), '']], 'TagsTooLarge'],
  ['a value of 257', [['name', 'v'.repeat(257)]], 'TagsTooLarge'],
  ['a name with an invalid character', [['na@me', '']], 'InvalidTag'],
  ['a value with an invalid character', [['name', 'é']], 'InvalidTag'],
  ['a value with a line feed', [['name', 'value\n']], 'InvalidTag'],
  ['a duplicate name', [['a', '1'], ['b', '2'], ['a', '3']], 'DuplicateTagNames'],
] // prettier-ignore

for (const [title, tags, code] of INVALID) {
  test(`tags: ${title} → ${code}`, () => assert.throws(() => checkTags(tags), { code }))
}

test('x-ms-tags is a query string', () => {
  assert.equal(decodeTagsHeader(''), NO_TAGS)
  assert.deepEqual(decodeTagsHeader('a%20b=1%2B%3D%2F%3A&c='), [['a b', '1+=/:'], ['c', '']]) // prettier-ignore
  assert.deepEqual(decodeTagsHeader('a+b=c+d&e=f=g&'), [['a b', 'c d'], ['e', 'f=g']]) // prettier-ignore
})

const INVALID_HEADERS = [
  ['a', 'InvalidHeaderValue'],
  ['a=%ff', 'InvalidHeaderValue'],
  ['%=a', 'InvalidHeaderValue'],
  ['=a', 'EmptyTagName'],
  ['a=1&a=2', 'DuplicateTagNames'],
  ['a=%26', 'InvalidTag'],
  [`a=${'%20'.repeat(683)}`, 'TagsTooLarge'],
] as const

for (const [header, code] of INVALID_HEADERS) {
  test(`x-ms-tags ${header.slice(0, 20)} → ${code}`, () => {
    assert.throws(() => decodeTagsHeader(header), { code })
  })
}

test('any x-ms-tags gives valid tags or throws a StorageError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab=&%2+0é') }), (header) => {
      try {
        checkTags(decodeTagsHeader(header))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
