// COUNT, AVG, SUM, MIN and MAX over the values that are not NULL. A sum of INTs is an INT until a FLOAT
// comes; an average is a FLOAT. MIN and MAX of texts are texts, since no type is known but that of the
// values: CAST gives them one.
import { arithmetic } from './arithmetic.ts'
import { compareValues, isNothing } from './value.ts'
import type { AggregateName } from './expression.ts'
import type { Value } from './value.ts'

export type Aggregate = { add(value: Value): void; result(): Value }

export function createAggregate(name: AggregateName): Aggregate {
  let count = 0n
  let value: Value = null
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

// It begins at 0, so that a text is read as a number from the first on.
const sum = (before: Value, next: Value) => arithmetic('+', before ?? 0n, next)

const MERGE: Readonly<Record<AggregateName, (before: Value, next: Value) => Value>> = {
  COUNT: (before) => before,
  SUM: sum,
  AVG: sum,
  MIN: (before, next) => (isNothing(before) || compareValues(next, before) < 0 ? next : before),
  MAX: (before, next) => (isNothing(before) || compareValues(next, before) > 0 ? next : before),
}
