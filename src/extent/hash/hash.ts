// The hashes that Azure's headers carry, as hashers that a write feeds in its one pass.
import { createHash, hash } from 'node:crypto'
import { crc64, createCrc64 } from './crc64.ts'
import type { Hasher } from '../extent.ts'

export type DigestHasher = Hasher & {
  /** Once, at the end. */
  digest(): Buffer
}

/** Content-MD5 has 16 bytes; x-ms-content-crc64 has 8, little-endian. */
export type HashKind = 'md5' | 'crc64'

/** The hashes of one body while it comes. */
export interface Hashing extends Hasher {
  /** Once, at the end, in the order of its kinds. */
  digests(): Promise<readonly Uint8Array[]>
  /** There is no end: what is kept of the body can go. */
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

/** Of bytes that are at hand, in base64: of a few bytes, a digest as bytes takes longer to make than to compute. */
export function digestOf(kind: HashKind, bytes: Uint8Array): string {
  return kind === 'md5' ? hash('md5', bytes, 'base64') : crc64(bytes).toString('base64')
}

/** In the thread that asks for it: for bodies that are short. */
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
