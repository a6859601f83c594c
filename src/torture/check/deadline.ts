// Until when calls have taken effect. One that was not answered may do so at any time or never, unless somebody was shown what it
// wrote: then it has happened before that.
import type { Answer, Call, Operation } from '../history/call.ts'

/** Infinity: perhaps never. */
export function deadlinesOf(calls: readonly Call[]): ReadonlyMap<Call, number> {
  const writers = writersOf(calls)
  const deadlines = new Map(calls.map((call) => [call, call.answer === undefined ? Infinity : call.ended])) // prettier-ignore
  for (const { answer, ended } of calls) {
    if (answer === undefined) continue
    for (const value of shown(answer)) {
      const writer = writers.get(value)
      if (writer === undefined || writer.answer !== undefined) continue
      deadlines.set(writer, Math.min(deadlines.get(writer) ?? Infinity, ended))
    }
  }
  return deadlines
}

/** Values that only one call has written. */
function writersOf(calls: readonly Call[]): ReadonlyMap<string, Call> {
  const writers = new Map<string, Call>()
  const several = new Set<string>()
  for (const call of calls) {
    for (const value of written(call.operation)) {
      if (writers.has(value)) several.add(value)
      writers.set(value, call)
    }
  }
  for (const value of several) writers.delete(value)
  return writers
}

function written({ value, properties, operations = [] }: Operation): readonly string[] {
  const own = [value ?? '', ...Object.values(properties ?? {})].filter((each) => each !== '')
  return [...own, ...operations.flatMap(written)]
}

function shown({ value = '', metadata, text, properties, rows }: Answer): readonly string[] {
  const all = [properties, ...Object.values(rows ?? {}).map((row) => row.properties)]
  const texts = [metadata ?? '', text ?? '', ...all.flatMap((each) => Object.values(each ?? {}))]
  return [...value.split(' '), ...texts]
}
