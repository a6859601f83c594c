// Paths from SMB clients.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFilePath } from './file-path.ts'
import { smbErrorOf } from '../smb-error.ts'

const SNAPSHOT_MS = Date.UTC(2024, 0, 31, 23, 59, 58)

const PATHS = [
  ['', { path: [], isDirectory: false }],
  ['a', { path: ['a'], isDirectory: false }],
  ['a\\B.txt', { path: ['a', 'B.txt'], isDirectory: false }],
  ['a/b', { path: ['a', 'b'], isDirectory: false }],
  ['a\\', { path: ['a'], isDirectory: true }],
  ['a\\b\\..', { path: ['a'], isDirectory: false }],
  ['a\\..\\b', { path: ['b'], isDirectory: false }],
  ['a. ', { path: ['a. '], isDirectory: false }],
  ['@GMT-2024.01.31-23.59.58', { path: [], isDirectory: false, snapshotMs: SNAPSHOT_MS }],
  ['@GMT-2024.01.31-23.59.58\\a', { path: ['a'], isDirectory: false, snapshotMs: SNAPSHOT_MS }],
  [
    'a\\@GMT-2024.01.31-23.59.58\\b',
    { path: ['a', 'b'], isDirectory: false, snapshotMs: SNAPSHOT_MS },
  ],
] as const
for (const [text, expected] of PATHS) {
  test(`${text || 'the root'} is a path`, () => assert.deepEqual(decodeFilePath(text), expected))
}

const REFUSED = [
  ['..', 'OBJECT_PATH_SYNTAX_BAD'],
  ['a\\..\\..\\b', 'OBJECT_PATH_SYNTAX_BAD'],
  ['.', 'OBJECT_NAME_INVALID'],
  ['a\\.\\b', 'OBJECT_NAME_INVALID'],
  ['/a', 'OBJECT_NAME_INVALID'],
  ['a\\\\b', 'OBJECT_NAME_INVALID'],
  ['a:stream', 'OBJECT_NAME_INVALID'],
  ['a*', 'OBJECT_NAME_INVALID'],
  ['a?', 'OBJECT_NAME_INVALID'],
  ['a"', 'OBJECT_NAME_INVALID'],
  ['a<', 'OBJECT_NAME_INVALID'],
  ['a|', 'OBJECT_NAME_INVALID'],
  ['a\u0001', 'OBJECT_NAME_INVALID'],
  ['a'.repeat(256), 'OBJECT_NAME_INVALID'],
] as const
for (const [text, status] of REFUSED) {
  test(`${JSON.stringify(text.slice(0, 20))} is refused with ${status}`, () => {
    assert.throws(
      () => decodeFilePath(text),
      (error) => smbErrorOf(error)?.status === status,
    )
  })
}
