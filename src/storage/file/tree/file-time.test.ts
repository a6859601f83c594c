// File times of 100 ns: as text, as milliseconds, and strictly increasing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  fileTimeOf,
  fileTimeText,
  movedFileTime,
  msOfFileTime,
  parseFileTime,
} from './file-time.ts'

describe('a time', () => {
  for (const [time, text] of [
    ['0', '1601-01-01T00:00:00.0000000Z'],
    ['1', '1601-01-01T00:00:00.0000001Z'],
    ['116444736000000000', '1970-01-01T00:00:00.0000000Z'],
    ['116444735999999999', '1969-12-31T23:59:59.9999999Z'],
    ['133485408001234567', '2024-01-01T00:00:00.1234567Z'],
    ['133516511999999999', '2024-02-05T23:59:59.9999999Z'],
    ['2650467743999999999', '9999-12-31T23:59:59.9999999Z'],
  ] as const) {
    test(`${time} is ${text}`, () => {
      assert.equal(fileTimeText(time), text)
      assert.equal(parseFileTime(text), time)
    })
  }

  for (const [text, same] of [
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.0000000Z'],
    ['2024-01-01T00:00:00.5Z', '2024-01-01T00:00:00.5000000Z'],
    ['2024-01-01T00:00:00.123+00:00', '2024-01-01T00:00:00.1230000Z'],
  ] as const) {
    test(`${text} is ${same}`, () => assert.equal(fileTimeText(parseFileTime(text) ?? ''), same))
  }

  for (const text of [
    '',
    'now',
    '2024-01-01',
    '2024-01-01 00:00:00Z',
    '2024-01-01T00:00:00',
    '2024-01-01T00:00:00+02:00',
    '2024-01-01T00:00:00.12345678Z',
    '2024-02-30T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '1600-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
    'Mon, 01 Jan 2024 00:00:00 GMT',
  ]) {
    test(`“${text}” is not a time`, () => assert.equal(parseFileTime(text), undefined))
  }
})

test('milliseconds convert to file times and back', () => {
  for (const nowMs of [-11_644_473_600_000, -1, 0, 1, 1_700_000_000_123]) {
    assert.equal(msOfFileTime(fileTimeOf(nowMs)), nowMs)
  }
  assert.equal(msOfFileTime('116444736000019999'), 1)
})

test('the time of a change is later than the previous one, even within a millisecond', () => {
  const first = fileTimeOf(1_000)
  const second = movedFileTime(first, 1_000)
  assert.equal(BigInt(second) - BigInt(first), 1n)
  assert.equal(BigInt(movedFileTime(second, 1_000)) - BigInt(first), 2n)
  assert.equal(movedFileTime(second, 1_001), fileTimeOf(1_001))
  // A clock that was set back is trusted.
  assert.equal(movedFileTime(second, 999), fileTimeOf(999))
})
