// The content of a backup: for each extent, the slices that the records refer to. Slices never change, so those that an earlier
// run has copied, complete or not, are not copied again. A file of which less than half is still needed is rewritten
// without the rest.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { decodeReference } from '../../extent/content/reference.ts'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import { SMALL_EXTENT, type Slice } from '../../extent/content/slice.ts'
import { ExtentDamaged } from '../../extent/error.ts'
import { REFERENCE_RANGE } from '../../extent/keys.ts'
import { scanSteps } from '../../extent/scan.ts'
import type { Kv } from '../../kv/kv.ts'
import { openKv } from '../../kv/runner/runner.ts'
import { StartError } from '../start-error.ts'
import type { BackupSettings, BackupSource } from './backup-source.ts'
import type { BackupWriter } from './files.ts'
import { segmentName, type ChunkEntry, type SegmentEntry } from './manifest.ts'
import { openRecordsEngine } from './records-engine.ts'
import {
  decodeSegmentName,
  encodeHeader,
  newSegmentName,
  readSegment,
  type Segment,
} from './segment.ts'

export type BackedUpContent = {
  readonly segments: readonly SegmentEntry[]
  /** Of all slices. */
  readonly contentBytes: number
  /** The names of the files that were written. */
  readonly written: readonly string[]
  readonly writtenBytes: number
}

const LIVE_RATIO_MIN = 0.5

/** `records`: those of the state, which are in the backup by now. */
export async function backUpContent(
  source: BackupSource,
  writer: BackupWriter,
  records: readonly ChunkEntry[],
  settings: BackupSettings,
): Promise<BackedUpContent> {
  const kv: Kv = openKv(openRecordsEngine(writer.files, records))
  try {
    const content = new ContentBackup(source, writer, settings, await totalBytes(kv))
    for await (const slices of slicesByExtent(kv)) await content.addExtent(slices)
    return content.done()
  } finally {
    await kv.close()
  }
}

class ContentBackup {
  readonly #source: BackupSource
  readonly #writer: BackupWriter
  readonly #settings: BackupSettings
  readonly #totalBytes: number
  readonly #run = randomBytes(8).toString('hex')
  readonly #segments: SegmentEntry[] = []
  readonly #written: string[] = []
  #doneBytes = 0
  #writtenBytes = 0
  #earlier: ReadonlyMap<number, readonly string[]> | undefined

  constructor(source: BackupSource, writer: BackupWriter, settings: BackupSettings, total: number) {
    this.#source = source
    this.#writer = writer
    this.#settings = settings
    this.#totalBytes = total
  }

  /** All slices of one extent that are needed. */
  async addExtent(slices: readonly Slice[]): Promise<void> {
    const missing = new Map(slices.map((slice) => [placeOf(slice), slice]))
    for (const segment of await this.#segmentsFor(slices[0]?.extent ?? 0)) {
      const needed = segment.slices.filter(({ slice }) => missing.has(placeOf(slice)))
      const neededBytes = needed.reduce((sum, { slice }) => sum + slice.lengthBytes, 0)
      if (neededBytes < segment.entry.lengthBytes * LIVE_RATIO_MIN) continue
      for (const { slice } of needed) missing.delete(placeOf(slice))
      this.#segments.push(segment.entry)
      this.#show(neededBytes)
    }
    if (missing.size > 0) await this.#writeSegment([...missing.values()])
  }

  done(): BackedUpContent {
    const total = this.#totalBytes
    this.#settings.progress.show('content', total, total)
    return {
      segments: this.#segments,
      contentBytes: total,
      written: this.#written,
      writtenBytes: this.#writtenBytes,
    }
  }

  /** Of this store: places mean nothing in another. */
  async #segmentsFor(extent: number): Promise<readonly Segment[]> {
    const { files } = this.#writer
    this.#earlier ??= segmentNames((await files.list()).keys())
    const found: Segment[] = []
    for (const name of this.#earlier.get(extent) ?? []) {
      const segment = await readSegment(files, { name, extent })
      if (segment.storeId === this.#source.storeId) found.push(segment)
    }
    return found
  }

  async #writeSegment(slices: readonly Slice[]): Promise<void> {
    const extent = slices[0]?.extent ?? 0
    const header = encodeHeader(this.#source.storeId, extent, slices)
    const lengthBytes = slices.reduce((sum, slice) => sum + slice.lengthBytes, header.length)
    const name = newSegmentName(extent, this.#run)
    const file = segmentName({ name })
    await this.#writer.write(file, lengthBytes, this.#bytesOf(header, slices))
    this.#segments.push({ name, extent, lengthBytes })
    this.#written.push(file)
    this.#writtenBytes += lengthBytes
  }

  async *#bytesOf(header: Buffer, slices: readonly Slice[]): AsyncGenerator<Uint8Array> {
    yield header
    for (const slice of slices) yield* this.#readSlice(slice)
  }

  async *#readSlice(slice: Slice): AsyncGenerator<Uint8Array> {
    const { extents } = this.#source
    let crc = 0
    try {
      for await (const chunk of extents.read([wholeSlice(slice)])) {
        crc = crc32(chunk, crc)
        yield chunk
        this.#show(chunk.length)
        extents.recycle(chunk)
      }
    } catch (error) {
      throw error instanceof ExtentDamaged ? damaged(error.message) : error
    }
    if (crc !== slice.crc32) throw damaged(`extent ${slice.extent}, offset ${slice.offset}`)
  }

  #show(addedBytes: number): void {
    this.#doneBytes += addedBytes
    this.#settings.progress.show('content', this.#doneBytes, this.#totalBytes)
    this.#settings.signal.throwIfAborted()
  }
}

function damaged(detail: string): StartError {
  return new StartError(
    `the store is damaged (${detail}), so it can't be backed up; lazuli fsck says what it belongs to: delete that, or write it again`,
  )
}

/** By the extent of which they have slices. */
function segmentNames(files: Iterable<string>): ReadonlyMap<number, readonly string[]> {
  const names = new Map<number, string[]>()
  for (const file of files) {
    const decoded = decodeSegmentName(file)
    if (decoded === undefined) continue
    names.set(decoded.extent, [...(names.get(decoded.extent) ?? []), decoded.name])
  }
  return names
}

/** Also the length and the checksum: a place that was used again has other bytes. */
function placeOf({ extent, offset, lengthBytes, crc32: crc }: Slice): string {
  return `${extent}:${offset}:${lengthBytes}:${crc}`
}

async function totalBytes(kv: Kv): Promise<number> {
  let total = 0
  for await (const slices of slicesByExtent(kv)) {
    for (const { lengthBytes } of slices) total += lengthBytes
  }
  return total
}

/** Each slice once, however many records refer to it. */
async function* slicesByExtent(kv: Kv): AsyncGenerator<readonly Slice[]> {
  let slices: Slice[] = []
  for await (const entry of scanSteps(kv, REFERENCE_RANGE)) {
    const { slice } = decodeReference(entry)
    const last = slices.at(-1)
    // Small slices are records.
    if (slice.extent === SMALL_EXTENT || slice.lengthBytes === 0) continue
    if (last?.extent === slice.extent && last.offset === slice.offset) continue
    if (last !== undefined && last.extent !== slice.extent) {
      yield slices
      slices = []
    }
    slices.push(slice)
  }
  if (slices.length > 0) yield slices
}
