// The hashes that Azure's headers carry, as hashers that a write feeds in its one pass.
import { createHash } from 'node:crypto'
import { createCrc64 } from './crc64.ts'
import type { Hasher } from './extent.ts'

export type DigestHasher = Hasher & {
  /** Once, at the end. */
  digest(): Buffer
}

/** Content-MD5: 16 bytes. */
export function md5Hasher(): DigestHasher {
  const hash = createHash('md5')
  return {
    update: (chunk) => {
      hash.update(chunk)
    },
    digest: () => hash.digest(),
  }
}

/** x-ms-content-crc64: 8 bytes, little-endian. */
export function crc64Hasher(): DigestHasher {
  return createCrc64()
}
