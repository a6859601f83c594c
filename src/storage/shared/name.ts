// Names of containers, blobs, queues, tables and shares, and how the service derives a blob's name from a path.
// Like the service, lengths count UTF-16 code units: a blob name has room for 512 emoji.
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

/** Groups of lower-case letters and digits, separated by single dashes. */
const DNS_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const TABLE_NAME = /^[A-Za-z][A-Za-z0-9]*$/
const SEGMENT_ENDS_IN_DOT = /\.(?:\/|$)/
/** Control characters and unpaired surrogates. U+FFFE and U+FFFF are allowed: lists send them with Encoded="true". */
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

/** Checks a name that `canonicalBlobName` has returned. */
export function checkBlobName(name: string): void {
  if (name.length === 0 || name.length > BLOB_NAME_LENGTH_MAX) {
    throw new StorageError('OutOfRangeInput')
  }
  if (FORBIDDEN.test(name)) throw new StorageError('InvalidResourceName')
  if (segmentCount(name) > BLOB_SEGMENT_COUNT_MAX) throw new StorageError('InvalidUri')
}

/**
 * The name under which the service stores a blob: backslashes become slashes, dots at the end of a segment are
 * removed, `.` and `..` are resolved (even if they were percent-encoded, see azure-sdk-for-rust#5275,
 * azure-storage-ruby#191). Leading, trailing and double slashes are kept.
 */
export function canonicalBlobName(name: string): string {
  const slashed = name.includes('\\') ? name.replaceAll('\\', '/') : name
  return SEGMENT_ENDS_IN_DOT.test(slashed) ? resolveDots(slashed) : slashed
}

function resolveDots(name: string): string {
  const result: string[] = []
  const segments = name.split('/')
  for (const [at, segment] of segments.entries()) {
    const trimmed = trimDots(segment)
    const isDots = trimmed === '' && segment !== ''
    if (!isDots) result.push(trimmed)
    // A path must not lead out of the container.
    else if (segment === '..' && result.pop() === undefined) throw new StorageError('InvalidUri')
    if (isDots && at === segments.length - 1 && result.length > 0) result.push('')
  }
  const resolved = result.join('/')
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

/** Checked first, and with its own message. */
function checkLength(name: string): void {
  if (name.length < NAME_LENGTH_MIN || name.length > NAME_LENGTH_MAX) {
    const message = 'The specified resource name length is not within the permissible limits.'
    throw new StorageError('OutOfRangeInput', {}, message)
  }
}
