// The tokenizer of $filter. It chooses the kind of token by its first character, so that it takes linear time.
// The messages are those of the OData library that the service uses; positions count from 0.
import { StorageError } from '../shared/error.ts'
import { parseDateTime } from './edm-date-time.ts'
import { parseDouble, parseGuid, parseHexadecimal, parseInt32, parseInt64 } from './edm-text.ts'
import type { EdmType, EdmValue } from './edm.ts'

type Place = { readonly at: number; readonly end: number }

export type FilterToken = Place &
  (
    | { readonly kind: '(' | ')' | 'null' | 'end' }
    | { readonly kind: 'literal'; readonly value: EdmValue }
    /** The name of a property or function, or an operator, depending on its position. */
    | { readonly kind: 'word'; readonly text: string }
  )

const SPACE = /\s*/y
const NUMBER = /-?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|INF)/y
// A C# identifier, like all names of properties.
const WORD = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*/uy
const TAIL = /[\p{L}\p{Nd}_.]*/uy

export function nextFilterToken(source: string, from: number): FilterToken {
  const at = from + matchAt(SPACE, source, from).length
  const first = source.charAt(at)
  if (first === '') return { kind: 'end', at, end: at }
  if (first === '(' || first === ')') return { kind: first, at, end: at + 1 }
  if (first === "'") return stringToken(source, at)
  const number = matchAt(NUMBER, source, at)
  if (number !== '' && number !== 'INF') return numberToken(source, at, number)
  const word = matchAt(WORD, source, at)
  if (word !== '') return wordToken(source, at, word)
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0)
  throw invalidFilter(
    `Syntax error: character '${character}' is not valid at position ${at} in '${source}'.`,
  )
}

/** Whether an opening parenthesis follows, which makes a word the name of a function. */
export function isOpeningAt(source: string, from: number): boolean {
  return source.charAt(from + matchAt(SPACE, source, from).length) === '('
}

export function invalidFilter(message?: string): StorageError {
  return new StorageError('InvalidInput', {}, message)
}

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? ''
}

function stringToken(source: string, at: number): FilterToken {
  const end = quotedEnd(source, at)
  const value = source.slice(at + 1, end - 1).replaceAll("''", "'")
  return { kind: 'literal', value: { type: 'Edm.String', value }, at, end }
}

/** The position after the closing quote. A doubled quote is a quote in the text. */
function quotedEnd(source: string, open: number): number {
  let quote = source.indexOf("'", open + 1)
  while (quote >= 0 && source.charAt(quote + 1) === "'") quote = source.indexOf("'", quote + 2)
  if (quote >= 0) return quote + 1
  throw invalidFilter(
    `There is an unterminated string literal at position ${source.length} in '${source}'.`,
  )
}

/**
 * The letter after a number is its type: 5L, 5d. Without one it is an Int32 or, with a point or exponent, a
 * Double.
 */
function numberToken(source: string, at: number, number: string): FilterToken {
  const tail = matchAt(TAIL, source, at + number.length)
  const end = at + number.length + tail.length
  const isWhole = /^-?\d+$/.test(number)
  const literal = { source, text: number + tail, at, end }
  switch (tail.toLowerCase()) {
    case '':
      return isWhole
        ? literalToken(literal, 'Edm.Int32', parseInt32(number))
        : literalToken(literal, 'Edm.Double', parseDouble(number))
    case 'l':
      return literalToken(literal, 'Edm.Int64', parseInt64(number))
    case 'd':
      return literalToken(literal, 'Edm.Double', parseDouble(number))
    default:
      throw invalidFilter(`Syntax error at position ${end} in '${source}'.`)
  }
}

type LiteralText = Place & { readonly source: string; readonly text: string }

function literalToken(
  { source, text, at, end }: LiteralText,
  type: EdmType,
  value: EdmValue | undefined,
): FilterToken {
  if (value !== undefined) return { kind: 'literal', value, at, end }
  throw invalidFilter(`Unrecognized '${type}' literal '${text}' at '${at}' in '${source}'.`)
}

function wordToken(source: string, at: number, word: string): FilterToken {
  const end = at + word.length
  if (source.charAt(end) === "'") return prefixedToken(source, at, word)
  const isCalled = isOpeningAt(source, end)
  if (word === 'null') return { kind: 'null', at, end }
  if (!isCalled && (word === 'INF' || word === 'NaN')) {
    return literalToken({ source, text: word, at, end }, 'Edm.Double', parseDouble(word))
  }
  // Python writes True, which the service accepts.
  const lower = word.toLowerCase()
  if (!isCalled && (lower === 'true' || lower === 'false')) {
    return { kind: 'literal', value: { type: 'Edm.Boolean', value: lower === 'true' }, at, end }
  }
  return { kind: 'word', text: word, at, end }
}

type Prefix = {
  readonly type: EdmType
  readonly parse: (text: string) => EdmValue | undefined
}

const BINARY: Prefix = { type: 'Edm.Binary', parse: parseHexadecimal }

const PREFIXES: ReadonlyMap<string, Prefix> = new Map<string, Prefix>([
  ['datetime', { type: 'Edm.DateTime', parse: parseDateTimeLiteral }],
  ['guid', { type: 'Edm.Guid', parse: parseGuid }],
  ['binary', BINARY],
  ['x', BINARY],
])

/** A literal with a prefix for its type: guid'…', X'…'. */
function prefixedToken(source: string, at: number, word: string): FilterToken {
  const open = at + word.length
  const prefix = PREFIXES.get(word.toLowerCase())
  if (prefix === undefined) {
    throw invalidFilter(`Syntax error at position ${open} in '${source}'.`)
  }
  const end = quotedEnd(source, open)
  const literal = { source, text: source.slice(at, end), at, end }
  return literalToken(literal, prefix.type, prefix.parse(source.slice(open + 1, end - 1)))
}

function parseDateTimeLiteral(text: string): EdmValue | undefined {
  const value = parseDateTime(text)
  return value === undefined ? undefined : { type: 'Edm.DateTime', value }
}
