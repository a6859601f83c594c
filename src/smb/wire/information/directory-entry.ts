// The entries of a directory in the eight classes of [MS-FSCC] 2.4 that QUERY_DIRECTORY knows. They differ
// only in where the extra fields and the name stand, so a table says that and one function writes them all.
import { alignUp } from '../body.ts'
import { writeTimes, type OpenedFile } from '../opened-file.ts'
import type { NtStatusName } from '../status.ts'

export type DirectoryEntry = OpenedFile & { readonly name: string; readonly fileId: bigint }

type Layout = {
  /** Where FileNameLength stands. */
  readonly nameLengthAt: number
  readonly nameAt: number
  /** Where the file id stands; a 128-bit one has zeros above it. */
  readonly fileIdAt?: number
}

/** EaSize, ReparseTag and the 8.3 name are always zero, so they need no place here. */
const LAYOUTS: ReadonlyMap<number, Layout> = new Map<number, Layout>([
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
  /** INFO_LENGTH_MISMATCH when not one entry fits, INVALID_INFO_CLASS for a class that is none of these. */
  readonly status: Extract<NtStatusName, 'SUCCESS' | 'INFO_LENGTH_MISMATCH' | 'INVALID_INFO_CLASS'>
  readonly bytes: Buffer
  /** How many of the entries are in it; the others are for the next call. */
  readonly count: number
}

export function isDirectoryClass(informationClass: number): boolean {
  return LAYOUTS.has(informationClass)
}

/** As many entries as fit, each at a multiple of 8. entries may be lazy: only one more than fits is taken. */
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
    const start = alignUp(end, 8)
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

/** FileIndex (4) stays zero: NTFS gives it no meaning either. */
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
