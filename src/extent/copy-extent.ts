// Copies the bytes of an extent from one volume to another, to the same offsets: only those that a slice uses. Between
// them may be padding, torn writes and garbage, which the other kind of volume may not even be able to hold.
import type { Kv } from '../kv/kv.ts'
import { decodeReference } from './content/reference.ts'
import { ExtentDamaged } from './error.ts'
import { referencesOf } from './keys.ts'
import { SpanReader, type Span } from './reader.ts'
import { writeRegion } from './region.ts'
import { scanSteps } from './scan.ts'
import type { Appender, ReadSpan, Volume } from './volume.ts'

export type ExtentCopy = {
  readonly from: Volume
  readonly to: Volume
  /** Has the references to the extent. */
  readonly kv: Kv
  /** Called for each chunk. May throw, to stop. */
  onBytes(count: number): void
}

/** Runs that are copied at a time: a volume stores those that wait together. */
const RUNS_AT_ONCE = 8

/** Resolves when the bytes are durable. Replaces what an interrupted copy may have left. */
export async function copyExtent(copy: ExtentCopy, extent: number): Promise<void> {
  const { from, to, kv } = copy
  await to.remove([extent])
  const appender = await to.create(extent)
  try {
    const readSpan = from.reader(async () => true)
    const copying = new Set<Promise<void>>()
    try {
      for await (const run of runsOf(kv, extent)) {
        const each = copyRun(copy, run, readSpan, appender).finally(() => copying.delete(each))
        each.catch(() => undefined)
        copying.add(each)
        if (copying.size >= RUNS_AT_ONCE) await Promise.race(copying)
      }
      await Promise.all(copying)
    } finally {
      await Promise.allSettled(copying)
    }
    await appender.sync()
  } finally {
    await appender.close()
  }
}

/** The bytes that slices use, without gaps inside a run. */
async function* runsOf(kv: Kv, extent: number): AsyncGenerator<Span> {
  let run: Span | undefined
  for await (const entry of scanSteps(kv, referencesOf(extent))) {
    const { offset, lengthBytes } = decodeReference(entry).slice
    if (lengthBytes === 0) continue
    if (run !== undefined && offset <= run.offset + run.lengthBytes) {
      // The next slice, or another reference to the same one.
      const end = Math.max(run.offset + run.lengthBytes, offset + lengthBytes)
      run = { ...run, lengthBytes: end - run.offset }
    } else {
      if (run !== undefined) yield run
      run = { extent, offset, lengthBytes }
    }
  }
  if (run !== undefined) yield run
}

async function copyRun(
  { onBytes }: ExtentCopy,
  run: Span,
  readSpan: ReadSpan,
  appender: Appender,
): Promise<void> {
  const fetch = async (span: Span): Promise<Uint8Array> => {
    const buffer = Buffer.allocUnsafeSlow(span.lengthBytes)
    const count = await readSpan(span, buffer)
    if (count !== span.lengthBytes) {
      const at = span.offset + (count ?? 0)
      throw new ExtentDamaged(span.extent ?? 0, `its bytes from ${at} on are missing`)
    }
    onBytes(count)
    return buffer
  }
  const region = appender.region(run.offset, run.lengthBytes)
  await writeRegion(region, new SpanReader([run], fetch, () => undefined), [])
}
