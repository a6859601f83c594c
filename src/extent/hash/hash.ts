// MD5 and CRC-64, the hashes in Azure's headers, computed in the same pass that stores the bytes.
import { createHash, hash } from 'node:crypto'
import { crc64, createCrc64 } from './crc64.ts'
import type { Hasher } from '../extent.ts'

export type DigestHasher = Hasher & {
  /** Call once, at the end. */
  digest(): Buffer
}

/** Content-MD5 has 16 bytes; x-ms-content-crc64 has 8, little-endian. */
export type HashKind = 'md5' | 'crc64'

/** The hashes of one body while it is received. */
export interface Hashing extends Hasher {
  /** Call once, at the end. In the order of the kinds. */
  digests(): Promise<readonly Uint8Array[]>
  /** Aborts: the digests are not needed. */
  drop(): void
}

export function createHasher(kind: HashKind): DigestHasher {
  return kind === 'md5' ? md5Hasher() : crc64Hasher()
}

export function md5Hasher(): DigestHasher {
  const md5 = createHash('md5')
  return {
    update: (chunk) => {
      md5.update(chunk)
    },
    digest: () => md5.digest(),
  }
}

export function crc64Hasher(): DigestHasher {
  return createCrc64()
}

/** The MD5 in base64. For short inputs, creating a Buffer for the digest takes longer than hashing. */
export function md5Of(bytes: Uint8Array): string {
  return hash('md5', bytes, 'base64')
}

/** The CRC-64 in base64. */
export function crc64Of(bytes: Uint8Array): string {
  return crc64(bytes).toString('base64')
}

/** Hashes in the calling thread, for short bodies. */
export function hashHere(kinds: readonly HashKind[]): Hashing {
  const hashers = kinds.map((kind) => createHasher(kind))
  return {
    update: (chunk) => {
      for (const hasher of hashers) hasher.update(chunk)
    },
    digests: async () => hashers.map((hasher) => hasher.digest()),
    drop: () => undefined,
  }
}
