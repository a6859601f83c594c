// [MS-DTYP] 2.4.2: SIDs as text, as bytes and as two-letter aliases.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../../shared/error.ts'
import { decodeSid, encodeSid, formatSid, parseSid, sidLengthBytes } from './sid.ts'

// prettier-ignore
const SIDS: readonly (readonly [text: string, sid: string, hex: string])[] = [
  ['SY', 'S-1-5-18', '010100000000000512000000'],
  ['BA', 'S-1-5-32-544', '01020000000000052000000020020000'],
  ['wd', 'S-1-1-0', '010100000000000100000000'],
  ['s-1-5-21-397955417-626881126-188441444-3053964', 'S-1-5-21-397955417-626881126-188441444-3053964',
    '0105000000000005150000005951b81766725d2564633b0b8c992e00'],
  ['S-1-0x0', 'S-1-0', '0100000000000000'],
  ['S-1-0xffffffffffff-1', 'S-1-0xffffffffffff-1', '0101ffffffffffff01000000'],
]

for (const [text, sid, hex] of SIDS) {
  test(`${text} is ${sid}`, () => {
    assert.equal(parseSid(text), sid)
    assert.equal(Buffer.from(encodeSid(sid)).toString('hex'), hex)
    assert.equal(decodeSid(Buffer.from(`${hex}ff`, 'hex')), sid)
    assert.equal(sidLengthBytes(sid), hex.length / 2)
    assert.equal(parseSid(formatSid(sid)), sid)
  })
}

// prettier-ignore
const NO_SIDS = [
  '', 'DA', 'DU', 'LA', 'EA', 'ZZ', 'SYS', 'S-2-5-18', 'S-1', 'S-1-', 'S-1-5-', 'S-1-5-4294967296',
  'S-1-281474976710656-1', 'S-1-5--1', `S-1-5${'-1'.repeat(16)}`, 'constructor', '__proto__',
]

for (const text of NO_SIDS) {
  test(`'${text}' is not a SID`, () => assert.equal(parseSid(text), undefined))
}

for (const hex of ['', '01', '0200000000000005', '0101000000000005', '0110000000000005']) {
  test(`bytes ${hex} are not a SID`, () => {
    assert.throws(() => decodeSid(Buffer.from(hex, 'hex')), StorageError)
  })
}

test('well-known SIDs are formatted as aliases, others as numbers', () => {
  assert.equal(formatSid('S-1-5-18'), 'SY')
  assert.equal(formatSid('S-1-5-32-544'), 'BA')
  assert.equal(formatSid('S-1-5-21-1-2-3-512'), 'S-1-5-21-1-2-3-512')
})
