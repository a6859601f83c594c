// Reads: one statement for all keys and ranges, so all of them are from one snapshot.
import { bigintArray, byteaArray, byteaOf, integerArray } from '../../../postgres/array.ts'
import type { Parameter, Row, Statement } from '../../../postgres/client.ts'
import { compareKeys } from '../../key.ts'
import type { ScanPart } from '../../kv.ts'
import type { Found, VersionedEntry, Wanted, WantedRange } from '../engine.ts'
import { NO_VALUE, partOf } from '../part.ts'
import { HEAD_BYTES, partOfValue, rangeRows, SAME_KEY } from './key-index.ts'

const TIME_ROW = `SELECT 2, 0, NULL::bytea, NULL::bytea,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

const KEY_ROWS = `SELECT 0, k.at, NULL::bytea, CASE WHEN kv.version = k.known THEN NULL ELSE kv.value END, kv.version
  FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS k(key, known, at)
  JOIN lazuli.kv ON ${SAME_KEY('kv.key', 'k.key')}`

const RANGE_ROWS = (first: number): string => `
  SELECT 1, r.at, e.key, ${partOfValue('e.value')}, e.version
  FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::integer[], $${first + 3}::integer[],
    $${first + 4}::integer[]) WITH ORDINALITY AS r(low, high, count, reverse, part, at)
  CROSS JOIN LATERAL (${rangeRows('kv.key, kv.value, kv.version')}) e`

const READ_KEYS = { name: 'read_keys', text: `${TIME_ROW} UNION ALL ${KEY_ROWS}` }
const READ_RANGES = { name: 'read_ranges', text: `${TIME_ROW} UNION ALL ${RANGE_ROWS(1)}` }
const READ_BOTH = {
  name: 'read_both',
  text: `${TIME_ROW} UNION ALL ${KEY_ROWS} UNION ALL ${RANGE_ROWS(3)}`,
}

export function readStatement({ keys, ranges }: Wanted): Statement {
  if (ranges.length === 0) return READ_KEYS
  return keys.length === 0 ? READ_RANGES : READ_BOTH
}

export function readParameters({ keys, ranges }: Wanted): readonly Parameter[] {
  const ofKeys = [
    byteaArray(keys.map(({ key }) => key)),
    bigintArray(keys.map(({ known }) => known)),
  ]
  if (ranges.length === 0) return ofKeys
  return keys.length === 0 ? rangeParameters(ranges) : [...ofKeys, ...rangeParameters(ranges)]
}

/** Lows, highs, counts, reverses and parts. */
export function rangeParameters(ranges: readonly WantedRange[]): readonly Parameter[] {
  return [
    byteaArray(ranges.map(({ from }) => from)),
    byteaArray(ranges.map(({ to }) => to)),
    integerArray(ranges.map(({ countMax }) => Math.min(countMax, COUNT_MAX))),
    integerArray(ranges.map(({ reverse }) => (reverse === true ? 1 : 0))),
    integerArray(ranges.map(({ part }) => PART_CODES[part])),
  ]
}

const COUNT_MAX = 2 ** 31 - 1

const PART_CODES: Readonly<Record<ScanPart, number>> = { whole: 0, fields: 1, keys: 2 }

export type ReadResult = { readonly found: Found; readonly databaseMs: number }

export function readResult({ keys, ranges }: Wanted, rows: readonly Row[]): ReadResult {
  const foundKeys: Found['keys'][number][] = Array.from({ length: keys.length })
  const foundRanges: VersionedEntry[][] = ranges.map(() => [])
  let databaseMs = 0
  for (const [kind, at, key, value, version] of rows) {
    if (kind === '2') {
      databaseMs = Number(version) / 1_000
    } else if (kind === '0') {
      foundKeys[Number(at) - 1] =
        value === null ? 'unchanged' : { value: bytes(value), version: Number(version) }
    } else {
      foundRanges[Number(at) - 1]?.push(entryOf(key, value, version))
    }
  }
  const inOrder = foundRanges.map((entries, at) => rangeEntries(entries, ranges[at]))
  return { found: { keys: foundKeys, ranges: inOrder }, databaseMs }
}

export function bytes(text: string | null | undefined): Uint8Array {
  return text === null || text === undefined || text === EMPTY ? NO_VALUE : byteaOf(text)
}

const EMPTY = '\\x'

export function entryOf(
  key: string | null | undefined,
  value: string | null | undefined,
  version: string | null | undefined,
): VersionedEntry {
  return { key: bytes(key), value: bytes(value), version: Number(version) }
}

/** Sorts long keys, which the index does not, and cuts off what exceeds the count. */
export function rangeEntries(
  entries: readonly VersionedEntry[],
  range: WantedRange | undefined,
): readonly VersionedEntry[] {
  if (range === undefined) return entries
  const { countMax, part, reverse } = range
  const hasLong = entries.some(({ key }) => key.length > HEAD_BYTES)
  const sorted = hasLong ? entries.toSorted((a, b) => compareKeys(a.key, b.key)) : entries
  const inOrder = hasLong && reverse === true ? sorted.toReversed() : sorted
  const cut = inOrder.length > countMax ? inOrder.slice(0, countMax) : inOrder
  if (part !== 'fields') return cut
  return cut.map((entry) => ({ ...entry, value: partOf(entry.value, part) }))
}
