// LIKE as Transact-SQL has it, to which the reference refers: % any run, _ any one character, [a-f] one of
// a set, [^a-f] one not of it, and ESCAPE. Not a regular expression, since a pattern with many % could make
// one run for hours: here only the last % is ever tried again.
import { QueryError, syntaxError } from './query-error.ts'

type Range = readonly [string, string]

type Element =
  | { readonly kind: 'run' }
  | { readonly kind: 'any' }
  | { readonly kind: 'exact'; readonly character: string }
  | { readonly kind: 'set'; readonly ranges: readonly Range[]; readonly negated: boolean }

export type LikePattern = readonly Element[]

/** As in Transact-SQL. */
const PATTERN_LENGTH_MAX = 8000

/** A long pattern over a long text still costs the product of both; no honest one costs this much. */
const STEP_COUNT_MAX = 10_000_000

export function parseLikePattern(pattern: string, escape: string | undefined): LikePattern {
  const characters = [...pattern]
  if (characters.length > PATTERN_LENGTH_MAX) throw syntaxError('The pattern is too long.')
  if (escape !== undefined && [...escape].length !== 1) {
    throw syntaxError('ESCAPE takes one character.')
  }
  const elements: Element[] = []
  for (let at = 0; at < characters.length;) {
    const character = characters[at] ?? ''
    const next = characters[at + 1]
    if (character === escape && next !== undefined) {
      elements.push({ kind: 'exact', character: next })
      at += 2
      continue
    }
    const close = character === '[' ? closingBracket(characters, at, escape) : -1
    if (close > 0) {
      elements.push(parseSet(characters.slice(at + 1, close), escape))
      at = close + 1
      continue
    }
    elements.push(wildcard(character))
    at += 1
  }
  return elements
}

function wildcard(character: string): Element {
  if (character === '%') return { kind: 'run' }
  return character === '_' ? { kind: 'any' } : { kind: 'exact', character }
}

/** Where the set that opens at `from` ends, or -1 when nothing closes it and [ stands for itself. */
function closingBracket(
  characters: readonly string[],
  from: number,
  escape: string | undefined,
): number {
  for (let at = from + 1; at < characters.length; at += 1) {
    if (characters[at] === escape) at += 1
    else if (characters[at] === ']') return at
  }
  return -1
}

function parseSet(inside: readonly string[], escape: string | undefined): Element {
  const negated = inside[0] === '^'
  const ranges: Range[] = []
  for (let at = negated ? 1 : 0; at < inside.length; at += 1) {
    if (inside[at] === escape && at + 1 < inside.length) at += 1
    const first = inside[at] ?? ''
    const last = inside[at + 1] === '-' ? inside[at + 2] : undefined
    ranges.push([first, last ?? first])
    if (last !== undefined) at += 2
  }
  return { kind: 'set', ranges, negated }
}

export function matchesLike(text: string, pattern: LikePattern): boolean {
  const characters = [...text]
  let [at, element] = [0, 0]
  // Where to go on after the last run: its element, and the character it has reached.
  let [runElement, runAt] = [-1, 0]
  for (let step = 0; at < characters.length; step += 1) {
    if (step > STEP_COUNT_MAX) throw new QueryError('PatternTooComplex')
    const current = pattern[element]
    if (current?.kind === 'run') {
      ;[runElement, runAt] = [element, at]
      element += 1
    } else if (current !== undefined && matchesOne(characters[at] ?? '', current)) {
      at += 1
      element += 1
    } else {
      if (runElement < 0) return false
      runAt += 1
      ;[at, element] = [runAt, runElement + 1]
    }
  }
  return pattern.slice(element).every(({ kind }) => kind === 'run')
}

function matchesOne(character: string, element: Element): boolean {
  if (element.kind === 'exact') return element.character === character
  if (element.kind !== 'set') return element.kind === 'any'
  const within = element.ranges.some(([first, last]) => first <= character && character <= last)
  return within !== element.negated
}
