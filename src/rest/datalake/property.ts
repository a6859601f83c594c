// `x-ms-properties`: the metadata of filesystems and paths, as pairs of a name and its value in base64,
// separated by commas.
import { optionalHeader } from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { invalidHeader, StorageError } from '../../storage/shared/error.ts'
import { checkMetadata, NO_METADATA, type Metadata } from '../../storage/shared/metadata.ts'

const NAME = 'x-ms-properties'

/** undefined: the header is absent. Empty, it removes all properties. */
export function decodeProperties({ headers }: Pick<Request, 'headers'>): Metadata | undefined {
  if (headers[NAME] === undefined) return undefined
  const text = optionalHeader(headers, NAME)
  if (text === undefined) return NO_METADATA
  const pairs = text.split(',').map((pair) => decodePair(pair.trim(), text))
  checkMetadata(pairs.map(([name, value]) => [name, 'x'.repeat(value.length)]))
  return pairs
}

function decodePair(pair: string, text: string): readonly [string, string] {
  const equals = pair.indexOf('=')
  if (equals < 0) throw invalidHeader(NAME, text)
  const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)]
  if (name === '') throw propertyName('A property name cannot be empty.')
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw propertyName()
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)) {
    throw invalidHeader(NAME, text)
  }
  // Header text, whose bytes are Latin-1: so the Blob service shows the same value.
  const decoded = Buffer.from(value, 'base64').toString('latin1')
  if (!PRINTABLE.test(decoded)) throw new StorageError('InvalidMetadata')
  return [name, decoded]
}

/** ISO-8859-1 without control characters, which would end a header. */
const PRINTABLE = /^[\t\x20-\x7e\xa0-\xff]*$/

function propertyName(message?: string): StorageError {
  return new StorageError('InvalidPropertyName', {}, message)
}

export function propertiesHeaders(metadata: Metadata): string[] {
  if (metadata.length === 0) return []
  const pairs = metadata.map(
    ([name, value]) => `${name}=${Buffer.from(value, 'latin1').toString('base64')}`,
  )
  return [NAME, pairs.join(',')]
}
