// The hashes in the answer to a write of blocks, pages or appended bytes.
import { isAtLeast } from '../../http/door/version.ts'
import type { BodyHashes } from '../shared/body-hashes.ts'
import type { UploadSettings } from '../shared/upload.ts'

/**
 * Before 2019-02-02 always the MD5; then the CRC-64 unless an MD5 was sent; since 2026-10-06 both. Bytes from a URL
 * that are encrypted with the client's key or scope get the MD5 (recorded).
 */
export function wantedHashes(
  version: string,
  { md5 }: BodyHashes,
  isEncryptedFromUrl = false,
): UploadSettings['wants'] {
  if (isAtLeast(version, '2026-10-06')) return 'both'
  if (!isAtLeast(version, '2019-02-02') || isEncryptedFromUrl) return 'md5'
  return md5 === undefined ? 'crc64' : 'sent'
}

type Computed = { readonly md5: string | undefined; readonly crc64: string | undefined }

export function hashHeaders(
  version: string,
  sent: BodyHashes,
  { md5, crc64 }: Computed,
  wants = wantedHashes(version, sent),
): string[] {
  const isMd5Shown = wants !== 'crc64' && md5 !== undefined
  const isCrc64Shown = (wants === 'crc64' || wants === 'both') && crc64 !== undefined
  return [
    ...(isMd5Shown ? ['Content-MD5', md5] : []),
    ...(isCrc64Shown ? ['x-ms-content-crc64', crc64] : []),
  ]
}
