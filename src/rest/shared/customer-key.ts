// A key that the client sends along (customer-provided key): three headers, decoded once. The key itself
// is in no error and no answer; its SHA-256 is.
import { createHash } from 'node:crypto'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import {
  optionalHeader,
  optionalWord,
  requiredHeader,
  type HeaderFields,
} from '../../http/protocol/header.ts'

export type CustomerKey = {
  /** 32 bytes, for AES-256. */
  readonly key: Buffer
  /** Base64. */
  readonly sha256: string
}

/** 32 bytes in base64. As .NET does, the bits behind the last byte are not looked at. */
const BASE64_OF_32 = /^[A-Za-z0-9+/]{43}=$/

/**
 * The key of the request or, with `source-`, of what it copies from. A write needs all three headers, a
 * read may leave the algorithm out (Provide an encryption key on a request to Blob storage). The
 * algorithm alone means nothing: @azure/storage-blob 12.6 sent it with every request
 * (azure-sdk-for-js#16673).
 */
export function decodeCustomerKey(
  headers: HeaderFields,
  secure: boolean,
  prefix: '' | 'source-' = '',
  use: 'read' | 'write' = 'write',
): CustomerKey | undefined {
  const keyName = `x-ms-${prefix}encryption-key`
  const sha256Name = `${keyName}-sha256`
  const algorithmName = `x-ms-${prefix}encryption-algorithm`
  if ((optionalHeader(headers, keyName) ?? optionalHeader(headers, sha256Name)) === undefined) {
    return undefined
  }
  if (!secure) throw httpsRequired(keyName)
  const key = decodeKey(keyName, requiredHeader(headers, keyName))
  const sha256 = requiredHeader(headers, sha256Name)
  const algorithm = optionalWord(headers, algorithmName, ['AES256'])
  if (algorithm === undefined && use === 'write') throw missingHeader(algorithmName)
  const expected = createHash('sha256').update(key).digest()
  if (!BASE64_OF_32.test(sha256) || !Buffer.from(sha256, 'base64').equals(expected)) {
    throw invalidHeader(sha256Name, sha256)
  }
  return { key, sha256: expected.toString('base64') }
}

function decodeKey(name: string, text: string): Buffer {
  if (BASE64_OF_32.test(text)) return Buffer.from(text, 'base64')
  throw new StorageError('InvalidHeaderValue', { HeaderName: name })
}

/** A key that came in the clear is everybody's. */
function httpsRequired(name: string): StorageError {
  const Reason = 'A customer-provided key must be sent over HTTPS.'
  return new StorageError('UnsupportedHeader', { HeaderName: name, Reason })
}
