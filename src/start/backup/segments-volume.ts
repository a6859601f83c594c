// The content of a backup as a volume that can only read: each slice is where it was in its extent, with nothing in between.
import type { Span } from '../../extent/reader.ts'
import type { ReadSpan, Volume } from '../../extent/volume.ts'
import type { BackupFiles } from './files.ts'
import { segmentsByExtent, type Manifest, type SegmentEntry } from './manifest.ts'
import { readSegment, type StoredSlice } from './segment.ts'

/** Extents whose slices are known at a time: those who read go through them one after another. */
const EXTENTS_MAX = 4

export function openSegmentsVolume(files: BackupFiles, manifest: Manifest): Volume {
  const segments = segmentsByExtent(manifest)
  const known = new Map<number, readonly StoredSlice[]>()
  const slicesOf = async (extent: number): Promise<readonly StoredSlice[] | undefined> => {
    const found = known.get(extent)
    const ofExtent = segments.get(extent)
    if (found !== undefined || ofExtent === undefined) return found
    const slices = await readSlices(files, ofExtent)
    known.set(extent, slices)
    const [oldest] = known.keys()
    if (known.size > EXTENTS_MAX && oldest !== undefined) known.delete(oldest)
    return slices
  }
  const readSpan: ReadSpan = async (span, buffer) => {
    const slices = await slicesOf(span.extent ?? 0)
    return slices && fill(files, slices, span, buffer)
  }
  const refuse = (): Promise<never> => Promise.reject(new Error('A backup is open to read only.'))
  return {
    create: refuse,
    remove: refuse,
    reader: () => readSpan,
    list: async () => [...segments.keys()],
    storedBytes: async (extent) => {
      const last = (await slicesOf(extent))?.at(-1)?.slice
      return last && last.offset + last.lengthBytes
    },
    close: async () => undefined,
  }
}

/** In order of their places, each once. */
async function readSlices(
  files: BackupFiles,
  entries: readonly SegmentEntry[],
): Promise<readonly StoredSlice[]> {
  const slices = new Map<number, StoredSlice>()
  for (const entry of entries) {
    for (const stored of (await readSegment(files, entry)).slices) {
      slices.set(stored.slice.offset, stored)
    }
  }
  return [...slices.values()].toSorted((a, b) => a.slice.offset - b.slice.offset)
}

/** Returns how many bytes there are from the beginning of the span without a gap. */
async function fill(
  files: BackupFiles,
  slices: readonly StoredSlice[],
  { offset, lengthBytes }: Span,
  buffer: Uint8Array,
): Promise<number> {
  let filled = 0
  for (let at = sliceAt(slices, offset); at < slices.length && filled < lengthBytes; at += 1) {
    const stored = slices[at]
    if (stored === undefined) break
    const from = offset + filled - stored.slice.offset
    if (from < 0 || from >= stored.slice.lengthBytes) break
    const count = Math.min(stored.slice.lengthBytes - from, lengthBytes - filled)
    buffer.set(await files.read(stored.file, stored.position + from, count), filled)
    filled += count
  }
  return filled
}

/** The index of the last slice that begins at or before the offset. */
function sliceAt(slices: readonly StoredSlice[], offset: number): number {
  let [low, high] = [0, slices.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((slices[middle]?.slice.offset ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}
