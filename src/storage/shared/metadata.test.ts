import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from './error.ts'
import { checkMetadata, isSameMetadata, type Metadata } from './metadata.ts'

const OK = 'ok'
const outcome = (metadata: Metadata): string => {
  try {
    checkMetadata(metadata)
    return OK
  } catch (error) {
    assert(error instanceof StorageError)
    return error.code
  }
}

const RULES: readonly (readonly [string, Metadata, string])[] = [
  ['none', [], OK],
  ['upper case', [['Author_1', 'x']], OK],
  ['a name that JavaScript uses', [['__proto__', 'x']], OK],
  ['an empty value', [['a', '']], OK],
  ['a tab', [['a', 'x\ty']], OK],
  ['an empty name', [['', 'x']], 'EmptyMetadataKey'],
  ['a leading digit', [['1a', 'x']], 'InvalidMetadata'],
  ['a dash', [['a-b', 'x']], 'InvalidMetadata'],
  ['a value that is not ASCII', [['a', 'é']], 'InvalidMetadata'],
  ['a control character', [['a', '\u0001']], 'InvalidMetadata'],
  [
    'a duplicate name',
    [
      ['a', '1'],
      ['a', '2'],
    ],
    'InvalidMetadata',
  ],
  [
    'a duplicate name in another case',
    [
      ['a', '1'],
      ['A', '2'],
    ],
    'InvalidMetadata',
  ],
  ['8 KiB', [['a', 'x'.repeat(8191)]], OK],
  ['more than 8 KiB', [['a', 'x'.repeat(8192)]], 'MetadataTooLarge'],
]

for (const [title, metadata, expected] of RULES) {
  test(`metadata: ${title} → ${expected}`, () => {
    assert.equal(outcome(metadata), expected)
  })
}

test('comparing metadata ignores the order and the case of names, but not the case of values', () => {
  assert(
    isSameMetadata(
      [
        ['a', '1'],
        ['b', '2'],
      ],
      [
        ['B', '2'],
        ['a', '1'],
      ],
    ),
  )
  assert(!isSameMetadata([['a', '1']], [['a', '2']]))
  assert(!isSameMetadata([['a', 'x']], [['a', 'X']]))
  assert(!isSameMetadata([['a', '1']], []))
})

test('any pairs are valid or throw a StorageError', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (pairs) => void outcome(pairs)),
  )
})
