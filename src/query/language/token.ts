// Splits a query into tokens. The tokenizer has no keywords: the parser decides what an unquoted name is, so that a
// column may be called `count` or `day`.
import { syntaxError } from '../query-error.ts'

/** "The maximum size of the query expression is 256 KiB." */
const EXPRESSION_LENGTH_BYTES_MAX = 256 * 1024

export type Token = {
  readonly kind: 'name' | 'quoted' | 'string' | 'number' | 'symbol' | 'end'
  /** Without quotes. An unquoted name keeps its case. */
  readonly text: string
  /** An unquoted name in upper case, or a symbol. Empty for other tokens, which are never keywords. */
  readonly word: string
}

// In the order they are tried. None of them can backtrack for long.
const PATTERNS: readonly (readonly [Token['kind'] | 'space', RegExp])[] = [
  ['space', /\s+/y],
  ['name', /[\p{L}_][\p{L}\p{N}_]*/uy],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['string', /'[^']*(?:''[^']*)*'/y],
  ['quoted', /"[^"]*(?:""[^"]*)*"/y],
  ['symbol', /<=|>=|<>|!=|[-=<>+*/%(),.;[\]]/y],
]

export function tokenize(expression: string): readonly Token[] {
  if (Buffer.byteLength(expression) > EXPRESSION_LENGTH_BYTES_MAX) {
    throw syntaxError('The expression is longer than 256 KiB.')
  }
  const tokens: Token[] = []
  for (let at = 0; at < expression.length;) {
    const [kind, text] = match(expression, at)
    at += text.length
    if (kind !== 'space') tokens.push(tokenOf(kind, text))
  }
  return tokens
}

function match(expression: string, at: number): readonly [Token['kind'] | 'space', string] {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at
    const found = pattern.exec(expression)
    if (found !== null) return [kind, found[0]]
  }
  throw syntaxError(`Unexpected character at ${at}.`)
}

function tokenOf(kind: Token['kind'], text: string): Token {
  if (kind === 'string') return { kind, text: text.slice(1, -1).replaceAll("''", "'"), word: '' }
  if (kind === 'quoted') return { kind, text: text.slice(1, -1).replaceAll('""', '"'), word: '' }
  if (kind === 'name') return { kind, text, word: text.toUpperCase() }
  return { kind, text, word: kind === 'symbol' ? text : '' }
}
