// The names of x-ms-file-attributes and the bits of SMB: two formats of the same attributes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ARCHIVE,
  attributeBits,
  attributesText,
  DIRECTORY,
  HIDDEN,
  NORMAL,
  parseAttributes,
  READ_ONLY,
  SETTABLE_ATTRIBUTES,
  SYSTEM,
} from './attributes.ts'

describe('names', () => {
  for (const [text, kind, attributes, formatted] of [
    ['None', 'file', 0, 'None'],
    ['none', 'directory', 0, 'Directory'],
    ['ReadOnly', 'file', READ_ONLY, 'ReadOnly'],
    ['readonly|HIDDEN', 'file', READ_ONLY | HIDDEN, 'ReadOnly | Hidden'],
    ['Archive | System', 'file', ARCHIVE | SYSTEM, 'System | Archive'],
    ['Directory', 'directory', 0, 'Directory'],
    ['Hidden|Directory', 'directory', HIDDEN, 'Hidden | Directory'],
    [
      'Temporary|Offline|NotContentIndexed|NoScrubData',
      'file',
      0x2_3100,
      'Temporary | Offline | NotContentIndexed | NoScrubData',
    ],
  ] as const) {
    // prettier-ignore
    test(`${text} of a ${kind} is ${formatted}`, () => {
      assert.equal(parseAttributes(text, kind), attributes)
      assert.equal(attributesText({ kind, attributes }), formatted)
    })
  }

  for (const [text, kind] of [
    ['', 'file'],
    ['|', 'file'],
    ['None|ReadOnly', 'file'],
    ['Directory', 'file'],
    ['Normal', 'file'],
    ['Compressed', 'file'],
    ['ReadOnly,Hidden', 'file'],
    ['1', 'file'],
    ['ReadOnly|', 'directory'],
  ] as const) {
    test(`“${text}” is invalid for a ${kind}`, () => {
      assert.equal(parseAttributes(text, kind), undefined)
    })
  }
})

describe('bits for SMB', () => {
  for (const [kind, attributes, bits] of [
    ['file', 0, NORMAL],
    ['file', READ_ONLY, READ_ONLY],
    ['directory', 0, DIRECTORY],
    ['directory', HIDDEN, HIDDEN | DIRECTORY],
  ] as const) {
    test(`${attributes} of a ${kind} are ${bits}`, () => {
      assert.equal(attributeBits({ kind, attributes }), bits)
    })
  }

  test('clients can set neither DIRECTORY nor NORMAL', () => {
    assert.equal(SETTABLE_ATTRIBUTES & (DIRECTORY | NORMAL), 0)
    assert.equal(SETTABLE_ATTRIBUTES & READ_ONLY, READ_ONLY)
  })
})
