// Checks a backup: the checksum of each record file, the CRC-32 of each slice, and that every slice is there to which a record
// refers.
import { decodeReference } from '../../extent/content/reference.ts'
import { SMALL_EXTENT } from '../../extent/content/slice.ts'
import { REFERENCE_RANGE } from '../../extent/keys.ts'
import { scanSteps } from '../../extent/scan.ts'
import type { Kv } from '../../kv/kv.ts'
import { openKv } from '../../kv/runner/runner.ts'
import type { BackupSettings } from './backup-source.ts'
import { BackupDamaged, type BackupFiles } from './files.ts'
import { recordsName, segmentName, segmentsByExtent, type Manifest } from './manifest.ts'
import { decodeChunk } from './record-chunk.ts'
import { openRecordsEngine } from './records-engine.ts'
import { checkSlice, readSegment } from './segment.ts'

export type BackupCheck = Pick<BackupSettings, 'progress' | 'signal'> & {
  /** Reads only these files; by default, all. */
  readonly only?: ReadonlySet<string>
}

/** Throws BackupDamaged. */
export async function checkBackup(
  files: BackupFiles,
  manifest: Manifest,
  check: BackupCheck,
): Promise<void> {
  await checkSizes(files, manifest)
  await checkRecords(files, manifest, check)
  await checkSegments(files, manifest, check)
  if (check.only === undefined) await checkReferences(files, manifest)
}

async function checkSizes(files: BackupFiles, { records, segments }: Manifest): Promise<void> {
  const sizes = await files.list()
  const named = [
    ...records.map((entry) => [recordsName(entry), entry.lengthBytes] as const),
    ...segments.map((entry) => [segmentName(entry), entry.lengthBytes] as const),
  ]
  for (const [name, lengthBytes] of named) {
    const size = sizes.get(name)
    if (size === undefined) throw new BackupDamaged(`${name} is missing`)
    if (size === lengthBytes) continue
    throw new BackupDamaged(`${name} has ${size} bytes instead of ${lengthBytes}`)
  }
}

async function checkRecords(
  files: BackupFiles,
  { records }: Manifest,
  { only, progress, signal }: BackupCheck,
): Promise<void> {
  for (const [at, entry] of records.entries()) {
    const name = recordsName(entry)
    if (only?.has(name) === false) continue
    decodeChunk(await files.read(name, 0, entry.lengthBytes), entry)
    progress.show('checking records', at + 1, records.length)
    signal.throwIfAborted()
  }
}

async function checkSegments(
  files: BackupFiles,
  { segments }: Manifest,
  { only, progress, signal }: BackupCheck,
): Promise<void> {
  const checked = segments.filter((entry) => only?.has(segmentName(entry)) !== false)
  for (const [at, entry] of checked.entries()) {
    const { slices } = await readSegment(files, entry)
    for (const stored of slices) {
      await checkSlice(files, stored)
      signal.throwIfAborted()
    }
    progress.show('checking content', at + 1, checked.length)
  }
}

async function checkReferences(files: BackupFiles, manifest: Manifest): Promise<void> {
  const byExtent = segmentsByExtent(manifest)
  const kv: Kv = openKv(openRecordsEngine(files, manifest.records))
  let known: { extent: number; offsets: ReadonlySet<number> } | undefined
  for await (const entry of scanSteps(kv, REFERENCE_RANGE)) {
    const { extent, offset, lengthBytes } = decodeReference(entry).slice
    if (extent === SMALL_EXTENT || lengthBytes === 0) continue
    if (known?.extent !== extent) {
      const segments = []
      for (const each of byExtent.get(extent) ?? []) segments.push(await readSegment(files, each))
      const slices = segments.flatMap((segment) => segment.slices)
      known = { extent, offsets: new Set(slices.map(({ slice }) => slice.offset)) }
    }
    if (known.offsets.has(offset)) continue
    throw new BackupDamaged(`${lengthBytes} bytes at ${offset} of extent ${extent} are missing`)
  }
}
