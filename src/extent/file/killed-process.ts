// The process that kill.test.ts kills: uploads, deletes and sweeps concurrently, on LMDB and real files. It prints a
// blob's number once it is stored, and exits by itself if it is not killed.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openLmdbEngine } from '../../kv/engine/lmdb.ts'
import { openKv } from '../../kv/runner/runner.ts'
import { Harness, patternBytes } from '../harness.ts'
import { ExtentRetired } from '../error.ts'
import { openLocalExtents } from './local.ts'
import { soleWriter } from '../writers.ts'

export const KILLED_BLOB_BYTES = 50_000
const BLOB_COUNT = 4_000
const WRITER_COUNT = 8
const PASS_COUNT = 10_000

export async function openHarness(folder: string, now: { ms: number }): Promise<Harness> {
  const kv = openKv(openLmdbEngine(join(folder, 'kv')))
  const store = await openLocalExtents({
    folder: join(folder, 'extents'),
    kv,
    clock: () => now.ms,
    writers: soleWriter(randomUUID()),
    extentBytes: 500_000,
  })
  return new Harness(kv, store, now)
}

/** Deletes three out of four blobs again, so that there is much to compact. */
export async function uploadUntilKilled(
  folder: string,
  acknowledge: (blob: number) => void,
): Promise<void> {
  const harness = await openHarness(folder, { ms: 0 })
  const upload = async (writer: number) => {
    for (let i = writer; i < BLOB_COUNT; i += WRITER_COUNT) {
      const isStored = await putBlob(harness, i)
      if (i % 4 !== 0) await harness.delete(`b${i}`)
      else if (isStored) acknowledge(i)
    }
  }
  const sweep = async () => {
    // A pass advances the clock by a twentieth of the grace period.
    for (let pass = 0; pass < PASS_COUNT; pass += 1) await harness.sweep({ graceMs: 20_000 })
  }
  const uploads = Array.from({ length: WRITER_COUNT }, (_, writer) => upload(writer))
  await Promise.all([...uploads, sweep()])
}

/** False if the grace period passed during the upload. */
async function putBlob(harness: Harness, i: number): Promise<boolean> {
  try {
    await harness.put(`b${i}`, patternBytes(i, KILLED_BLOB_BYTES))
    return true
  } catch (error) {
    if (error instanceof ExtentRetired) return false
    throw error
  }
}
