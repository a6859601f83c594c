// The backups of a running server. The code is loaded with the first one.
import { ControlError } from '../control/control-error.ts'
import type { BackupApi } from '../start/admin/api/parts.ts'
import type { BackupJobs } from '../start/backup/job.ts'
import type { Store } from '../start/store/store.ts'
import { VERSION } from '../start/version.ts'

export type BackupWorld = {
  /** undefined: the store is not in a folder. */
  readonly folder: string | undefined
  readonly store: Store
  betweenSweeps<T>(work: () => Promise<T>): Promise<T>
}

const NOTHING_TO_BACK_UP =
  'this server has no data folder: a backup of a database is made with pg_basebackup, and memory is saved with lazuli export'

export function lazyBackups({ folder, store, betweenSweeps }: BackupWorld): BackupApi & {
  /** When the last one was complete. */
  completedMs(): number | undefined
  /** Stops the backup that is running. */
  close(): Promise<void>
} {
  let jobs: BackupJobs | undefined
  return {
    start: async (place, location) => {
      const { snapshot } = store
      if (folder === undefined || snapshot === undefined) throw new ControlError(NOTHING_TO_BACK_UP)
      const { BackupJobs: Jobs } = await import('../start/backup/job.ts')
      jobs ??= new Jobs({ folder, store: { ...store, snapshot }, betweenSweeps }, VERSION)
      return jobs.start(place, location)
    },
    state: () => jobs?.state() ?? { state: 'none' },
    stop: async () => (await jobs?.stop()) ?? { state: 'none' },
    completedMs: () => jobs?.completedMs(),
    close: async () => {
      await jobs?.stop()
    },
  }
}
