import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import { decodeSegments, parseQuery } from './query.ts'

const QUERIES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['', {}],
  ['restype=container&comp=list', { restype: 'container', comp: 'list' }],
  ['ResType=Container', { restype: 'Container' }],
  ['prefix=a%2Fb+c%20d', { prefix: 'a/b c d' }],
  ['%24filter=a%20eq%20%27x%27', { $filter: "a eq 'x'" }],
  ['marker=a=b==', { marker: 'a=b==' }],
  ['comp', { comp: '' }],
  ['comp=', { comp: '' }],
  ['&&a=1&', { a: '1' }],
  ['include=b&include=a&INCLUDE=c', { include: 'a,b,c' }],
  ['q=%F0%9F%98%8A', { q: '😊' }],
  ['__proto__=1', Object.fromEntries([['__proto__', '1']])],
]

for (const [raw, expected] of QUERIES) {
  test(`?${raw} → ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(Object.fromEntries(parseQuery(raw)), expected)
  })
}

test('256 fields are accepted', () => {
  assert.equal(parseQuery(Array.from({ length: 256 }, (_, at) => `a${at}=1`).join('&')).size, 256)
})

for (const raw of [
  'a=1' + '&a=1'.repeat(256),
  'a=%',
  'a=%zz',
  'a=%ff',
  '%c0%80=1',
  `a=${'x'.repeat(65_536)}`,
]) {
  test(`?${raw.slice(0, 20)} can't be parsed`, () => {
    assert.throws(() => parseQuery(raw), { code: 'RequestUrlFailedToParse', status: 400 })
  })
}

const PATHS: readonly (readonly [string, readonly string[]])[] = [
  ['', []],
  ['c', ['c']],
  ['c/', ['c']],
  ['c/b', ['c', 'b']],
  ['c/a/b', ['c', 'a/b']],
  ['c/a%2Fb', ['c', 'a/b']],
  ['c/a%20b%25', ['c', 'a b%']],
  ['c/a+b', ['c', 'a+b']],
  ['c/dir/', ['c', 'dir/']],
  ['c//a', ['c', '/a']],
  ['%24root/b', ['$root', 'b']],
  ['c/%E2%82%AC', ['c', '€']],
]

for (const [raw, expected] of PATHS) {
  test(`/${raw} addresses ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(decodeSegments(raw), expected)
  })
}

for (const raw of ['c/%', 'c/%4', 'c/%ff', 'c/%ed%a0%80', '%c3/x']) {
  test(`/${raw} → InvalidUri`, () => {
    assert.throws(() => decodeSegments(raw), { code: 'InvalidUri', status: 400 })
  })
}

test('any text is decoded or refused with a StorageError; encoded text decodes to itself', () => {
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom('%', '4', 'f', '/', '&', '=', '+')).map((x) => x.join('')),
  )
  fc.assert(
    fc.property(text, (raw) => {
      for (const decode of [parseQuery, decodeSegments]) {
        try {
          decode(raw)
        } catch (error) {
          assert(error instanceof StorageError)
        }
      }
    }),
  )
  const name = fc.string({ unit: 'binary', minLength: 1 }).filter((s) => !/\p{Cs}/u.test(s))
  fc.assert(
    fc.property(name, (value) => {
      const encoded = encodeURIComponent(value)
      assert.deepEqual(decodeSegments(`c/${encoded}`), ['c', value])
      assert.equal(parseQuery(`a=${encoded}`).get('a'), value)
    }),
  )
})
