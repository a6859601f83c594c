// Reads: one statement for all keys and ranges, so all of them are from one snapshot.
import { bigintArray, byteaArray, byteaOf, integerArray } from '../../../postgres/array.ts'
import type { Parameter, Row, Statement } from '../../../postgres/client.ts'
import { compareKeys } from '../../key.ts'
import { keyAfterPrefix, type ScanPart } from '../../kv.ts'
import type { Found, VersionedEntry, Wanted, WantedRange } from '../engine.ts'
import { NO_VALUE, partOf } from '../part.ts'
import { foldedRows, HEAD_BYTES, partOfValue, rangeRows, SAME_KEY } from './key-index.ts'

/** Kinds of rows in the result. */
const ROW = { key: '0', range: '1', time: '2', fold: '3' } as const

const TIME_ROW = `SELECT ${ROW.time}, 0, NULL::bytea, NULL::bytea,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

/** The rows of one kind, from parameters that begin at `first`. */
type Part = { readonly parameterCount: number; rows(first: number): string }

const KEYS: Part = {
  parameterCount: 2,
  rows: (first) => `
  SELECT ${ROW.key}, k.at, NULL::bytea, CASE WHEN kv.version = k.known THEN NULL ELSE kv.value END, kv.version
  FROM unnest($${first}::bytea[], $${first + 1}::bigint[]) WITH ORDINALITY AS k(key, known, at)
  JOIN lazuli.kv ON ${SAME_KEY('kv.key', 'k.key')}`,
}

const RANGES: Part = {
  parameterCount: 5,
  rows: (first) => `
  SELECT ${ROW.range}, r.at, e.key, ${partOfValue('e.value')}, e.version
  FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::integer[], $${first + 3}::integer[],
    $${first + 4}::integer[]) WITH ORDINALITY AS r(low, high, count, reverse, part, at)
  CROSS JOIN LATERAL (${rangeRows('kv.key, kv.value, kv.version')}) e`,
}

const FOLDS: Part = {
  parameterCount: 7,
  rows: (first) => `
  SELECT ${ROW.fold}, r.at, e.key, ${partOfValue('e.value')}, e.version
  FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::integer[], $${first + 3}::integer[],
    $${first + 4}::integer[], $${first + 5}::bytea[], $${first + 6}::bytea[])
    WITH ORDINALITY AS r(low, high, count, part, fold_at, delimiter, after, at)
  CROSS JOIN LATERAL (${foldedRows('kv.key, kv.value, kv.version')}) e`,
}

const STATEMENTS = new Map<string, Statement>()

/** One statement for each combination of parts. */
function statementOf(parts: readonly Part[]): Statement {
  const name = `read_${[KEYS, RANGES, FOLDS].map((part) => (parts.includes(part) ? 1 : 0)).join('')}`
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  let first = 1
  const selects = [TIME_ROW]
  for (const { rows, parameterCount } of parts) {
    selects.push(rows(first))
    first += parameterCount
  }
  const statement = { name, text: selects.join(' UNION ALL ') }
  STATEMENTS.set(name, statement)
  return statement
}

export type Read = {
  readonly statement: Statement
  readonly parameters: readonly Parameter[]
  result(rows: readonly Row[]): ReadResult
}

/** The indexes of plain and folded ranges among those wanted. */
type Places = { readonly plain: readonly number[]; readonly folded: readonly number[] }

export function encodeRead(wanted: Wanted): Read {
  const { keys, ranges } = wanted
  const places = { plain: [] as number[], folded: [] as number[] }
  ranges.forEach(({ fold }, at) => (fold === undefined ? places.plain : places.folded).push(at))
  const at = (indexes: readonly number[]) => indexes.flatMap((index) => ranges[index] ?? [])
  const parts: Part[] = []
  const parameters: Parameter[] = []
  if (keys.length > 0) {
    parts.push(KEYS)
    parameters.push(byteaArray(keys.map(({ key }) => key)), bigintArray(keys.map(({ known }) => known))) // prettier-ignore
  }
  if (places.plain.length > 0) {
    parts.push(RANGES)
    parameters.push(...rangeParameters(at(places.plain)))
  }
  if (places.folded.length > 0) {
    parts.push(FOLDS)
    parameters.push(...foldParameters(at(places.folded)))
  }
  return {
    statement: statementOf(parts),
    parameters,
    result: (rows) => readResult(wanted, places, rows),
  }
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

/** Lows, highs, counts, parts, and the folds. */
function foldParameters(ranges: readonly WantedRange[]): readonly Parameter[] {
  const [lows, highs, counts, , parts] = rangeParameters(ranges)
  const folds = ranges.flatMap(({ fold }) => fold ?? [])
  return [
    lows,
    highs,
    counts,
    parts,
    integerArray(folds.map(({ at }) => at)),
    byteaArray(folds.map(({ delimiter }) => delimiter)),
    byteaArray(folds.map(({ delimiter }) => keyAfterPrefix(delimiter))),
  ]
}

const COUNT_MAX = 2 ** 31 - 1

const PART_CODES: Readonly<Record<ScanPart, number>> = { whole: 0, fields: 1, keys: 2 }

export type ReadResult = { readonly found: Found; readonly databaseMs: number }

function readResult({ keys, ranges }: Wanted, places: Places, rows: readonly Row[]): ReadResult {
  const foundKeys: Found['keys'][number][] = Array.from({ length: keys.length })
  const foundRanges: VersionedEntry[][] = ranges.map(() => [])
  let databaseMs = 0
  for (const [kind, at, key, value, version] of rows) {
    if (kind === ROW.time) {
      databaseMs = Number(version) / 1_000
    } else if (kind === ROW.key) {
      foundKeys[Number(at) - 1] =
        value === null ? 'unchanged' : { value: bytes(value), version: Number(version) }
    } else {
      const place = (kind === ROW.range ? places.plain : places.folded)[Number(at) - 1]
      foundRanges[place ?? -1]?.push(entryOf(key, value, version))
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
