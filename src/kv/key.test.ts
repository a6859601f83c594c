import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareKeys, decodeKey, encodeKey, encodeKeyPrefix, type KeyPart } from './key.ts'
import { prefixRange } from './kv.ts'

const hex = (...parts: KeyPart[]) => Buffer.from(encodeKey(...parts)).toString('hex')

test('the encoding matches the data model', () => {
  assert.equal(hex(1), '0100000000000001')
  assert.equal(hex('a', 2), '0261000100000000000002')
  assert.equal(hex('a\0b'), '026100ff6200')
  assert.equal(hex(Number.MAX_SAFE_INTEGER), '011fffffffffffff')
  assert.equal(hex('\u{1f600}'), '02eda0bdedb88000')
})

// Both halves of the surrogate range, the units above it, and zero, where encodings go wrong.
const unit = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.constantFrom(0, 1, 0x2f, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd83d, 0xde00, 0xe000, 0xffff),
)
const text = fc.array(unit, { maxLength: 12 }).map((units) => String.fromCharCode(...units))
const tuple = fc.tuple(text, fc.nat(), text)

test('decoding reverses encoding', () => {
  fc.assert(fc.property(tuple, (parts) => assert.deepEqual(decodeKey(encodeKey(...parts)), parts)))
})

test('keys sort like their parts, strings by UTF-16 code unit', () => {
  const order = (a: KeyPart, b: KeyPart) => (a < b ? -1 : a > b ? 1 : 0)
  fc.assert(
    fc.property(tuple, tuple, (a, b) => {
      const expected = order(a[0], b[0]) || order(a[1], b[1]) || order(a[2], b[2])
      assert.equal(Math.sign(compareKeys(encodeKey(...a), encodeKey(...b))), expected)
    }),
    { numRuns: 2_000 },
  )
})

test('a prefix range holds exactly the strings that start with it', () => {
  fc.assert(
    fc.property(text, text, (start, name) => {
      const { from, to } = prefixRange(encodeKeyPrefix(['c'], start))
      const key = encodeKey('c', name)
      const inside = compareKeys(from, key) <= 0 && compareKeys(key, to) < 0
      assert.equal(inside, name.startsWith(start))
    }),
    { numRuns: 2_000 },
  )
})

test('a name of 1,024 units of three bytes fits, one more kilobyte does not', () => {
  assert.equal(encodeKey('blob', 1, '\uffff'.repeat(1_024)).length, 6 + 8 + 2 + 3_072)
  assert.throws(() => encodeKey('\uffff'.repeat(1_400)), /a key of/)
})
