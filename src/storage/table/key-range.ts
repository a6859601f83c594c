// The ranges of PartitionKeys and RowKeys that a filter can match, so that a query doesn't have to read the
// whole table. Every string has a successor, itself and U+0000, so all ranges are [from, to): PartitionKey eq
// 'a' is ['a', 'a\0').
import { encodeKey, type KeyPart } from '../../kv/key.ts'
import { keyAfterPrefix, type Key } from '../../kv/kv.ts'
import type { FilterComparison, FilterExpression, FilterOperator } from './filter.ts'

/** Strings in [from, to), ordered by UTF-16 code units; unlimited without `to`. */
export type StringRange = { readonly from: string; readonly to: string | undefined }

export type EntityKeyRange = { readonly partition: StringRange; readonly row: StringRange }

const ALL: StringRange = { from: '', to: undefined }
const NONE: StringRange = { from: '', to: '' }
const EVERYWHERE: EntityKeyRange = { partition: ALL, row: ALL }
const NOWHERE: EntityKeyRange = { partition: NONE, row: NONE }

/** 1 KiB of UTF-16, the limit on PartitionKey and on RowKey. */
export const ENTITY_KEY_LENGTH_MAX = 512

/** Every matching entity is inside, but not every entity inside matches. */
export function entityKeyRangeOf(expression: FilterExpression): EntityKeyRange {
  return rangeOf(expression, false, { partition: 'PartitionKey', row: 'RowKey' })
}

/** The same for names of tables, in lower case. */
export function tableRangeOf(expression: FilterExpression): StringRange {
  return rangeOf(expression, false, { partition: 'TableName', row: '' }).partition
}

/** The range of keys to scan. The key of an entity is `prefix`, PartitionKey and RowKey. */
export function scanRangeOf(
  { partition, row }: EntityKeyRange,
  prefix: readonly KeyPart[],
): { readonly from: Key; readonly to: Key } {
  const from = encodeKey(...prefix, partition.from, row.from)
  if (isEmpty(partition) || isEmpty(row)) return { from, to: from }
  if (partition.to === undefined) return { from, to: keyAfterPrefix(encodeKey(...prefix)) }
  // RowKeys limit the scan only in its last partition, which is known only if `to` is the successor of a key.
  if (row.to === undefined || !partition.to.endsWith('\0')) {
    return { from, to: encodeKey(...prefix, partition.to) }
  }
  return { from, to: encodeKey(...prefix, partition.to.slice(0, -1), row.to) }
}

type KeyNames = { readonly partition: string; readonly row: string }

/**
 * The range of an expression or, if `negated`, of its opposite. By De Morgan's laws `not` moves to the
 * comparisons.
 */
function rangeOf(expression: FilterExpression, negated: boolean, names: KeyNames): EntityKeyRange {
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

/** Keys always exist and are strings, so the opposite of a comparison is a comparison. */
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
  const [at, after] = [keyBound(value.value), keyBound(`${value.value}\0`)]
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

/** A bound within the limit of keys: one after the longest prefix that fits separates the same keys. */
export function keyBound(text: string): string {
  return text.length <= ENTITY_KEY_LENGTH_MAX ? text : `${text.slice(0, ENTITY_KEY_LENGTH_MAX)}\0`
}

function isEmpty({ from, to }: StringRange): boolean {
  return to !== undefined && from >= to
}

function intersection(a: EntityKeyRange, b: EntityKeyRange): EntityKeyRange {
  const partition = narrow(a.partition, b.partition)
  const row = narrow(a.row, b.row)
  return isEmpty(partition) || isEmpty(row) ? NOWHERE : { partition, row }
}

function narrow(a: StringRange, b: StringRange): StringRange {
  const from = a.from > b.from ? a.from : b.from
  if (a.to === undefined) return { from, to: b.to }
  return { from, to: b.to === undefined || a.to < b.to ? a.to : b.to }
}

/** An empty range adds nothing. */
function hull(a: EntityKeyRange, b: EntityKeyRange): EntityKeyRange {
  if (isEmpty(a.partition) || isEmpty(a.row)) return b
  if (isEmpty(b.partition) || isEmpty(b.row)) return a
  return { partition: widen(a.partition, b.partition), row: widen(a.row, b.row) }
}

function widen(a: StringRange, b: StringRange): StringRange {
  const from = a.from < b.from ? a.from : b.from
  if (a.to === undefined || b.to === undefined) return { from, to: undefined }
  return { from, to: a.to > b.to ? a.to : b.to }
}
