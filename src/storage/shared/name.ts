// What containers, blobs, queues, tables and shares may be called, and how the service reads a blob's
// name from a path. Lengths count UTF-16 code units, as the service's do: 512 emoji fill a blob name.
import { StorageError } from './error.ts'

const SPECIAL_CONTAINERS: ReadonlySet<string> = new Set([
  '$root',
  '$web',
  '$logs',
  '$blobchangefeed',
])

const NAME_LENGTH_MIN = 3
const NAME_LENGTH_MAX = 63
const BLOB_NAME_LENGTH_MAX = 1024
const BLOB_SEGMENT_COUNT_MAX = 254

/** Lower-case letters and digits in groups, with single dashes between them. */
const DNS_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const TABLE_NAME = /^[A-Za-z][A-Za-z0-9]*$/
const SEGMENT_ENDS_IN_DOT = /\.(?:\/|$)/
/** Controls and half surrogates. U+FFFE and U+FFFF are allowed: lists send them with Encoded="true". */
const FORBIDDEN = /[\p{Cc}\p{Cs}]/u

export function checkContainerName(name: string): void {
  if (!SPECIAL_CONTAINERS.has(name)) checkDnsName(name)
}

export function checkQueueName(name: string): void {
  checkDnsName(name)
}

export function checkShareName(name: string): void {
  checkDnsName(name)
}

export function checkTableName(name: string): void {
  checkLength(name)
  if (!TABLE_NAME.test(name) || name.toLowerCase() === 'tables') {
    throw new StorageError('InvalidResourceName')
  }
}

/** Checks a name as `canonicalBlobName` gives it. */
export function checkBlobName(name: string): void {
  if (name.length === 0 || name.length > BLOB_NAME_LENGTH_MAX) {
    throw new StorageError('OutOfRangeInput')
  }
  if (FORBIDDEN.test(name)) throw new StorageError('InvalidResourceName')
  if (segmentCount(name) > BLOB_SEGMENT_COUNT_MAX) throw new StorageError('InvalidUri')
}

/**
 * The name under which the service stores what a client calls `name`: a backslash is a slash, dots at
 * the end of a segment fall away, `.` and `..` are resolved (also when they came percent-encoded, see
 * azure-sdk-for-rust#5275, azure-storage-ruby#191). Slashes are kept, at either end and doubled.
 */
export function canonicalBlobName(name: string): string {
  const slashed = name.includes('\\') ? name.replaceAll('\\', '/') : name
  return SEGMENT_ENDS_IN_DOT.test(slashed) ? resolveDots(slashed) : slashed
}

function resolveDots(name: string): string {
  const kept: string[] = []
  const segments = name.split('/')
  for (const [at, segment] of segments.entries()) {
    const trimmed = trimDots(segment)
    const isDots = trimmed === '' && segment !== ''
    if (!isDots) kept.push(trimmed)
    // Above the container there is nothing that this request may name.
    else if (segment === '..' && kept.pop() === undefined) throw new StorageError('InvalidUri')
    if (isDots && at === segments.length - 1 && kept.length > 0) kept.push('')
  }
  const resolved = kept.join('/')
  if (resolved === '') throw new StorageError('InvalidUri')
  return resolved
}

function trimDots(segment: string): string {
  let end = segment.length
  while (end > 0 && segment.charCodeAt(end - 1) === 0x2e) end -= 1
  return end === segment.length ? segment : segment.slice(0, end)
}

function segmentCount(name: string): number {
  let count = 1
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) count += 1
  return count
}

function checkDnsName(name: string): void {
  checkLength(name)
  if (!DNS_NAME.test(name)) throw new StorageError('InvalidResourceName')
}

/** Length is looked at first, and has its own words. */
function checkLength(name: string): void {
  if (name.length < NAME_LENGTH_MIN || name.length > NAME_LENGTH_MAX) {
    const message = 'The specified resource name length is not within the permissible limits.'
    throw new StorageError('OutOfRangeInput', {}, message)
  }
}
