// Blob index tags: at most ten pairs of name and value, case-sensitive, from a small set of characters. Setting
// tags replaces all of them ("Set Blob Tags").
import { invalidHeader, StorageError } from './error.ts'

/** Pairs in the order of the request. */
export type Tags = readonly (readonly [name: string, value: string])[]

export const NO_TAGS: Tags = []

export const TAG_COUNT_MAX = 10
export const TAG_NAME_LENGTH_MAX = 128
export const TAG_VALUE_LENGTH_MAX = 256

/** The maximum length of x-ms-tags, as it is sent. */
const HEADER_LENGTH_MAX = 2 * 1024

/** Letters, digits, space and `+ - . / : = _`. */
const PERMITTED = /^[A-Za-z0-9 +\-./:=_]*$/

export function isTagText(text: string): boolean {
  return PERMITTED.test(text)
}

export function checkTags(tags: Tags): void {
  if (tags.length === 0) return
  if (tags.length > TAG_COUNT_MAX) throw new StorageError('TagsTooLarge')
  for (const [name, value] of tags) checkTag(name, value)
  const names = new Set(tags.map(([name]) => name))
  if (names.size !== tags.length) throw new StorageError('DuplicateTagNames')
}

function checkTag(name: string, value: string): void {
  if (name === '') throw new StorageError('EmptyTagName')
  if (name.length > TAG_NAME_LENGTH_MAX || value.length > TAG_VALUE_LENGTH_MAX) {
    throw new StorageError('TagsTooLarge')
  }
  if (!isTagText(name) || !isTagText(value)) throw new StorageError('InvalidTag')
}

/** x-ms-tags: `name=value&name=value`, percent-encoded, where a plus sign is a space. */
export function decodeTagsHeader(text: string): Tags {
  if (text === '') return NO_TAGS
  if (text.length > HEADER_LENGTH_MAX) throw new StorageError('TagsTooLarge')
  const fields = text.split('&').filter((field) => field !== '')
  const tags = fields.map((field): readonly [string, string] => {
    const equals = field.indexOf('=')
    if (equals < 0) throw invalidHeader('x-ms-tags', text)
    return [
      decodeHeaderPart(field.slice(0, equals), text),
      decodeHeaderPart(field.slice(equals + 1), text),
    ]
  })
  checkTags(tags)
  return tags
}

function decodeHeaderPart(part: string, header: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    throw invalidHeader('x-ms-tags', header)
  }
}
