// The parser's position in the tokens. It also parses paths (`.warehouses[0].longitude`), which columns and the
// FROM clause share.
import { syntaxError } from '../query-error.ts'
import { tokenize } from './token.ts'
import type { PathStep } from './expression.ts'
import type { Token } from './token.ts'

const STEP_COUNT_MAX = 100

export type TokenCursor = {
  /** The current nesting depth of the parser. */
  depth: number
  peek(ahead?: number): Token
  next(): Token
  /** Consumes the next token if it is this keyword or symbol. */
  take(word: string): boolean
  expect(word: string): void
  pathSteps(): readonly PathStep[]
}

const END: Token = { kind: 'end', text: '', word: '' }

export function createTokenCursor(expression: string): TokenCursor {
  const tokens = tokenize(expression)
  let at = 0
  const cursor: TokenCursor = {
    depth: 0,
    peek: (ahead = 0) => tokens[at + ahead] ?? END,
    next() {
      at += 1
      return tokens[at - 1] ?? END
    },
    take(word) {
      if (cursor.peek().word !== word) return false
      at += 1
      return true
    },
    expect(word) {
      if (!cursor.take(word)) {
        throw syntaxError(`Expected '${word}', found '${cursor.peek().text}'.`)
      }
    },
    pathSteps: () => parseSteps(cursor),
  }
  return cursor
}

function parseSteps(cursor: TokenCursor): readonly PathStep[] {
  const steps: PathStep[] = []
  for (;;) {
    if (cursor.take('.')) steps.push(parseNameStep(cursor))
    else if (cursor.take('[')) steps.push(parseBracketStep(cursor))
    else return steps
    if (steps.length > STEP_COUNT_MAX) throw syntaxError('The path is too long.')
  }
}

function parseNameStep(cursor: TokenCursor): PathStep {
  const { kind, text } = cursor.next()
  if (kind !== 'name' && kind !== 'quoted') throw syntaxError('Expected a name in a path.')
  return { name: text, quoted: kind === 'quoted' }
}

function parseBracketStep(cursor: TokenCursor): PathStep {
  const { kind, text, word } = cursor.next()
  cursor.expect(']')
  if (word === '*') return { every: true }
  if (kind === 'string' || kind === 'quoted') return { name: text, quoted: true }
  if (kind !== 'number' || !/^\d{1,9}$/.test(text))
    throw syntaxError('Expected an index in a path.')
  return { index: Number(text) }
}
