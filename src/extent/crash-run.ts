// What crash tests run until the machine or the node stops, and what must hold afterwards.
import assert from 'node:assert/strict'
import type { Kv } from '../kv/kv.ts'
import type { Machine } from './file/disk-simulation.ts'
import { patternBytes, type Harness } from './harness.ts'
import type { Volume } from './volume.ts'

const BLOB_COUNT = 9
export const BLOB_BYTES = 3_000
export const EXTENT_BYTES = 10_000

/** Only writes count as calls: a crash can't tear a read. */
export function kvOn(machine: Machine, kv: Kv): Kv {
  return {
    read: (body) => kv.read(body),
    write: (body) => machine.call(() => kv.write(body)),
    attemptRead: (body) => kv.attemptRead(body),
    attempt: (body) => machine.call(() => kv.attempt(body)),
    sizeBytes: () => kv.sizeBytes(),
    close: () => kv.close(),
  }
}

/** A volume whose changes count as calls. */
export function volumeOn(machine: Machine, volume: Volume): Volume {
  return {
    create: async (extent) => {
      const bytes = await machine.call(() => volume.create(extent))
      return {
        place: (...all) => bytes.place(...all),
        region: (offset, lengthBytes) => {
          const region = bytes.region(offset, lengthBytes)
          return { ...region, write: (...all) => machine.call(() => region.write(...all)) }
        },
        sync: () => machine.call(() => bytes.sync()),
        close: () => bytes.close(),
      }
    },
    reader: (isSettled) => volume.reader(isSettled),
    remove: (extents) => machine.call(() => volume.remove(extents)),
    list: () => volume.list(),
    storedBytes: (extent) => volume.storedBytes(extent),
    close: () => volume.close(),
  }
}

/** What a client knows about a blob: stored, deleted, or requested without an answer. */
export type Known = Map<string, 'stored' | 'deleted' | 'unknown'>

/** Deletes two of three blobs, so that every extent is compacted; a copy shares a live slice. */
export async function runWorkload(harness: Harness, known: Known): Promise<void> {
  const change = async (name: string, state: 'stored' | 'deleted', action: () => Promise<void>) => {
    known.set(name, 'unknown')
    await action()
    known.set(name, state)
  }
  for (let i = 0; i < BLOB_COUNT; i += 1) {
    await change(`b${i}`, 'stored', () => harness.put(`b${i}`, patternBytes(i, BLOB_BYTES)))
  }
  const pieces = (await harness.pieces('b0')) ?? []
  await change('copy', 'stored', () => harness.point('copy', pieces))
  for (let i = 0; i < BLOB_COUNT; i += 1) {
    if (i % 3 !== 0) await change(`b${i}`, 'deleted', () => harness.delete(`b${i}`))
  }
  await harness.sweepAll()
  await harness.store.close()
}

export async function checkKnown(harness: Harness, known: Known): Promise<void> {
  for (const [name, state] of known) {
    const seed = name === 'copy' ? 0 : Number(name.slice(1))
    const bytes = await harness.get(name)
    if (state === 'stored' || (state === 'unknown' && bytes !== undefined)) {
      assert.deepEqual(bytes, patternBytes(seed, BLOB_BYTES), `${name} is ${state}`)
    } else {
      assert.equal(bytes, undefined)
    }
  }
  await harness.checkSound()
}
