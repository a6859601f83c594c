// How clients see a stamp: as an ETag ("0x8D" and 13 hexadecimal digits, in quotes), and as the id of a
// snapshot or version (a time with seven fractional digits: three for the milliseconds, and four for the
// sequence number within the millisecond, 0000 to 1023).
import assert from 'node:assert/strict'
import { STAMPS_PER_MS } from '../../node/moment.ts'

const STAMP_END = 2 ** 52
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(\d{4})Z$/

export function etagOf(stamp: number): string {
  assert(stamp >= 0 && stamp < STAMP_END, 'a stamp has 52 bits')
  // In two halves: lists format thousands, and toString is slow for large integers.
  const high = Math.floor(stamp / 2 ** 28)
  const low = stamp - high * 2 ** 28
  return `"0x8D${hex(high, 6)}${hex(low, 7)}"`
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0')
}

export function timestampOf(stamp: number): string {
  const sequence = stamp % STAMPS_PER_MS
  const timeMs = (stamp - sequence) / STAMPS_PER_MS
  const ms = timeMs % 1_000
  return `${secondText(timeMs - ms)}.${digits(ms, 3)}${digits(sequence, 4)}Z`
}

// Cached, since objects that are listed together were often written together, and formatting the date takes
// longest.
let lastSecond = { timeMs: 0, text: '1970-01-01T00:00:00' }

function secondText(timeMs: number): string {
  if (lastSecond.timeMs !== timeMs) {
    lastSecond = { timeMs, text: new Date(timeMs).toISOString().slice(0, -'.000Z'.length) }
  }
  return lastSecond.text
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0')
}

/** The stamp of a snapshot or version id; undefined if the id can't be one of ours. */
export function parseTimestamp(text: string): number | undefined {
  const match = TIMESTAMP.exec(text)
  if (match === null) return undefined
  const timeMs = Date.parse(`${match[1]}Z`)
  const sequence = Number(match[2])
  const stamp = timeMs * STAMPS_PER_MS + sequence
  if (Number.isNaN(timeMs) || sequence >= STAMPS_PER_MS) return undefined
  if (stamp < 0 || stamp >= STAMP_END) return undefined
  // Date.parse turns 31 June into 1 July, but each id has only one text.
  return timestampOf(stamp) === text ? stamp : undefined
}
