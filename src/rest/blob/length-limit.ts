// Maximum body lengths of uploads, by service version. A request with an older version gets the limit of that version.
import { tooLarge } from '../../http/protocol/body.ts'

const MIB = 1024 * 1024

type LengthLimit = readonly [since: string, lengthBytesMax: number]
type LengthLimits = readonly [newest: LengthLimit, ...older: LengthLimit[]]

/** Newest first; the last entry applies to all older versions. */
export const PUT_BLOB_LIMITS: LengthLimits = [
  ['2019-12-12', 5_000 * MIB],
  ['2016-05-31', 256 * MIB],
  ['', 64 * MIB],
]

export const PUT_BLOCK_LIMITS: LengthLimits = [
  ['2019-12-12', 4_000 * MIB],
  ['2016-05-31', 100 * MIB],
  ['', 4 * MIB],
]

export const APPEND_BLOCK_LIMITS: LengthLimits = [
  ['2022-11-02', 100 * MIB],
  ['', 4 * MIB],
]

export const PUT_PAGE_LIMITS: LengthLimits = [['', 4 * MIB]]

export function lengthBytesMax(limits: LengthLimits, version: string): number {
  for (const [since, bytesMax] of limits) if (version >= since) return bytesMax
  return 0
}

export function newestLengthBytesMax([[, newest]]: LengthLimits): number {
  return newest
}

export function checkLength(limits: LengthLimits, version: string, lengthBytes: number): void {
  const max = lengthBytesMax(limits, version)
  if (lengthBytes > max) throw tooLarge(max)
}

/** Query Blob Contents: an expression of at most 256 KiB, and the XML around it. */
export const QUERY_BYTES_MAX = 512 * 1024
