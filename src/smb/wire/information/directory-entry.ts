// Directory entries in the eight classes of [MS-FSCC] 2.4 that QUERY_DIRECTORY supports. They differ only in the offsets
// of the name and the extra fields, so one function and a table of offsets encode them all.
import { alignTo } from '../body.ts'
import { writeTimes, type OpenedFile } from '../opened-file.ts'
import type { NtStatusName } from '../status.ts'

export type DirectoryEntry = OpenedFile & { readonly name: string; readonly fileId: bigint }

type Layout = {
  /** The offset of FileNameLength. */
  readonly nameLengthAt: number
  readonly nameAt: number
  /** The offset of the file id. The upper half of a 128-bit id is zero. */
  readonly fileIdAt?: number
}

/** EaSize, ReparseTag and the 8.3 name are always zero, so they need no offset. */
export const LAYOUTS: ReadonlyMap<number, Layout> = new Map<number, Layout>([
  [1, { nameLengthAt: 60, nameAt: 64 }],
  [2, { nameLengthAt: 60, nameAt: 68 }],
  [3, { nameLengthAt: 60, nameAt: 94 }],
  [12, { nameLengthAt: 8, nameAt: 12 }],
  [37, { nameLengthAt: 60, nameAt: 104, fileIdAt: 96 }],
  [38, { nameLengthAt: 60, nameAt: 80, fileIdAt: 72 }],
  [60, { nameLengthAt: 60, nameAt: 88, fileIdAt: 72 }],
  [63, { nameLengthAt: 60, nameAt: 114, fileIdAt: 72 }],
])

export type DirectoryListing = {
  /** INFO_LENGTH_MISMATCH if no entry fits, INVALID_INFO_CLASS for any other class. */
  readonly status: Extract<NtStatusName, 'SUCCESS' | 'INFO_LENGTH_MISMATCH' | 'INVALID_INFO_CLASS'>
  readonly bytes: Buffer
  /** The number of encoded entries. The others are left for the next request. */
  readonly count: number
}

export function isDirectoryClass(informationClass: number): boolean {
  return LAYOUTS.has(informationClass)
}

/** As many entries as fit, each at a multiple of 8. `entries` may be lazy: at most one more than fits is read. */
export function encodeDirectoryEntries(
  informationClass: number,
  entries: Iterable<DirectoryEntry>,
  outputMaxBytes: number,
): DirectoryListing {
  const layout = LAYOUTS.get(informationClass)
  if (layout === undefined) return refuse('INVALID_INFO_CLASS')
  const fitting: { readonly entry: DirectoryEntry; readonly start: number }[] = []
  let end = 0
  for (const entry of entries) {
    const start = alignTo(end, 8)
    const entryEnd = start + layout.nameAt + 2 * entry.name.length
    if (entryEnd > outputMaxBytes && fitting.length === 0) return refuse('INFO_LENGTH_MISMATCH')
    if (entryEnd > outputMaxBytes) break
    fitting.push({ entry, start })
    end = entryEnd
  }
  const bytes = Buffer.alloc(end)
  for (const [index, { entry, start }] of fitting.entries()) {
    bytes.writeUInt32LE((fitting[index + 1]?.start ?? start) - start, start)
    writeEntry(bytes.subarray(start), layout, entry)
  }
  return { status: 'SUCCESS', bytes, count: fitting.length }
}

function refuse(status: 'INFO_LENGTH_MISMATCH' | 'INVALID_INFO_CLASS'): DirectoryListing {
  return { status, bytes: Buffer.alloc(0), count: 0 }
}

/** FileIndex (4) stays zero, as in NTFS. */
function writeEntry(bytes: Buffer, layout: Layout, entry: DirectoryEntry): void {
  if (layout.nameLengthAt === 60) {
    writeTimes(bytes, 8, entry)
    bytes.writeBigUInt64LE(BigInt(entry.endOfFile), 40)
    bytes.writeBigUInt64LE(BigInt(entry.allocationSize), 48)
    bytes.writeUInt32LE(entry.fileAttributes, 56)
  }
  if (layout.fileIdAt !== undefined) bytes.writeBigUInt64LE(entry.fileId, layout.fileIdAt)
  bytes.writeUInt32LE(2 * entry.name.length, layout.nameLengthAt)
  bytes.write(entry.name, layout.nameAt, 'utf16le')
}
