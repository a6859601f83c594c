// Checksums of a body: decodes what the client sent and compares it with what was computed.
import { optionalCrc64, optionalMd5 } from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'

/** Base64. */
export type BodyHashes = {
  readonly md5: string | undefined
  readonly crc64: string | undefined
}

/** Hashes of the bytes read from a copy source. */
export function decodeSourceHashes(request: Request): BodyHashes {
  return decodeHashes(request, 'x-ms-source-content-md5', 'x-ms-source-content-crc64')
}

/** Hashes of the request's own body, unless other headers are named. */
export function decodeHashes(
  { headers }: Request,
  md5Name = 'content-md5',
  crc64Name = 'x-ms-content-crc64',
): BodyHashes {
  const md5 = optionalMd5(headers, md5Name)
  const crc64 = optionalCrc64(headers, crc64Name)
  if (md5 !== undefined && crc64 !== undefined) {
    throw new StorageError('BothCrc64AndMd5HeaderPresent')
  }
  return { md5, crc64 }
}

export function checkHashes(
  sent: BodyHashes,
  computed: { readonly md5: string | undefined; readonly crc64: string | undefined },
): void {
  if (sent.md5 !== undefined) checkMd5(sent.md5, computed.md5 ?? '')
  if (sent.crc64 !== undefined && sent.crc64 !== computed.crc64) {
    const details = { UserSpecifiedCrc: sent.crc64, ServerCalculatedCrc: computed.crc64 ?? '' }
    throw new StorageError('Crc64Mismatch', details)
  }
}

export function checkMd5(sent: string, computed: string): void {
  if (sent === computed) return
  const details = { UserSpecifiedMd5: sent, ServerCalculatedMd5: computed }
  throw new StorageError('Md5Mismatch', details)
}
