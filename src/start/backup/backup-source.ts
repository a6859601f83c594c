// What a backup is made from, and how.
import type { SweptExtentStore } from '../../extent/extent.ts'
import type { Snapshot } from '../../kv/engine/engine.ts'
import type { Progress } from '../copy/progress.ts'

export type BackupSource = {
  /** For people. */
  readonly text: string
  readonly storeId: string
  /** Has the bytes, and keeps those that are pinned. */
  readonly extents: Pick<SweptExtentStore, 'read' | 'recycle' | 'pin'>
  /** Takes a state of the store. Nothing is swept until the promise of `use` is settled. */
  snapshot<T>(use: (snapshot: Snapshot) => Promise<T>): Promise<T>
}

export type BackupSettings = {
  readonly version: string
  readonly nowMs: () => number
  readonly progress: Progress
  readonly signal: AbortSignal
}
