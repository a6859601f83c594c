import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { canonicalHeaders, canonicalResource, compareByCulture, signedPaths } from './canonical.ts'
import { requestOf } from './example.ts'

const HOST = 'https://devstoreaccount1.blob.core.windows.net'
const LOCAL = 'http://127.0.0.1:10000'

test('culture order: punctuation, digits, letters; hyphens last', () => {
  const rows: [left: string, right: string][] = [
    ['x-ms-meta-_', 'x-ms-meta-0'],
    ['x-ms-meta-0', 'x-ms-meta-a'],
    ['x-ms-meta-ab', 'x-ms-meta-a-b'],
    ['x-ms-meta-a-b', 'x-ms-meta-ac'],
    ['x-ms-meta-a', 'x-ms-meta-aa'],
    ['x-ms-meta-a', 'x-ms-meta-a-'],
    ['x-ms-meta-~', 'x-ms-meta-+'],
    ['x-ms-blob-type', 'x-ms-date'],
  ]
  for (const [left, right] of rows) {
    assert.ok(compareByCulture(left, right) < 0, `${left} < ${right}`)
    assert.ok(compareByCulture(right, left) > 0, `${right} > ${left}`)
  }
})

test('culture order is an order', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '0', '-', '_', '+'), maxLength: 6 })
  fc.assert(
    fc.property(name, name, name, (a, b, c) => {
      assert.equal(Math.sign(compareByCulture(a, b)), -Math.sign(compareByCulture(b, a)) || 0)
      assert.equal(compareByCulture(a, b) === 0, a === b)
      if (compareByCulture(a, b) <= 0 && compareByCulture(b, c) <= 0) {
        assert.ok(compareByCulture(a, c) <= 0)
      }
    }),
  )
})

test('canonical headers', () => {
  const headers = { 'x-ms-b': '2', 'X-MS-A': 'one  two', 'x-ms-c': '', date: 'no' }
  const at = (version: string) => requestOf('blob', { url: HOST, headers }, { version })
  const text = canonicalHeaders(at('2016-05-31'), 'ordinal', 'received')
  assert.equal(text, 'x-ms-a:one  two\nx-ms-b:2\nx-ms-c:\n')
  const folded = canonicalHeaders(at('2015-12-11'), 'ordinal', 'folded')
  assert.equal(folded, 'x-ms-a:one two\nx-ms-b:2\n')
})

test('canonical resource', () => {
  const rows: [url: string, resource: string][] = [
    [HOST, '/devstoreaccount1/'],
    [`${HOST}/?comp=list`, '/devstoreaccount1/\ncomp:list'],
    [`${HOST}/c/a%20b?restype=X&Comp=Y`, '/devstoreaccount1/c/a%20b\ncomp:Y\nrestype:X'],
    [`${HOST}/c?include=b&include=a`, '/devstoreaccount1/c\ninclude:a,b'],
    [`${HOST}/c?prefix=%2Fa%2C`, '/devstoreaccount1/c\nprefix:/a,'],
    [`${LOCAL}/devstoreaccount1/c`, '/devstoreaccount1/devstoreaccount1/c'],
  ]
  for (const [url, resource] of rows) {
    const request = requestOf('blob', { url })
    assert.equal(canonicalResource(request, signedPaths(request)[0] ?? ''), resource)
  }
})

test('the secondary in path style may be signed with and without its suffix', () => {
  const request = requestOf('blob', { url: `${LOCAL}/devstoreaccount1-secondary/c` })
  assert.deepEqual(signedPaths(request), ['/devstoreaccount1-secondary/c', '/devstoreaccount1/c'])
})
