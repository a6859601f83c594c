// The hashes that a write of blocks, pages or appended bytes answers with.
import { isAtLeast } from '../../http/version.ts'
import type { BodyHashes } from '../body-hashes.ts'
import type { UploadSettings } from '../upload.ts'

/** Before 2019-02-02 always the MD5; then the CRC-64 unless an MD5 was sent; of late both. */
export function wantedHashes(version: string, { md5 }: BodyHashes): UploadSettings['wants'] {
  if (isAtLeast(version, '2026-10-06')) return 'both'
  if (!isAtLeast(version, '2019-02-02')) return 'md5'
  return md5 === undefined ? 'crc64' : 'sent'
}

type Computed = { readonly md5: string | undefined; readonly crc64: string | undefined }

export function hashHeaders(version: string, sent: BodyHashes, { md5, crc64 }: Computed): string[] {
  const wants = wantedHashes(version, sent)
  const isMd5Shown = wants !== 'crc64' && md5 !== undefined
  const isCrc64Shown = (wants === 'crc64' || wants === 'both') && crc64 !== undefined
  return [
    ...(isMd5Shown ? ['Content-MD5', md5] : []),
    ...(isCrc64Shown ? ['x-ms-content-crc64', crc64] : []),
  ]
}
