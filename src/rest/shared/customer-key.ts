// A customer-provided key: three headers, decoded once. Errors and answers never contain the key itself, only its
// SHA-256.
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

/** 32 bytes in base64. Like .NET, it ignores the bits after the last byte. */
const BASE64_OF_32 = /^[A-Za-z0-9+/]{43}=$/

/** Built once, as those of conditions (http/protocol/header.ts). */
const NAMES = {
  '': {
    keyName: 'x-ms-encryption-key',
    sha256Name: 'x-ms-encryption-key-sha256',
    algorithmName: 'x-ms-encryption-algorithm',
  },
  'source-': {
    keyName: 'x-ms-source-encryption-key',
    sha256Name: 'x-ms-source-encryption-key-sha256',
    algorithmName: 'x-ms-source-encryption-algorithm',
  },
}

/**
 * Decodes the key of the request or, with `source-`, of its copy source. A write needs all three headers; a read may
 * omit the algorithm (Provide an encryption key on a request to Blob storage). The algorithm without a key is
 * ignored: @azure/storage-blob 12.6 sent it with every request (azure-sdk-for-js#16673).
 */
export function decodeCustomerKey(
  headers: HeaderFields,
  secure: boolean,
  prefix: '' | 'source-' = '',
  use: 'read' | 'write' = 'write',
): CustomerKey | undefined {
  const { keyName, sha256Name, algorithmName } = NAMES[prefix]
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

/** A key sent in the clear is no secret any more. */
function httpsRequired(name: string): StorageError {
  const Reason = 'A customer-provided key must be sent over HTTPS.'
  return new StorageError('UnsupportedHeader', { HeaderName: name, Reason })
}
