import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { besideFolder, decodeSegment, encodeSegment, encodeSegments } from './seed-path.ts'

const NAMES: readonly (readonly [name: string, path: string])[] = [
  ['a/b.txt', 'a/b.txt'],
  ['a//b', 'a/%2F/b'],
  ['a/', 'a/%2F'],
  ['100%', '100%25'],
  ['a:b?*', 'a%3Ab%3F%2A'],
  ['..', '%2E%2E'],
  ['end. /x', 'end.%20/x'],
  ['end.', 'end%2E'],
  ['ä/日', 'ä/日'],
]
for (const [name, path] of NAMES) {
  test(`"${name}" is the file ${path}`, () => {
    assert.equal(encodeSegments(name).join('/'), path)
    assert.equal(encodeSegments(name).map(decodeSegment).join('/'), name)
  })
}

test('every name comes back', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('/')),
      (segment) => {
        assert.equal(decodeSegment(encodeSegment(segment)), segment)
        if (segment !== '')
          assert.equal(decodeSegment(besideFolder(encodeSegment(segment))), segment)
      },
    ),
  )
})

test('a file that nobody has encoded keeps its name', () => {
  for (const name of ['100%.txt', '50% off', '%', 'a%zz', '%ff']) {
    assert.equal(decodeSegment(name), name)
  }
})
