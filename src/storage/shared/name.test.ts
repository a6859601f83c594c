import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from './error.ts'
import {
  canonicalBlobName,
  checkBlobName,
  checkContainerName,
  checkQueueName,
  checkShareName,
  checkTableName,
} from './name.ts'

const OK = 'ok'
const outcome = (check: (name: string) => void, name: string): string => {
  try {
    check(name)
    return OK
  } catch (error) {
    assert(error instanceof StorageError)
    return error.code
  }
}

const DNS_NAMES = [
  ['abc', OK],
  ['a-b-c', OK],
  ['012', OK],
  ['a'.repeat(63), OK],
  ['ab', 'OutOfRangeInput'],
  ['', 'OutOfRangeInput'],
  ['a'.repeat(64), 'OutOfRangeInput'],
  ['Abc', 'InvalidResourceName'],
  ['a--b', 'InvalidResourceName'],
  ['-ab', 'InvalidResourceName'],
  ['ab-', 'InvalidResourceName'],
  ['a_b', 'InvalidResourceName'],
  ['a.b', 'InvalidResourceName'],
  ['été', 'InvalidResourceName'],
  ['abc\n', 'InvalidResourceName'],
] as const

for (const [name, expected] of DNS_NAMES) {
  test(`container, queue, share ${JSON.stringify(name)} → ${expected}`, () => {
    for (const check of [checkContainerName, checkQueueName, checkShareName]) {
      assert.equal(outcome(check, name), expected)
    }
  })
}

for (const name of ['$root', '$web', '$logs', '$blobchangefeed']) {
  test(`${name} is a valid name of a container but not of a queue`, () => {
    assert.equal(outcome(checkContainerName, name), OK)
    assert.equal(outcome(checkQueueName, name), 'InvalidResourceName')
  })
}

const TABLE_NAMES = [
  ['People', OK],
  ['a12', OK],
  ['T'.repeat(63), OK],
  ['ab', 'OutOfRangeInput'],
  ['T'.repeat(64), 'OutOfRangeInput'],
  ['1abc', 'InvalidResourceName'],
  ['my_table', 'InvalidResourceName'],
  ['my-table', 'InvalidResourceName'],
  ['tables', 'InvalidResourceName'],
  ['Tables', 'InvalidResourceName'],
] as const

for (const [name, expected] of TABLE_NAMES) {
  test(`table ${name} → ${expected}`, () => {
    assert.equal(outcome(checkTableName, name), expected)
  })
}

const BLOB_NAMES: readonly (readonly [string, string])[] = [
  ['a', OK],
  ['a'.repeat(1024), OK],
  ['😊'.repeat(512), OK],
  ['dir/ä b?#%.txt', OK],
  ['file\uffff', OK],
  ['', 'OutOfRangeInput'],
  ['a'.repeat(1025), 'OutOfRangeInput'],
  ['😊'.repeat(513), 'OutOfRangeInput'],
  ['a\u0001', 'InvalidResourceName'],
  ['a\u0081', 'InvalidResourceName'],
  ['a\ud800', 'InvalidResourceName'],
  [Array(254).fill('a').join('/'), OK],
  [Array(255).fill('a').join('/'), 'InvalidUri'],
]

for (const [name, expected] of BLOB_NAMES) {
  test(`blob ${JSON.stringify(name.slice(0, 20))} (${name.length}) → ${expected}`, () => {
    assert.equal(outcome(checkBlobName, name), expected)
  })
}

const CANONICAL = [
  ['a/b.txt', 'a/b.txt'],
  ['.hidden', '.hidden'],
  ['..a', '..a'],
  ['dir/', 'dir/'],
  ['/a', '/a'],
  ['a//b', 'a//b'],
  ['a\\b', 'a/b'],
  ['file.', 'file'],
  ['file...', 'file'],
  ['a./b', 'a/b'],
  ['./key', 'key'],
  ['a/./b', 'a/b'],
  ['a/../b', 'b'],
  ['a/b/..', 'a/'],
  ['a/.', 'a/'],
] as const

for (const [name, expected] of CANONICAL) {
  test(`the blob name ${name} is stored as ${expected}`, () => {
    assert.equal(canonicalBlobName(name), expected)
  })
}

for (const name of ['.', '..', '../a', 'a/../../b', '...']) {
  test(`the blob name ${name} → InvalidUri`, () => {
    assert.equal(outcome(canonicalBlobName, name), 'InvalidUri')
  })
}

test('any text is a valid name or throws a StorageError, and canonical names don’t change', () => {
  const part = fc.constantFrom('.', '..', '/', '\\', 'a', 'b.', '\u0000', '😊', '\ud800')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(part).map((parts) => parts.join('')),
      ),
      (text) => {
        for (const check of [checkContainerName, checkTableName, checkBlobName])
          outcome(check, text)
        if (outcome(canonicalBlobName, text) !== OK) return
        const name = canonicalBlobName(text)
        assert.equal(canonicalBlobName(name), name)
      },
    ),
  )
})
