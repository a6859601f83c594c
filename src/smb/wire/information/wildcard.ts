// Search patterns, [MS-FSA] 2.1.4.4: "*" and "?", and the DOS forms "<" (up to the last dot), ">" (one, or none before a
// dot or the end) and '"' (a dot, or the end). The matcher tracks all reachable positions in the pattern at once, so it
// needs at most name × pattern steps and no backtracking.
import { WireError } from '../error.ts'

/** Four times the longest name. Real patterns are shorter, and every name costs this many steps. */
const PATTERN_MAX = 1024

export type NameMatcher = (name: string) => boolean

/** `fold` must keep the length of a string: it maps each code unit to one code unit. */
export function compilePattern(pattern: string, fold: (text: string) => string): NameMatcher {
  if (pattern.length > PATTERN_MAX) throw new WireError('OBJECT_NAME_INVALID')
  const folded = fold(pattern).replace(/\*{2,}/g, '*')
  if (folded === '*') return () => true
  if (!/[*?<>"]/.test(folded)) return (name) => fold(name) === folded
  return (name) => matches(folded, fold(name))
}

function matches(pattern: string, name: string): boolean {
  const lastDot = name.lastIndexOf('.')
  // From here on the pattern can match the empty string.
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

/** `positions` are sorted, and so are the returned ones. Each is visited once. */
function advance(pattern: string, positions: readonly number[], place: Place): number[] {
  const next: number[] = []
  const add = (position: number) => {
    if (next.at(-1) !== position) next.push(position)
  }
  let skipTo = -1
  let index = 0
  while (index < positions.length || skipTo >= 0) {
    const listed = positions[index] ?? Infinity
    const position: number = skipTo >= 0 && skipTo <= listed ? skipTo : listed
    if (position === listed) index += 1
    skipTo = -1
    for (const target of targetsOf(pattern, position, place)) add(target)
    if (isSkippable(pattern[position], place.char)) skipTo = position + 1
  }
  return next
}

/** The positions after `position` has consumed the character. */
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

/** Whether a position may advance without consuming the character. */
function isSkippable(symbol: string | undefined, char: string): boolean {
  return symbol === '*' || symbol === '<' || (symbol === '>' && char === '.')
}
