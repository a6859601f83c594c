// A JSON parser for what JSON.parse lacks: 64-bit integers, fields in the order they were written, a depth limit, and
// trailing commas, which the service accepts (the tests of Azure's SDK for Java query such a file).
import { QueryError } from '../query-error.ts'
import { parseNumber } from '../language/value.ts'
import type { SqlValue } from '../language/value.ts'

const DEPTH_MAX = 128

const PLAIN_STRING = /"[^"\\\p{Cc}]*"/uy
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const WORDS: Readonly<Record<string, SqlValue>> = { true: true, false: false, null: null }

type Reader = { readonly text: string; at: number; depth: number }

/** Throws a ParseError with the byte offset and the expected tokens. */
export function parseJson(text: string): SqlValue {
  const reader: Reader = { text, at: 0, depth: 0 }
  const value = readValue(reader)
  skipSpace(reader)
  if (reader.at < text.length) throw unexpected(reader, "'{', or '['")
  return value
}

/** The service's message, including its trailing space. */
export function unexpectedToken(token: string, atByte: number, expected: string): string {
  const what = token === '' ? 'Unexpected end' : `Unexpected token '${token}'`
  return `${what} at [byte: ${atByte}]. Expecting tokens ${expected}. `
}

function unexpected({ text, at }: Reader, expected: string): QueryError {
  const token = String.fromCodePoint(...(at < text.length ? [text.codePointAt(at) ?? 0] : []))
  const atByte = Buffer.byteLength(text.slice(0, at))
  return new QueryError('ParseError', unexpectedToken(token, atByte, expected))
}

function skipSpace(reader: Reader): void {
  for (;;) {
    const code = reader.text.charCodeAt(reader.at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
    reader.at += 1
  }
}

function match(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.text)?.[0]
  if (found !== undefined) reader.at += found.length
  return found
}

/** Skips whitespace, then consumes the next character if it is this one. */
function take(reader: Reader, character: string): boolean {
  skipSpace(reader)
  if (reader.text[reader.at] !== character) return false
  reader.at += 1
  return true
}

function readValue(reader: Reader): SqlValue {
  if (take(reader, '{')) return nested(reader, readObject)
  if (take(reader, '[')) return nested(reader, readArray)
  if (reader.text[reader.at] === '"') return readString(reader)
  const word = match(reader, WORD)
  if (word !== undefined) return WORDS[word]
  const number = match(reader, NUMBER)
  const value = number === undefined ? undefined : (parseNumber(number) ?? Number(number))
  if (value === undefined) throw unexpected(reader, "'{', '[', or a value")
  return value
}

function nested(reader: Reader, read: (reader: Reader) => SqlValue): SqlValue {
  reader.depth += 1
  if (reader.depth > DEPTH_MAX) throw new QueryError('ParseError', 'The JSON is nested too deeply.')
  const value = read(reader)
  reader.depth -= 1
  return value
}

// Shared, so that a megabyte of empty objects does not become a hundred megabytes.
const NO_FIELDS: SqlValue = new Map<string, SqlValue>()
const NO_ITEMS: SqlValue = []

function readObject(reader: Reader): SqlValue {
  if (take(reader, '}')) return NO_FIELDS
  const fields = new Map<string, SqlValue>()
  while (!take(reader, '}')) {
    if (reader.text[reader.at] !== '"') throw unexpected(reader, "'\"', or '}'")
    const name = readString(reader)
    if (!take(reader, ':')) throw unexpected(reader, "':'")
    fields.set(name, readValue(reader))
    if (!take(reader, ',') && reader.text[reader.at] !== '}') {
      throw unexpected(reader, "',', or '}'")
    }
  }
  return fields
}

function readArray(reader: Reader): SqlValue {
  if (take(reader, ']')) return NO_ITEMS
  const items: SqlValue[] = []
  while (!take(reader, ']')) {
    items.push(readValue(reader))
    if (!take(reader, ',') && reader.text[reader.at] !== ']') {
      throw unexpected(reader, "',', or ']'")
    }
  }
  return items
}

function readString(reader: Reader): string {
  const plain = match(reader, PLAIN_STRING)
  if (plain !== undefined) return plain.slice(1, -1)
  const start = reader.at
  reader.at = stringEnd(reader)
  try {
    return String(JSON.parse(reader.text.slice(start, reader.at)))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw unexpected({ ...reader, at: start }, 'a string')
  }
}

// Not a regular expression: an alternation in a loop could overflow the stack on a string of millions of escapes.
function stringEnd(reader: Reader): number {
  for (let at = reader.at + 1; at < reader.text.length; at += 1) {
    if (reader.text[at] === '"') return at + 1
    if (reader.text[at] === '\\') at += 1
  }
  throw unexpected({ ...reader, at: reader.text.length }, "'\"'")
}
