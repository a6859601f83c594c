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
  return manifest
}

function decodeJson(bytes: Uint8Array, place: string) {
  try {
    const value: { sha256?: string; manifest?: Manifest } | null = JSON.parse(String(bytes))
    return value ?? {}
  } catch {
    throw new StartError(`${place} is damaged: its ${MANIFEST_NAME} is not JSON`)
  }
}
