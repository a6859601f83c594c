// LIKE with the syntax of Transact-SQL, which the reference refers to: % matches any run, _ any one character,
// [a-f] one of a set, [^a-f] one outside it; and ESCAPE. A regular expression could backtrack for hours. This
// matcher backtracks only to the last %, so a match costs at most the product of both lengths, charged to the
// budget.
import type { Budget } from '../run/budget.ts'
import { syntaxError } from '../query-error.ts'

/** The first and the last code point. */
type Range = readonly [number, number]

type Element =
  | { readonly kind: 'run' }
  | { readonly kind: 'any' }
  | { readonly kind: 'exact'; readonly codePoint: number }
  | { readonly kind: 'set'; readonly ranges: readonly Range[]; readonly negated: boolean }

export type LikePattern = readonly Element[]

/** The limit of Transact-SQL. */
const PATTERN_LENGTH_MAX = 8000

export function parseLikePattern(pattern: string, escape: string | undefined): LikePattern {
  const characters = [...pattern]
  if (characters.length > PATTERN_LENGTH_MAX) throw syntaxError('The pattern is too long.')
  if (escape !== undefined && [...escape].length !== 1) {
    throw syntaxError('ESCAPE takes one character.')
  }
  const elements: Element[] = []
  // Once a bracket is unclosed, all later ones are too; searching again would make long patterns quadratic.
  let mayClose = true
  for (let at = 0; at < characters.length;) {
    const character = characters[at] ?? ''
    const next = characters[at + 1]
    if (character === escape && next !== undefined) {
      elements.push(exact(next))
      at += 2
      continue
    }
    const opens = mayClose && character === '['
    const close = opens ? closingBracket(characters, at, escape) : -1
    if (opens && close < 0) mayClose = false
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
  return character === '_' ? { kind: 'any' } : exact(character)
}

const exact = (character: string): Element => ({ kind: 'exact', codePoint: codePointOf(character) })

const codePointOf = (character: string): number => character.codePointAt(0) ?? 0

/** The index of the bracket that closes the set at `from`, or -1: an unclosed [ is an ordinary character. */
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
    ranges.push([codePointOf(first), codePointOf(last ?? first)])
    if (last !== undefined) at += 2
  }
  return { kind: 'set', ranges, negated }
}

export function matchesLike(
  text: string,
  pattern: LikePattern,
  budget: Pick<Budget, 'spend'>,
): boolean {
  let [at, element] = [0, 0]
  // Where to backtrack to: the last run's element and the position that the run has reached.
  let [runElement, runAt] = [-1, 0]
  while (at < text.length) {
    const codePoint = text.codePointAt(at) ?? 0
    const current = pattern[element]
    budget.spend(current?.kind === 'set' ? 1 + current.ranges.length : 1)
    if (current?.kind === 'run') {
      ;[runElement, runAt] = [element, at]
      element += 1
    } else if (current !== undefined && matchesOne(codePoint, current)) {
      at += lengthOf(codePoint)
      element += 1
    } else {
      if (runElement < 0) return false
      runAt += lengthOf(text.codePointAt(runAt) ?? 0)
      ;[at, element] = [runAt, runElement + 1]
    }
  }
  while (pattern[element]?.kind === 'run') element += 1
  return element === pattern.length
}

/** In code units. */
const lengthOf = (codePoint: number): number => (codePoint > 0xffff ? 2 : 1)

function matchesOne(codePoint: number, element: Element): boolean {
  if (element.kind === 'exact') return element.codePoint === codePoint
  if (element.kind !== 'set') return element.kind === 'any'
  const within = element.ranges.some(([first, last]) => first <= codePoint && codePoint <= last)
  return within !== element.negated
}
