import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from './error.ts'
import {
  matchesTags,
  namedTags,
  parseIfTags,
  parseWhere,
  splitContainer,
  type TagComparison,
  type TagExpression,
  type TagOperator,
} from './tag-filter.ts'
import type { Tags } from './tags.ts'

const is = (name: string, operator: TagOperator, value: string): TagComparison => ({
  name,
  operator,
  value,
})

const WHERES: readonly (readonly [text: string, all: readonly TagComparison[]])[] = [
  [`"Status" = 'In Progress'`, [is('Status', '=', 'In Progress')]],
  [`Status='Done'`, [is('Status', '=', 'Done')]],
  [`"a"=''`, [is('a', '=', '')]],
  [`"Date" > '2018-06-18'`, [is('Date', '>', '2018-06-18')]],
  [`"Rank" >= '010' AND "Rank" < '100'`, [is('Rank', '>=', '010'), is('Rank', '<', '100')]],
  [`Rank<='9'and Rank>'1'`, [is('Rank', '<=', '9'), is('Rank', '>', '1')]],
  [`"Malware Scanning scan result"='Malware'`, [is('Malware Scanning scan result', '=', 'Malware')]],
  [`"AND" = 'or' AND "or" = 'AND'`, [is('AND', '=', 'or'), is('or', '=', 'AND')]],
  [`\t"a:/=+-._ z" = 'b:/=+-._ z'\n`, [is('a:/=+-._ z', '=', 'b:/=+-._ z')]],
  [`@container='$web' AND a = '1'`, [is('@container', '=', '$web'), is('a', '=', '1')]],
] // prettier-ignore

for (const [text, all] of WHERES) {
  test(`where ${text}`, () => assert.deepEqual(parseWhere(text, 'account'), { all }))
}

const near = (position: number, reason: string) =>
  `Error parsing query at or near character position ${position}: ${reason}`
const MULTIPLE =
  "Error parsing query: can't have multiple conditions for a single tag unless they define a range"

const INVALID_WHERES = [
  ['', near(1, 'unexpected end of query')],
  ['a', near(2, 'unexpected end of query')],
  [`a = `, near(5, 'unexpected end of query')],
  [`a = b`, near(5, "unexpected 'b'")],
  [`a = "b"`, near(5, "unexpected 'b'")],
  [`a = 'b`, near(5, `unexpected '''`)],
  [`'a' = 'b'`, near(1, "unexpected 'a'")],
  [`'b' = a`, near(1, "unexpected 'b'")],
  [`a-b = 'c'`, near(2, "unexpected '-'")],
  [`a = 'b' AND`, near(12, 'unexpected end of query')],
  [`a = 'b' b = 'c'`, near(9, "unexpected 'b'")],
  [`a = 'b' OR b = 'c'`, near(9, "unexpected 'OR'")],
  [`a <> 'b'`, near(3, "unexpected '<>'")],
  [`NOT a = 'b'`, near(1, "unexpected 'NOT'")],
  [`(a = 'b')`, near(1, "unexpected '('")],
  [`"" = 'b'`, near(1, 'tag must be between 1 and 128 characters in length')],
  [`"a@" = 'b'`, near(1, "'@' not permitted in tag name or value")],
  [`"@container" = 'b'`, near(1, "'@' not permitted in tag name or value")],
  [`'@container' = 'b'`, near(1, "unexpected '@container'")],
  [`a = '😀'`, near(5, "'😀' not permitted in tag name or value")],
  [`a = '${'b'.repeat(257)}'`, near(5, 'tag value must be between 0 and 256 characters in length')],
  [`@containers = 'c' AND a = 'b'`, near(1, "unsupported parameter '@containers'")],
  [`@container > 'c' AND a = 'b'`, near(12, "unexpected '>'")],
  [`@container = 'c'`, 'Error parsing query: there must be at least one tag in a query'],
  [`@container = 'c' AND a = '1' AND @container = 'c'`, MULTIPLE],
  [`"Rank" > '10' AND "Rank" >= '15'`, MULTIPLE],
  [`a = '1' AND a = '1'`, MULTIPLE],
  [`a = '1' AND a < '2'`, MULTIPLE],
  [`a > '1' AND a < '2' AND a < '3'`, MULTIPLE],
  [
    Array.from({ length: 11 }, (_, i) => `a${i} = ''`).join(' AND '),
    'Error parsing query: there can be at most 10 unique tags in a query',
  ],
] as const

for (const [text, message] of INVALID_WHERES) {
  test(`where ${text.slice(0, 60)} → InvalidQueryParameterValue`, () => {
    assert.throws(() => parseWhere(text, 'account'), {
      code: 'InvalidQueryParameterValue',
      message,
      details: { QueryParameterName: 'where', QueryParameterValue: text },
    })
  })
}

test('a search in a container can’t name one', () => {
  assert.throws(() => parseWhere(`a = '1' AND @container = 'c'`, 'container'), {
    code: 'InvalidQueryParameterValue',
    message: 'Error parsing query: Cannot have container in both uri and query',
  })
  const where = parseWhere(`@container = 'c' AND a > '1' AND a < '2'`, 'account')
  const tags = parseWhere(`a > '1' AND a < '2'`, 'container')
  assert.deepEqual(splitContainer(where), { container: 'c', where: tags })
  assert.deepEqual(splitContainer(tags), { container: undefined, where: tags })
})

test('results contain only the tags that the filter names', () => {
  const where = parseWhere(`a = '1' AND c > '2'`, 'account')
  assert.deepEqual(namedTags(where, [['c', '3'], ['b', '2'], ['a', '1']]), [['c', '3'], ['a', '1']]) // prettier-ignore
})

const TAGS: Tags = [['Status', 'Done'], ['Rank', '010'], ['Empty', '']] // prettier-ignore

const IF_TAGS = [
  [`"Status" = 'Done'`, true],
  [`"Status" = 'done'`, false],
  [`"status" = 'Done'`, false],
  [`Status <> 'Done'`, false],
  [`Status <> 'Open'`, true],
  [`"Empty" = ''`, true],
  [`"Rank" > '01'`, true],
  [`"Rank" > '10'`, false],
  [`"Rank" >= '010' AND "Rank" <= '010'`, true],
  [`"Rank" < '010' OR "Rank" > '010'`, false],
  [`"Rank" < '9'`, true],
  [`"Status" > 'DONE'`, true],
  // The tag is missing.
  [`Other = ''`, false],
  [`Other <> 'x'`, false],
  [`Other < 'x'`, false],
  // AND binds closer than OR.
  [`Status = 'Done' OR Status = 'Done' AND Rank = '9'`, true],
  [`(Status = 'Done' OR Status = 'Done') AND Rank = '9'`, false],
  [`Rank = '9' AND Rank = '9' or Status = 'Done'`, true],
  [`((("Status" = 'Done')))AND(Rank='010')`, true],
] as const

for (const [text, matches] of IF_TAGS) {
  test(`x-ms-if-tags ${text} → ${matches}`, () => {
    const expression = parseIfTags(text)
    assert.equal(matchesTags(expression, TAGS), matches)
    assert.deepEqual(JSON.parse(JSON.stringify(expression)), expression)
  })
}

const joined = (count: number) => Array.from({ length: count }, () => `a = '1'`).join(' OR ')

test('x-ms-if-tags has at most ten logical operators', () => {
  parseIfTags(joined(11))
  assert.throws(() => parseIfTags(joined(12)), { code: 'InvalidHeaderValue' })
})

const REFUSED_IF_TAGS = [
  '', ' ', 'a', `a = b`, `a == 'b'`, `a = 'b' AND`, `a = 'b' AND OR b = 'c'`, `(a = 'b'`, `a = 'b')`,
  `()`, `NOT a = 'b'`, `@container = 'c'`, `a != 'b'`, `a LIKE 'b'`, `a = 'b';`, `'a' = 'b'`,
  `${'('.repeat(33)}a = 'b'${')'.repeat(33)}`, '('.repeat(100_000),
] // prettier-ignore

for (const text of REFUSED_IF_TAGS) {
  test(`x-ms-if-tags ${text.slice(0, 40)} → InvalidHeaderValue`, () => {
    assert.throws(() => parseIfTags(text), {
      code: 'InvalidHeaderValue',
      details: { HeaderName: 'x-ms-if-tags', HeaderValue: text },
    })
  })
}

test('the error names the header that was sent', () => {
  assert.throws(() => parseIfTags('a', 'x-ms-source-if-tags'), {
    details: { HeaderName: 'x-ms-source-if-tags', HeaderValue: 'a' },
  })
})

const NAMES = ['a', 'b c', 'OR'] as const
const VALUES = ['', '1', '10', '2', 'a', 'A'] as const

/** A condition as text and as a function. */
type Sample = {
  readonly text: string
  readonly holds: (tags: ReadonlyMap<string, string>) => boolean
  readonly logicalCount: number
}

const comparison: fc.Arbitrary<Sample> = fc
  .record({
    name: fc.constantFrom(...NAMES),
    operator: fc.constantFrom<TagOperator>('=', '<>', '<', '<=', '>', '>='),
    value: fc.constantFrom(...VALUES),
  })
  .map(({ name, operator, value }) => ({
    text: `"${name}" ${operator} '${value}'`,
    logicalCount: 0,
    holds: (tags) => {
      const actual = tags.get(name)
      if (actual === undefined) return false
      const order = Buffer.compare(Buffer.from(actual), Buffer.from(value))
      const sign = order === 0 ? '=' : order < 0 ? '<' : '>'
      return operator.includes(sign)
    },
  }))

const { condition } = fc.letrec<{ condition: Sample }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4, depthSize: 'large' },
    comparison,
    fc.tuple(tie('condition'), tie('condition')).map(([left, right]): Sample => ({
      text: `(${left.text}) AND (${right.text})`,
      holds: (tags) => left.holds(tags) && right.holds(tags),
      logicalCount: left.logicalCount + right.logicalCount + 1,
    })),
    fc.tuple(comparison, tie('condition')).map(([left, right]): Sample => ({
      text: `${left.text} OR ${right.text}`,
      // The part after an OR is a disjunction of its own.
      holds: (tags) => left.holds(tags) || right.holds(tags),
      logicalCount: left.logicalCount + right.logicalCount + 1,
    })),
  ),
}))

const someTags = fc.uniqueArray(
  fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES)),
  { selector: ([name]) => name },
) // prettier-ignore

test('a parsed condition agrees with the model', () => {
  fc.assert(
    fc.property(condition, someTags, (sample, tags) => {
      fc.pre(sample.logicalCount <= 10)
      assert.equal(matchesTags(parseIfTags(sample.text), tags), sample.holds(new Map(tags)))
    }),
    { numRuns: 1_000 },
  )
})

function depthOf(expression: TagExpression): number {
  const parts = 'all' in expression ? expression.all : 'any' in expression ? expression.any : []
  return 1 + Math.max(0, ...parts.map(depthOf))
}

const PIECES = [
  'a', '"a b"', `'v'`, '=', '<>', '<', '>=', '(', ')', ' AND ', ' or ', ' NOT ', '@container', ' ',
  `'`, '"', '😀', '\0', '-', '@',
] // prettier-ignore

test('any text gives an expression or a StorageError', () => {
  const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 })
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    pieces.map((all) => all.join('')),
    // Otherwise hardly any text would be valid.
    condition.map((sample) => sample.text),
    fc.tuple(condition, fc.constantFrom(...PIECES)).map(([sample, piece]) => sample.text + piece),
  )
  const expressionOf = (parse: (text: string) => TagExpression, any: string) => {
    try {
      return parse(any)
    } catch (error) {
      assert(error instanceof StorageError)
      return undefined
    }
  }
  let parsedCount = 0
  fc.assert(
    fc.property(text, (any) => {
      for (const parse of [parseIfTags, (where: string) => parseWhere(where, 'account')]) {
        const expression = expressionOf(parse, any)
        if (expression === undefined) continue
        parsedCount += 1
        assert(depthOf(expression) < 32)
      }
    }),
    { numRuns: 2_000 },
  )
  assert(parsedCount > 0)
})
