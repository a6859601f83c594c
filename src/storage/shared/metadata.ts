// User metadata: names are C# identifiers, which keep their case but are case-insensitive; values are ASCII;
// all of it is at most 8 KiB. Setting metadata replaces all of it.
import { StorageError } from './error.ts'

/** Pairs in the order of the request. Not an object, since `__proto__` is a valid name. */
export type Metadata = readonly (readonly [name: string, value: string])[]

export const NO_METADATA: Metadata = []

const METADATA_LENGTH_MAX = 8 * 1024
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
const PRINTABLE_ASCII = /^[\t\x20-\x7e]*$/

export function checkMetadata(metadata: Metadata): void {
  if (metadata.length === 0) return
  const names = new Set<string>()
  let lengthBytes = 0
  for (const [name, value] of metadata) {
    checkPair(name, value)
    names.add(name.toLowerCase())
    lengthBytes += name.length + value.length
  }
  if (names.size !== metadata.length) throw new StorageError('InvalidMetadata')
  if (lengthBytes > METADATA_LENGTH_MAX) throw new StorageError('MetadataTooLarge')
}

function checkPair(name: string, value: string): void {
  if (name === '') throw new StorageError('EmptyMetadataKey')
  // The service rejects other characters in values, too (azure-sdk-for-net#50747).
  if (!IDENTIFIER.test(name) || !PRINTABLE_ASCII.test(value)) {
    throw new StorageError('InvalidMetadata')
  }
}

/** Same names and values, in any order. Create Queue then answers 204 for an existing queue. */
export function isSameMetadata(one: Metadata, other: Metadata): boolean {
  if (one.length !== other.length) return false
  const values = new Map(one.map(([name, value]) => [name.toLowerCase(), value]))
  return other.every(([name, value]) => values.get(name.toLowerCase()) === value)
}
