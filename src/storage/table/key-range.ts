// Where the entities are that a filter may match: an interval of PartitionKeys and one of RowKeys, so
// that a query reads what it must and not the table. Strings have a next one, itself and U+0000, so every
// interval is [from, to): PartitionKey eq 'a' is ['a', 'a\0').
import { encodeKey, type KeyPart } from '../../kv/key.ts'
import { keyAfterPrefix, type Key } from '../../kv/kv.ts'
import type { FilterComparison, FilterExpression, FilterOperator } from './filter.ts'

/** Strings in [from, to) by UTF-16 code unit; without a `to` it has no end. */
export type StringRange = { readonly from: string; readonly to: string | undefined }

export type KeyRange = { readonly partition: StringRange; readonly row: StringRange }

const ALL: StringRange = { from: '', to: undefined }
const NONE: StringRange = { from: '', to: '' }
const EVERYWHERE: KeyRange = { partition: ALL, row: ALL }
const NOWHERE: KeyRange = { partition: NONE, row: NONE }

/** 1 KiB of UTF-16, the limit on PartitionKey and on RowKey. */
export const KEY_LENGTH_MAX = 512

/** Every entity that matches is inside; one inside need not match. */
export function keyRangeOf(expression: FilterExpression): KeyRange {
  return rangeOf(expression, false, { partition: 'PartitionKey', row: 'RowKey' })
}

/** The same for the names of tables, in lower case. */
export function tableRangeOf(expression: FilterExpression): StringRange {
  return rangeOf(expression, false, { partition: 'TableName', row: '' }).partition
}

/** The keys of the range, those of entities being `prefix`, PartitionKey and RowKey. */
export function scanRangeOf(
  { partition, row }: KeyRange,
  prefix: readonly KeyPart[],
): { readonly from: Key; readonly to: Key } {
  const from = encodeKey(...prefix, partition.from, row.from)
  if (isEmpty(partition) || isEmpty(row)) return { from, to: from }
  if (partition.to === undefined) return { from, to: keyAfterPrefix(encodeKey(...prefix)) }
  // Rows end a scan only in its last partition, which is known if it is the one before `to`.
  if (row.to === undefined || !partition.to.endsWith('\0')) {
    return { from, to: encodeKey(...prefix, partition.to) }
  }
  return { from, to: encodeKey(...prefix, partition.to.slice(0, -1), row.to) }
}

type KeyNames = { readonly partition: string; readonly row: string }

/** Of an expression, or of its opposite: `not` goes down to the comparisons, as De Morgan has it. */
function rangeOf(expression: FilterExpression, negated: boolean, names: KeyNames): KeyRange {
  if ('not' in expression) return rangeOf(expression.not, !negated, names)
  if ('constant' in expression) return expression.constant === negated ? NOWHERE : EVERYWHERE
  if ('all' in expression || 'any' in expression) {
    const parts = 'all' in expression ? expression.all : expression.any
    const ranges = parts.map((part) => rangeOf(part, negated, names))
    return 'all' in expression === negated
      ? ranges.reduce(hull, NOWHERE)
      : ranges.reduce(intersection, EVERYWHERE)
  }
  const { property } = expression
  if (property === names.partition) return { ...EVERYWHERE, partition: bound(expression, negated) }
  if (property === names.row) return { ...EVERYWHERE, row: bound(expression, negated) }
  return EVERYWHERE
}

/** A key is always there and a string, so the opposite of a comparison is a comparison. */
const NEGATED: Readonly<Record<FilterOperator, FilterOperator>> = {
  eq: 'ne',
  ne: 'eq',
  gt: 'le',
  ge: 'lt',
  lt: 'ge',
  le: 'gt',
}

function bound({ operator, value }: FilterComparison, negated: boolean): StringRange {
  if (value.type !== 'Edm.String') return ALL
  const [at, after] = [inKey(value.value), inKey(`${value.value}\0`)]
  switch (negated ? NEGATED[operator] : operator) {
    case 'eq':
      return { from: at, to: after }
    case 'gt':
      return { from: after, to: undefined }
    case 'ge':
      return { from: at, to: undefined }
    case 'lt':
      return { from: '', to: at }
    case 'le':
      return { from: '', to: after }
    case 'ne':
      return ALL
  }
}

/** No key is longer than the limit, so the first string after the longest that fits bounds the same keys. */
function inKey(text: string): string {
  return text.length <= KEY_LENGTH_MAX ? text : `${text.slice(0, KEY_LENGTH_MAX)}\0`
}

function isEmpty({ from, to }: StringRange): boolean {
  return to !== undefined && from >= to
}

function intersection(a: KeyRange, b: KeyRange): KeyRange {
  const partition = narrow(a.partition, b.partition)
  const row = narrow(a.row, b.row)
  return isEmpty(partition) || isEmpty(row) ? NOWHERE : { partition, row }
}

function narrow(a: StringRange, b: StringRange): StringRange {
  const from = a.from > b.from ? a.from : b.from
  if (a.to === undefined) return { from, to: b.to }
  return { from, to: b.to === undefined || a.to < b.to ? a.to : b.to }
}

/** What matches nothing adds nothing, not even its bounds. */
function hull(a: KeyRange, b: KeyRange): KeyRange {
  if (isEmpty(a.partition) || isEmpty(a.row)) return b
  if (isEmpty(b.partition) || isEmpty(b.row)) return a
  return { partition: widen(a.partition, b.partition), row: widen(a.row, b.row) }
}

function widen(a: StringRange, b: StringRange): StringRange {
  const from = a.from < b.from ? a.from : b.from
  if (a.to === undefined || b.to === undefined) return { from, to: undefined }
  return { from, to: a.to > b.to ? a.to : b.to }
}
