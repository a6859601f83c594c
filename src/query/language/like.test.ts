// LIKE compared with a slow, obviously correct implementation; and its cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { matchesLike, parseLikePattern, type LikePattern } from './like.ts'

const FREE = { spend: () => undefined }

/** Tries every possible match. */
function matchesSlowly(characters: readonly string[], pattern: LikePattern): boolean {
  const [element, ...rest] = pattern
  if (element === undefined) return characters.length === 0
  if (element.kind === 'run') {
    return (
      matchesSlowly(characters, rest) ||
      (characters.length > 0 && matchesSlowly(characters.slice(1), pattern))
    )
  }
  const [first] = characters
  return first !== undefined && fits(first, element) && matchesSlowly(characters.slice(1), rest)
}

function fits(character: string, element: LikePattern[number]): boolean {
  const codePoint = character.codePointAt(0) ?? 0
  if (element.kind === 'exact') return element.codePoint === codePoint
  if (element.kind !== 'set') return true
  const isInside = element.ranges.some(([from, to]) => from <= codePoint && codePoint <= to)
  return isInside !== element.negated
}

const texts = fc.array(fc.constantFrom('a', 'b', 'c', '%', '😀', '\ud800'), { maxLength: 9 })
const patterns = fc.array(
  fc.constantFrom('a', 'b', '%', '%', '_', '[ab]', '[^a]', '[b-c]', '[', ']', '!', '!%', '😀'),
  { maxLength: 7 },
)

test('LIKE agrees with an exhaustive matcher, with and without ESCAPE', () => {
  fc.assert(
    fc.property(texts, patterns, fc.boolean(), (text, parts, isEscaped) => {
      const pattern = parseLikePattern(parts.join(''), isEscaped ? '!' : undefined)
      const whole = text.join('')
      assert.equal(matchesLike(whole, pattern, FREE), matchesSlowly([...whole], pattern))
    }),
    { numRuns: 5_000 },
  )
})

test('a match costs at most the product of both lengths', () => {
  fc.assert(
    fc.property(texts, patterns, (text, parts) => {
      const pattern = parseLikePattern(parts.join(''), undefined)
      const ranges = pattern.flatMap((element) => (element.kind === 'set' ? element.ranges : []))
      const whole = text.join('')
      let steps = 0
      matchesLike(whole, pattern, { spend: (units) => void (steps += units) })
      assert(steps <= (whole.length + 1) * (pattern.length + ranges.length + 1))
    }),
  )
})

test('unclosed brackets match themselves', () => {
  const pattern = parseLikePattern('['.repeat(8_000), undefined)
  assert(matchesLike('['.repeat(8_000), pattern, FREE))
})
