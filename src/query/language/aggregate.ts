// COUNT, AVG, SUM, MIN and MAX of the values that are not NULL. A sum is an INT until the first FLOAT; an average
// is a FLOAT. MIN and MAX compare strings as strings, since columns have no type; CAST gives them one.
import { arithmetic } from './arithmetic.ts'
import { compareValues, isNothing } from './value.ts'
import type { AggregateName } from './expression.ts'
import type { SqlValue } from './value.ts'

type Aggregate = { add(value: SqlValue): void; result(): SqlValue }

export function createAggregate(name: AggregateName): Aggregate {
  let count = 0n
  let value: SqlValue = null
  const merge = MERGE[name]
  return {
    add(next) {
      if (isNothing(next)) return
      value = merge(value, next)
      count += 1n
    },
    result() {
      if (name === 'COUNT') return count
      return name === 'AVG' && count > 0n ? arithmetic('/', value, Number(count)) : value
    },
  }
}

// Starts at 0, so that even the first string is converted to a number.
const sum = (before: SqlValue, next: SqlValue) => arithmetic('+', before ?? 0n, next)

const MERGE: Readonly<Record<AggregateName, (before: SqlValue, next: SqlValue) => SqlValue>> = {
  COUNT: (before) => before,
  SUM: sum,
  AVG: sum,
  MIN: (before, next) => (isNothing(before) || compareValues(next, before) < 0 ? next : before),
  MAX: (before, next) => (isNothing(before) || compareValues(next, before) > 0 ? next : before),
}
