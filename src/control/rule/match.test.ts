// Which requests a rule matches.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { decodeMatch, matches, matchesPath } from './match.ts'
import { passingRequest } from './harness.ts'

const PATHS = [
  ['/c/doc', '/c/doc', true],
  ['/c/doc', '/c/docs', false],
  ['/c/doc', '/C/doc', false],
  ['/c/*', '/c/doc', true],
  ['/c/*', '/c/a/b/c', true],
  ['/c/*', '/c', false],
  ['*', '/', true],
  ['*.txt', '/c/a.txt', true],
  ['*.txt', '/c/a.txt.bak', false],
  ['/*/doc', '/c/doc', true],
  ['/c/*a*', '/c/banana', true],
  ['/c/*ab*ab', '/c/ab', false],
  ['/c/*ab*ab', '/c/abab', true],
  ['/c/a*a', '/c/a', false],
  ['/c/**', '/c/x', true],
  ['/c/a.c', '/c/abc', false],
] as const

for (const [pattern, path, expected] of PATHS) {
  test(`${pattern} ${expected ? 'matches' : 'does not match'} ${path}`, () => {
    assert.equal(matchesPath(pattern, path), expected)
  })
}

test('a pattern matches exactly what the regular expression for it matches', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*'), maxLength: 8 })
  const path = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 10 })
  fc.assert(
    fc.property(text, path, (pattern, actual) => {
      const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*')
      assert.equal(matchesPath(pattern, actual), new RegExp(`^${source}$`).test(actual))
    }),
  )
})

test('a pattern of many stars takes no long time', () => {
  assert.equal(matchesPath('*a'.repeat(2_000) + 'b', 'a'.repeat(60_000)), false)
})

const FIELDS = {
  service: 'queue',
  operation: 'Get Messages',
  account: 'other',
  path: '/jobs/messages',
  client: 'B',
  clientRequestId: 'B:1',
} as const

for (const [name, value] of Object.entries(FIELDS)) {
  test(`${name} must be the same, if it is given`, () => {
    const match = decodeMatch({ [name]: value }, 'match')
    assert.equal(matches(match, passingRequest(FIELDS)), true)
    assert.equal(matches(match, passingRequest({})), false)
  })
}

test('all fields must match, and no field matches anything', () => {
  assert.equal(matches(decodeMatch(FIELDS, 'match'), passingRequest(FIELDS)), true)
  const other = passingRequest({ ...FIELDS, client: 'C' })
  assert.equal(matches(decodeMatch(FIELDS, 'match'), other), false)
  assert.equal(matches(decodeMatch({}, 'match'), other), true)
})
