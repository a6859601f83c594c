import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { formatSasTime, parseSasTime } from './sas-time.ts'

test('a SAS time is accepted only in the forms of the service', () => {
  const rows: [text: string, iso: string | undefined][] = [
    ['2026-01-15', '2026-01-15T00:00:00.000Z'],
    ['2026-01-15T12:34Z', '2026-01-15T12:34:00.000Z'],
    ['2026-01-15T12:34:56Z', '2026-01-15T12:34:56.000Z'],
    ['2026-01-15T12:34:56.7Z', '2026-01-15T12:34:56.700Z'],
    ['2026-01-15T12:34:56.7891234Z', '2026-01-15T12:34:56.789Z'],
    ['2026-01-15T12:34:56+01:30', '2026-01-15T11:04:56.000Z'],
    ['2026-01-15T12:34-08:00', '2026-01-15T20:34:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['2026-02-29', undefined],
    ['2026-13-01', undefined],
    ['2026-01-00', undefined],
    ['2026-01-15T24:00:00Z', undefined],
    ['2026-01-15T12:60Z', undefined],
    ['2026-01-15T12:34:56', undefined],
    ['2026-01-15 12:34:56Z', undefined],
    ['2026-01-15T12:34:56.12345678Z', undefined],
    ['26-01-15', undefined],
    ['', undefined],
  ]
  for (const [text, iso] of rows) {
    assert.equal(parseSasTime(text), iso && Date.parse(iso), text)
  }
})

test('a formatted time parses to the same second', () => {
  const min = new Date('0001-01-01T00:00:00Z')
  const max = new Date('9999-12-31T23:59:59Z')
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
      const seconds = Math.floor(date.getTime() / 1000) * 1000
      assert.equal(parseSasTime(formatSasTime(date.getTime())), seconds)
      assert.equal(parseSasTime(date.toISOString()), date.getTime())
    }),
  )
})
