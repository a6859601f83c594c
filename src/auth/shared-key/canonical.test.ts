import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  canonicalHeaders,
  canonicalResource,
  cultureKey,
  otherCanonicalHeaders,
  signedPaths,
} from './canonical.ts'
import { authRequest } from '../example.ts'

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
    assert.ok(cultureKey(left) < cultureKey(right), `${left} < ${right}`)
  }
})

test('culture order distinguishes any two names', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '0', '-', '_', '+'), maxLength: 6 })
  fc.assert(
    fc.property(name, name, (a, b) => assert.equal(cultureKey(a) === cultureKey(b), a === b)),
  )
})

test('canonical headers are sorted; empty ones count from 2016-05-31 on', () => {
  const headers = { 'x-ms-b': '2', 'X-MS-A': 'one  two', 'x-ms-c': '', date: 'no' }
  const at = (version: string) => authRequest('blob', { url: HOST, headers }, { version })
  assert.equal(canonicalHeaders(at('2016-05-31')), 'x-ms-a:one  two\nx-ms-b:2\nx-ms-c:\n')
  const others = [...otherCanonicalHeaders(at('2015-12-11'))]
  assert.deepEqual(others, ['x-ms-a:one two\nx-ms-b:2\n'])
})

test('the headers of a request have at most six canonical forms', () => {
  const headers = { 'x-ms-meta-a-b': 'a  b', 'x-ms-meta-ab': 'Ã¼', 'x-ms-meta-a_': "'" }
  const request = authRequest('blob', { url: HOST, headers })
  assert.equal(otherCanonicalHeaders(request).size, 5)
  const plain = authRequest('blob', { url: HOST, headers: { 'x-ms-date': 'x' } })
  assert.equal(otherCanonicalHeaders(plain).size, 0)
})

test('the canonical resource is the account, the path as sent and the sorted query', () => {
  const rows: [url: string, resource: string][] = [
    [HOST, '/devstoreaccount1/'],
    [`${HOST}/?comp=list`, '/devstoreaccount1/\ncomp:list'],
    [`${HOST}/c/a%20b?restype=X&Comp=Y`, '/devstoreaccount1/c/a%20b\ncomp:Y\nrestype:X'],
    [`${HOST}/c?include=b&include=a`, '/devstoreaccount1/c\ninclude:a,b'],
    [`${HOST}/c?prefix=%2Fa%2C`, '/devstoreaccount1/c\nprefix:/a,'],
    [`${LOCAL}/devstoreaccount1/c`, '/devstoreaccount1/devstoreaccount1/c'],
  ]
  for (const [url, resource] of rows) {
    const request = authRequest('blob', { url })
    assert.equal(canonicalResource(request, signedPaths(request)[0] ?? ''), resource)
  }
})

test('the secondary in path style may be signed with and without its suffix', () => {
  const request = authRequest('blob', { url: `${LOCAL}/devstoreaccount1-secondary/c` })
  assert.deepEqual(signedPaths(request), ['/devstoreaccount1-secondary/c', '/devstoreaccount1/c'])
})
