// The list of everything in a backup, `backup.json`. It is written last, so a backup without it is not complete; it names
// its other files, so whatever else is there does not matter.
import { createHash } from 'node:crypto'
import { StartError } from '../start-error.ts'

export const MANIFEST_NAME = 'backup.json'

/** Some records, in order of their keys (record-chunk.ts). */
export type ChunkEntry = {
  /** In hexadecimal: also the name of the file. */
  readonly sha256: string
  /** In base64. */
  readonly firstKey: string
  readonly recordCount: number
  readonly lengthBytes: number
}

/** Some slices of an extent (segment.ts). */
export type SegmentEntry = {
  readonly name: string
  readonly extent: number
  readonly lengthBytes: number
}

export type Manifest = {
  readonly format: 1
  /** Of the store; places of slices mean something only within it (node/store-id.ts). */
  readonly storeId: string
  /** For people. */
  readonly source: string
  readonly version: string
  /** The time of the state that was backed up. */
  readonly takenMs: number
  readonly recordCount: number
  readonly contentBytes: number
  readonly records: readonly ChunkEntry[]
  readonly segments: readonly SegmentEntry[]
}

/** By the extent that they are of. */
export function segmentsByExtent({
  segments,
}: Pick<Manifest, 'segments'>): ReadonlyMap<number, readonly SegmentEntry[]> {
  const found = new Map<number, SegmentEntry[]>()
  for (const entry of segments) {
    const same = found.get(entry.extent)
    if (same === undefined) found.set(entry.extent, [entry])
    else same.push(entry)
  }
  return found
}

export function recordsName({ sha256 }: Pick<ChunkEntry, 'sha256'>): string {
  return `records/${sha256}.records`
}

export function segmentName({ name }: Pick<SegmentEntry, 'name'>): string {
  return `extents/${name}.slices`
}

/** Changes with anything in the backup. */
export function manifestDigest(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

export function encodeManifest(manifest: Manifest): Buffer {
  return Buffer.from(`${JSON.stringify({ sha256: manifestDigest(manifest), manifest })}\n`)
}

/** Throws StartError. `place` is for people. */
export function decodeManifest(bytes: Uint8Array, place: string): Manifest {
  const { sha256, manifest } = decodeJson(bytes, place)
  if (manifest?.format !== undefined && manifest.format !== 1) {
    throw new StartError(`${place} is of a newer version of Lazuli; use that one`)
  }
  if (manifest === undefined || manifestDigest(manifest) !== sha256) {
    throw new StartError(`${place} is damaged: its ${MANIFEST_NAME} does not match its checksum`)
  }
  if (!isManifest(manifest)) throw new StartError(`${place} is no backup of Lazuli`)
  return manifest
}

const SHA256 = /^[0-9a-f]{64}$/
const SEGMENT_NAME = /^[0-9a-f]{14}-[0-9a-f]{16}$/

/** The names lead to files, so they must be ones that a backup has. */
function isManifest(manifest: Partial<Manifest> | null): boolean {
  const { format, storeId, source, version, takenMs, recordCount, contentBytes } = manifest ?? {}
  const { records, segments } = manifest ?? {}
  return (
    format === 1 &&
    [storeId, source, version].every((text) => typeof text === 'string') &&
    [takenMs, recordCount, contentBytes].every(isCount) &&
    areAll(records, isChunkEntry) &&
    areAll(segments, isSegmentEntry)
  )
}

function isChunkEntry({
  sha256,
  firstKey,
  recordCount,
  lengthBytes,
}: Partial<ChunkEntry>): boolean {
  const isNamed = typeof sha256 === 'string' && SHA256.test(sha256)
  return isNamed && typeof firstKey === 'string' && isCount(recordCount) && isCount(lengthBytes)
}

function isSegmentEntry({ name, extent, lengthBytes }: Partial<SegmentEntry>): boolean {
  const isNamed = typeof name === 'string' && SEGMENT_NAME.test(name)
  return isNamed && isCount(extent) && isCount(lengthBytes)
}

function areAll<T>(list: readonly T[] | undefined, isGood: (entry: T) => boolean): boolean {
  if (!Array.isArray(list)) return false
  return list.every((entry) => typeof entry === 'object' && entry !== null && isGood(entry))
}

/** Also of what an array of slices has. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function decodeJson(bytes: Uint8Array, place: string) {
  try {
    const value: { sha256?: string; manifest?: Manifest } | null = JSON.parse(String(bytes))
    return value ?? {}
  } catch {
    throw new StartError(`${place} is damaged: its ${MANIFEST_NAME} is not JSON`)
  }
}
