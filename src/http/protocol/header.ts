// Decodes request headers, once, at the edge. An empty header counts as absent. A value that can't be decoded is
// InvalidHeaderValue, with the header's name and value in the error.
import { NO_CONDITIONS, type Conditions, type ETags } from '../../storage/shared/condition.ts'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { checkMetadata, NO_METADATA, type Metadata } from '../../storage/shared/metadata.ts'
import { parseHttpDate } from './date.ts'

/** Lower-case names, as in Node's `headers`. */
export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>

export function optionalHeader(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name]
  if (value === undefined || value === '') return undefined
  return typeof value === 'string' ? value : value.join(', ')
}

export function requiredHeader(headers: HeaderFields, name: string): string {
  const value = optionalHeader(headers, name)
  if (value === undefined) throw missingHeader(name)
  return value
}

export type Bounds = { readonly min: number; readonly max: number }

const COUNTING: Bounds = { min: 0, max: Number.MAX_SAFE_INTEGER }

export function optionalInt(
  headers: HeaderFields,
  name: string,
  bounds: Bounds = COUNTING,
): number | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= bounds.min && value <= bounds.max)) throw invalidHeader(name, text)
  return value
}

export function requiredInt(headers: HeaderFields, name: string, bounds?: Bounds): number {
  const value = optionalInt(headers, name, bounds)
  if (value === undefined) throw missingHeader(name)
  return value
}

export function optionalBoolean(headers: HeaderFields, name: string): boolean | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const lower = text.toLowerCase()
  if (lower !== 'true' && lower !== 'false') throw invalidHeader(name, text)
  return lower === 'true'
}

/** One of `words`, in any case; returned as spelled in `words`. */
export function optionalWord<Word extends string>(
  headers: HeaderFields,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const word = words.find((candidate) => candidate.toLowerCase() === text.toLowerCase())
  if (word === undefined) throw invalidHeader(name, text)
  return word
}

export function optionalDateMs(headers: HeaderFields, name: string): number | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const timeMs = parseHttpDate(text)
  if (timeMs === undefined) throw invalidHeader(name, text)
  return timeMs
}

/** For an MD5 that is stored unchecked: base64 of any length, returned as sent. */
export function optionalBase64(headers: HeaderFields, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    throw new StorageError('InvalidMd5')
  }
  return text
}

/** 16 bytes, as canonical base64. */
export function optionalMd5(headers: HeaderFields, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  if (!/^[A-Za-z0-9+/]{22}==$/.test(text)) throw new StorageError('InvalidMd5')
  return Buffer.from(text, 'base64').toString('base64')
}

/** 8 bytes, as canonical base64. */
export function optionalCrc64(headers: HeaderFields, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  if (!/^[A-Za-z0-9+/]{11}=$/.test(text)) throw invalidHeader(name, text)
  return Buffer.from(text, 'base64').toString('base64')
}

// The forms that .NET's Guid takes: N, D, B, P and X.
const GUID =
  /^(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\{[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}|\([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\))$/i
const GUID_X =
  /^\{0x([0-9a-f]{1,8}),0x([0-9a-f]{1,4}),0x([0-9a-f]{1,4}),\{((?:0x[0-9a-f]{1,2},){7}0x[0-9a-f]{1,2})\}\}$/i

/** Lease ids are compared as GUIDs, so all have one form: lower case, with dashes. */
export function optionalGuid(headers: HeaderFields, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const digits = guidDigits(text.trim())
  if (digits === undefined) throw invalidHeader(name, text)
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function guidDigits(text: string): string | undefined {
  if (GUID.test(text)) return text.replace(/[-{}()]/g, '').toLowerCase()
  const match = GUID_X.exec(text)
  if (match === null) return undefined
  const [, first = '', second = '', third = '', bytes = ''] = match
  const last = bytes.split(',').map((byte) => byte.slice(2).padStart(2, '0'))
  const words = first.padStart(8, '0') + second.padStart(4, '0') + third.padStart(4, '0')
  return (words + last.join('')).toLowerCase()
}

const ETAG_COUNT_MAX = 100

/**
 * `*`, or quoted ETags; missing quotes are added. Commas inside quotes don't separate. Text outside the quotes
 * stays part of its ETag, which then matches nothing.
 */
export function optionalETags(headers: HeaderFields, name: string): ETags | undefined {
  const text = optionalHeader(headers, name)?.trim()
  if (text === undefined || text === '') return undefined
  if (text === '*') return '*'
  const parts: readonly string[] = text.match(/(?:"[^"]*"|[^,])+/g) ?? []
  const etags = parts.map((part) => part.trim()).filter((part) => part !== '')
  if (etags.length === 0 || etags.length > ETAG_COUNT_MAX) throw invalidHeader(name, text)
  if (etags.includes('*')) return '*'
  return etags.map((etag) => (etag.includes('"') ? etag : `"${etag}"`))
}

type ConditionPrefix = '' | 'x-ms-source-' | 'x-ms-blob-'

/** Built once: V8 would have to hash and intern a newly concatenated name on each lookup. */
const CONDITION_NAMES = {
  '': conditionNames(''),
  'x-ms-source-': conditionNames('x-ms-source-'),
  'x-ms-blob-': conditionNames('x-ms-blob-'),
}

function conditionNames(prefix: ConditionPrefix) {
  return {
    ifMatch: `${prefix}if-match`,
    ifNoneMatch: `${prefix}if-none-match`,
    ifModifiedSince: `${prefix}if-modified-since`,
    ifUnmodifiedSince: `${prefix}if-unmodified-since`,
  }
}

/** The four conditions. Those on a copy source or on tags have a prefix. */
export function decodeConditions(headers: HeaderFields, prefix: ConditionPrefix = ''): Conditions {
  const names = CONDITION_NAMES[prefix]
  const ifMatch = optionalETags(headers, names.ifMatch)
  const ifNoneMatch = optionalETags(headers, names.ifNoneMatch)
  const ifModifiedSinceMs = optionalDateMs(headers, names.ifModifiedSince)
  const ifUnmodifiedSinceMs = optionalDateMs(headers, names.ifUnmodifiedSince)
  const etags = ifMatch ?? ifNoneMatch
  if ((etags ?? ifModifiedSinceMs ?? ifUnmodifiedSinceMs) === undefined) return NO_CONDITIONS
  return {
    ...(ifMatch === undefined ? {} : { ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }),
    ...(ifModifiedSinceMs === undefined ? {} : { ifModifiedSinceMs }),
    ...(ifUnmodifiedSinceMs === undefined ? {} : { ifUnmodifiedSinceMs }),
  }
}

const METADATA_PREFIX = 'x-ms-meta-'

/** Takes raw headers (name, value, name, value …), which keep the case of names. */
export function decodeMetadata(rawHeaders: readonly string[]): Metadata {
  let pairs: (readonly [string, string])[] | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (!isMetadata(name)) continue
    pairs ??= []
    pairs.push([name.slice(METADATA_PREFIX.length), rawHeaders[at + 1] ?? ''])
  }
  if (pairs === undefined) return NO_METADATA
  checkMetadata(pairs)
  return pairs
}

/** Metadata as headers of an answer. */
export function metadataHeaders(metadata: Metadata): string[] {
  const headers: string[] = []
  for (const [name, value] of metadata) headers.push(METADATA_PREFIX + name, value)
  return headers
}

function isMetadata(name: string): boolean {
  if (name.length < METADATA_PREFIX.length || (name.charCodeAt(0) | 0x20) !== 0x78) return false
  return name.slice(0, METADATA_PREFIX.length).toLowerCase() === METADATA_PREFIX
}
