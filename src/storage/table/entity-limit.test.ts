import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../shared/error.ts'
import type { EdmProperties, EdmValue } from './edm.ts'
import { checkEntityWrite } from './entity.ts'
import { int, text } from './harness.ts'

const KEYS = { partitionKey: 'p', rowKey: 'r' }

function outcome(
  keys: { partitionKey: string; rowKey: string },
  properties: EdmProperties,
): string {
  try {
    checkEntityWrite({ ...keys, kind: 'insert', properties })
    return 'ok'
  } catch (error) {
    assert(error instanceof StorageError)
    assert.equal(error.status, 400)
    return error.code
  }
}

const bytes = (count: number): EdmValue => {
  return { type: 'Edm.Binary', value: Buffer.alloc(count).toString('base64') }
}

const numbered = (count: number, value: EdmValue): EdmProperties => {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`P${i}`, value]))
}

const KEY_TEXTS: readonly (readonly [string, string])[] = [
  ['', 'ok'],
  ['a b%\'"&=+,;:@$*()[]{}|<>~`^!', 'ok'],
  ['日本語 😀', 'ok'],
  ['k'.repeat(512), 'ok'],
  ['k'.repeat(513), 'PropertyValueTooLarge'],
  ['a/b', 'OutOfRangeInput'],
  ['a\\b', 'OutOfRangeInput'],
  ['a#b', 'OutOfRangeInput'],
  ['a?b', 'OutOfRangeInput'],
  ['\0', 'OutOfRangeInput'],
  ['a\tb', 'OutOfRangeInput'],
  ['\u001f', 'OutOfRangeInput'],
  ['\u007f', 'OutOfRangeInput'],
  ['\u009f', 'OutOfRangeInput'],
  ['\u00a0', 'ok'],
]

for (const [key, expected] of KEY_TEXTS) {
  test(`key ${JSON.stringify(key).slice(0, 40)} of ${key.length} → ${expected}`, () => {
    assert.equal(outcome({ ...KEYS, partitionKey: key }, {}), expected)
    assert.equal(outcome({ ...KEYS, rowKey: key }, {}), expected)
  })
}

const NAMES: readonly (readonly [string, string])[] = [
  ['Name', 'ok'],
  ['_x1', 'ok'],
  ['Größe', 'ok'],
  ['名前', 'ok'],
  ['n'.repeat(255), 'ok'],
  ['n'.repeat(256), 'PropertyNameTooLong'],
  ['', 'PropertyNameInvalid'],
  ['1a', 'PropertyNameInvalid'],
  ['a-b', 'PropertyNameInvalid'],
  ['a b', 'PropertyNameInvalid'],
  ['a.b', 'PropertyNameInvalid'],
  ['a@b', 'PropertyNameInvalid'],
]

for (const [name, expected] of NAMES) {
  test(`property ${JSON.stringify(name).slice(0, 40)} → ${expected}`, () => {
    assert.equal(outcome(KEYS, int(name, 1)), expected)
  })
}

/** 4 bytes, two keys of one character, and 15 properties P0 … P14 of 64 KiB. */
const FIXED = 8 + 10 * (8 + 4 + 4 + 65_536) + 5 * (8 + 6 + 4 + 65_536)
const LAST = 1_048_576 - FIXED - (8 + 2 + 4)

const SIZES: readonly (readonly [string, EdmProperties, string])[] = [
  ['252 properties', numbered(252, { type: 'Edm.Int32', value: 1 }), 'ok'],
  ['253 properties', numbered(253, { type: 'Edm.Int32', value: 1 }), 'TooManyProperties'],
  ['a string of 32 Ki characters', text('x'.repeat(32_768)), 'ok'],
  ['a string of one more', text('x'.repeat(32_769)), 'PropertyValueTooLarge'],
  ['32 Ki characters of three bytes', text('€'.repeat(32_768)), 'ok'],
  ['64 KiB of bytes', { B: bytes(65_536) }, 'ok'],
  ['one byte more', { B: bytes(65_537) }, 'PropertyValueTooLarge'],
  ['1 MiB in one property', { B: bytes(1_048_576) }, 'EntityTooLarge'],
  ['1 MiB exactly', { ...numbered(15, bytes(65_536)), X: bytes(LAST) }, 'ok'],
  ['1 MiB and a byte', { ...numbered(15, bytes(65_536)), X: bytes(LAST + 1) }, 'EntityTooLarge'],
]

for (const [name, properties, expected] of SIZES) {
  test(`${name} → ${expected}`, () => assert.equal(outcome(KEYS, properties), expected))
}
