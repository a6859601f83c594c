// Parses the JSON of an entity: one object whose members are strings, numbers, booleans or null. JSON.parse would lose
// what matters here: the difference between `5.0` and `5`, and duplicate names.
import { StorageError } from '../../storage/shared/error.ts'

export type JsonScalar =
  | { readonly kind: 'string'; readonly text: string }
  /** The digits as sent. */
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' }

export type JsonMembers = ReadonlyMap<string, JsonScalar>

type Cursor = { readonly text: string; at: number }

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

export function parseJsonMembers(body: Uint8Array): JsonMembers {
  const cursor: Cursor = { text: decodeUtf8(body), at: 0 }
  const members = new Map<string, JsonScalar>()
  take(cursor, '{')
  if (!isNext(cursor, '}')) {
    do {
      const name = takeString(cursor)
      take(cursor, ':')
      if (members.has(name)) throw new StorageError('DuplicatePropertiesSpecified')
      members.set(name, takeScalar(cursor))
    } while (isNext(cursor, ','))
    take(cursor, '}')
  }
  skipBlanks(cursor)
  if (cursor.at < cursor.text.length) throw malformed()
  return members
}

function decodeUtf8(body: Uint8Array): string {
  try {
    return UTF_8.decode(body)
  } catch {
    throw malformed()
  }
}

function takeScalar(cursor: Cursor): JsonScalar {
  skipBlanks(cursor)
  const character = cursor.text[cursor.at]
  if (character === '"') return { kind: 'string', text: takeString(cursor) }
  if (character === 't') return takeWord(cursor, 'true', { kind: 'boolean', value: true })
  if (character === 'f') return takeWord(cursor, 'false', { kind: 'boolean', value: false })
  if (character === 'n') return takeWord(cursor, 'null', { kind: 'null' })
  return takeNumber(cursor)
}

function takeWord(cursor: Cursor, word: string, scalar: JsonScalar): JsonScalar {
  if (!cursor.text.startsWith(word, cursor.at)) throw malformed()
  cursor.at += word.length
  return scalar
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function takeNumber(cursor: Cursor): JsonScalar {
  NUMBER.lastIndex = cursor.at
  const text = NUMBER.exec(cursor.text)?.[0]
  if (text === undefined) throw malformed()
  cursor.at += text.length
  return { kind: 'number', text }
}

/** A string without these characters needs no decoding; JSON.parse refuses the control characters. */
// oxlint-disable-next-line no-control-regex
const ESCAPED = /[\\\u0000-\u001f]/

function takeString(cursor: Cursor): string {
  skipBlanks(cursor)
  if (cursor.text[cursor.at] !== '"') throw malformed()
  const start = cursor.at
  const end = endOfString(cursor.text, start)
  cursor.at = end
  const between = cursor.text.slice(start + 1, end - 1)
  if (!ESCAPED.test(between)) return between
  try {
    return String(JSON.parse(cursor.text.slice(start, end)))
  } catch {
    throw malformed()
  }
}

/** The position after the first quote that is not escaped. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote >= 0) {
    let before = quote - 1
    while (text[before] === '\\') before -= 1
    if ((quote - before) % 2 === 1) return quote + 1
    quote = text.indexOf('"', quote + 1)
  }
  throw malformed()
}

function take(cursor: Cursor, character: string): void {
  if (!isNext(cursor, character)) throw malformed()
}

function isNext(cursor: Cursor, character: string): boolean {
  skipBlanks(cursor)
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  return true
}

function skipBlanks(cursor: Cursor): void {
  for (;;) {
    const code = cursor.text.charCodeAt(cursor.at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
    cursor.at += 1
  }
}

function malformed(): StorageError {
  return new StorageError('InvalidInput')
}
