// A store in memory, for tests and `--inMemoryPersistence`.
import { openMemoryEngine } from './engine/memory.ts'
import type { EventKv } from './kv.ts'
import { openKv } from './runner/runner.ts'

export type MemoryKvOptions = {
  /** Every read and commit waits, as with a database on another machine: transactions interleave. For tests. */
  readonly waits?: boolean
}

let waitsByDefault = false

/** For tests that run again on a store whose reads and commits wait. */
export function setMemoryKvWaits(waits: boolean): void {
  waitsByDefault = waits
}

export function openMemoryKv<Event = never>(options: MemoryKvOptions = {}): EventKv<Event> {
  const { waits = waitsByDefault } = options
  return openKv<Event>(openMemoryEngine(waits ? { waitSeed: 1 } : {}))
}
