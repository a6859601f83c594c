// Search patterns, [MS-FSA] 2.1.4.4: "*" and "?", and the DOS forms "<" (up to the last dot), ">" (one, or
// none before a dot or the end) and '"' (a dot, or the end). All positions of the pattern that can be
// reached are moved along together, so the time is name × pattern at worst, with no backtracking.
import { WireError } from '../error.ts'

/** Four times the longest name: a longer pattern is no honest one, and each name costs pattern steps. */
const PATTERN_MAX = 1024

export type NameMatcher = (name: string) => boolean

/** fold must keep the length of a string: one code unit gives one. */
export function compilePattern(pattern: string, fold: (text: string) => string): NameMatcher {
  if (pattern.length > PATTERN_MAX) throw new WireError('OBJECT_NAME_INVALID')
  const folded = fold(pattern).replace(/\*{2,}/g, '*')
  if (folded === '*') return () => true
  if (!/[*?<>"]/.test(folded)) return (name) => fold(name) === folded
  return (name) => matches(folded, fold(name))
}

function matches(pattern: string, name: string): boolean {
  const lastDot = name.lastIndexOf('.')
  // From here on the pattern can match nothing at all.
  const nullableFrom = pattern.length - (/[*<>"]*$/.exec(pattern)?.[0].length ?? 0)
  let positions = [0]
  for (let at = 0; at < name.length; at += 1) {
    const char = name.charAt(at)
    const place = {
      char,
      isLastDot: at === lastDot,
      isLastChar: at === name.length - 1,
      nullableFrom,
    }
    positions = advance(pattern, positions, place)
    if (positions.length === 0) return false
  }
  return positions.some((position) => position >= nullableFrom)
}

type Place = {
  readonly char: string
  readonly isLastDot: boolean
  readonly isLastChar: boolean
  readonly nullableFrom: number
}

/** positions come sorted and so do those returned; each is looked at once. */
function advance(pattern: string, positions: readonly number[], place: Place): number[] {
  const next: number[] = []
  const add = (position: number) => {
    if (next.at(-1) !== position) next.push(position)
  }
  let skipTo = -1
  let index = 0
  while (index < positions.length || skipTo >= 0) {
    const waiting = positions[index] ?? Infinity
    const position: number = skipTo >= 0 && skipTo <= waiting ? skipTo : waiting
    if (position === waiting) index += 1
    skipTo = -1
    for (const target of targetsOf(pattern, position, place)) add(target)
    if (isSkippable(pattern[position], place.char)) skipTo = position + 1
  }
  return next
}

/** Where a position goes when it eats the character. */
function targetsOf(pattern: string, position: number, place: Place): readonly number[] {
  const isDot = place.char === '.'
  const one = [position + 1]
  switch (pattern[position]) {
    case '*':
      return [position]
    case '<':
      return place.isLastDot ? one : [position]
    case '?':
      return one
    case '>':
      // A dot at the very end counts as the end.
      if (isDot) return place.isLastChar && position >= place.nullableFrom ? [pattern.length] : []
      return one
    case '"':
      return isDot ? one : []
    default:
      return pattern[position] === place.char ? one : []
  }
}

/** May the position be left without eating the character? */
function isSkippable(symbol: string | undefined, char: string): boolean {
  return symbol === '*' || symbol === '<' || (symbol === '>' && char === '.')
}
