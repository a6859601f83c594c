// Writes a backup: all records of one state of the store, and the bytes that they refer to. It writes only what an earlier
// backup in the same place does not have, checks what it has written, and only then replaces the earlier one.
import { setImmediate } from 'node:timers/promises'
import { keyNumbers, EXTENT_RANGE, type ExtentRecord } from '../../extent/keys.ts'
import type { Snapshot } from '../../kv/engine/engine.ts'
import { KEY_END, keyAfter, type Key, type KeyRange } from '../../kv/kv.ts'
import { decodeRecord, StoredRecord } from '../../kv/record.ts'
import { bytesText } from '../copy/progress.ts'
import { recordKindOf } from '../copy/records.ts'
import { StartError } from '../start-error.ts'
import type { BackupSettings, BackupSource } from './backup-source.ts'
import { backUpContent, type BackedUpContent } from './content.ts'
import type { BackupWriter } from './files.ts'
import {
  encodeManifest,
  recordsName,
  segmentName,
  type ChunkEntry,
  type Manifest,
} from './manifest.ts'
import { readManifest } from './open-backup.ts'
import { ChunkBuilder, type StoredEntry } from './record-chunk.ts'
import { checkBackup } from './verify.ts'

export type BackedUp = {
  readonly manifest: Manifest
  readonly writtenBytes: number
}

export function backedUpLine({ manifest, writtenBytes }: BackedUp, place: string): string {
  const { recordCount, contentBytes } = manifest
  const what = `${recordCount} records and ${bytesText(contentBytes)} of content`
  return `backed up ${what} to ${place}; ${bytesText(writtenBytes)} were new, and were checked`
}

/** Throws StartError. An earlier backup in the same place is then as it was. */
export async function backUp(
  source: BackupSource,
  writer: BackupWriter,
  settings: BackupSettings,
): Promise<BackedUp> {
  await requireSameStore(source, writer)
  const state = await source.snapshot((snapshot) => takeState(source, snapshot, settings.nowMs()))
  try {
    const records = await backUpRecords(state.snapshot, writer, settings).finally(state.release)
    const content = await backUpContent(source, writer, records.entries, settings)
    const manifest = manifestOf(source, settings, state.takenMs, records.entries, content)
    await writer.finish(encodeManifest(manifest))
    const written = new Set([...records.written, ...content.written])
    await checkBackup(writer.files, manifest, { ...settings, only: written })
    settings.signal.throwIfAborted()
    await writer.publish(namesOf(manifest))
    return { manifest, writtenBytes: records.writtenBytes + content.writtenBytes }
  } finally {
    state.unpin()
  }
}

async function requireSameStore({ storeId }: BackupSource, { files }: BackupWriter): Promise<void> {
  const before = await readManifest(files)
  if (before === undefined || before.storeId === storeId) return
  throw new StartError(
    `${files.text} has a backup of another store (${before.source}), or of this one before it was restored or moved; choose another place`,
  )
}

type State = {
  readonly snapshot: Snapshot
  readonly takenMs: number
  release(): void
  unpin(): void
}

/** From now on, the bytes of every extent in this state stay, whatever is deleted. */
async function takeState(
  { extents }: BackupSource,
  snapshot: Snapshot,
  takenMs: number,
): Promise<State> {
  const used = new Set<number>()
  for await (const { key, value } of entriesOf(snapshot, EXTENT_RANGE)) {
    const { state } = decodeRecord<ExtentRecord>(new StoredRecord(value))
    if (state !== 'retired') used.add(keyNumbers(key)[0] ?? 0)
  }
  const unpin = extents.pin(used)
  return { snapshot, takenMs, release: () => snapshot.release(), unpin }
}

type BackedUpRecords = {
  readonly entries: readonly ChunkEntry[]
  readonly written: readonly string[]
  readonly writtenBytes: number
}

async function backUpRecords(
  snapshot: Snapshot,
  writer: BackupWriter,
  { progress, signal }: BackupSettings,
): Promise<BackedUpRecords> {
  const existing = await writer.files.list()
  const total = await countKeys(snapshot)
  const builder = new ChunkBuilder()
  const entries: ChunkEntry[] = []
  const written = new Map<string, number>()
  let done = 0
  const save = async (): Promise<void> => {
    const chunk = builder.take()
    if (chunk === undefined) return
    const name = recordsName(chunk.entry)
    if (existing.get(name) !== chunk.bytes.length && !written.has(name)) {
      await writer.write(name, chunk.bytes.length, only(chunk.bytes))
      written.set(name, chunk.bytes.length)
    }
    entries.push(chunk.entry)
    done += chunk.entry.recordCount
    progress.show('records', done, total)
    signal.throwIfAborted()
  }
  for await (const entry of entriesOf(snapshot, EVERYTHING)) {
    if (isBackedUp(entry.key) && builder.add(entry)) await save()
  }
  await save()
  progress.show('records', total, total)
  const writtenBytes = [...written.values()].reduce((sum, bytes) => sum + bytes, 0)
  return { entries, written: [...written.keys()], writtenBytes }
}

/** Who uses the store now does not belong to it. */
function isBackedUp(key: Key): boolean {
  return recordKindOf(key) !== 'owner'
}

const EVERYTHING: KeyRange = { from: new Uint8Array(0), to: KEY_END }
/** Few, because a record may have a MiB. */
const PAGE_COUNT = 128
const KEYS_AT_ONCE = 4_096

/** Others run between two pages. */
async function* entriesOf(
  snapshot: Snapshot,
  { from, to }: KeyRange,
  part: 'whole' | 'keys' = 'whole',
): AsyncGenerator<StoredEntry> {
  const countMax = part === 'keys' ? KEYS_AT_ONCE : PAGE_COUNT
  for (let start = from; ;) {
    const ranges = [{ from: start, to, countMax, part }]
    const [page = []] = (await snapshot.read({ keys: [], ranges })).ranges
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < countMax) return
    start = keyAfter(last.key)
    await setImmediate()
  }
}

async function countKeys(snapshot: Snapshot): Promise<number> {
  let count = 0
  for await (const { key } of entriesOf(snapshot, EVERYTHING, 'keys'))
    if (isBackedUp(key)) count += 1
  return count
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function manifestOf(
  { storeId, text }: BackupSource,
  { version }: BackupSettings,
  takenMs: number,
  records: readonly ChunkEntry[],
  { segments, contentBytes }: BackedUpContent,
): Manifest {
  const recordCount = records.reduce((sum, entry) => sum + entry.recordCount, 0)
  return {
    format: 1,
    storeId,
    source: text,
    version,
    takenMs,
    recordCount,
    contentBytes,
    records,
    segments,
  }
}

function namesOf({ records, segments }: Manifest): ReadonlySet<string> {
  return new Set([...records.map(recordsName), ...segments.map(segmentName)])
}
