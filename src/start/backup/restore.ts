// `lazuli restore`: a backup is the source of a copy (start/copy/). So it goes to a folder or a database, goes on after an
// interruption, opens for servers only when it is complete, and is compared and checked to the last byte.
import { openKv } from '../../kv/runner/runner.ts'
import type { Kv } from '../../kv/kv.ts'
import { runCopyFrom, type CopyRun } from '../copy/command.ts'
import type { CopySource } from '../copy/place.ts'
import type { StoreName } from '../options/command.ts'
import { manifestDigest } from './manifest.ts'
import { openBackup } from './open-backup.ts'
import { openRecordsEngine } from './records-engine.ts'
import { openSegmentsVolume } from './segments-volume.ts'

export type Restore = {
  readonly from: string
  readonly to: StoreName
  /** Opens the store although some of its content is damaged. */
  readonly acceptsDamage?: boolean
}

/** Returns lines to print. Throws StartError if it is not complete. */
export function runRestore(
  { from, to, acceptsDamage = false }: Restore,
  run: CopyRun,
): Promise<readonly string[]> {
  return runCopyFrom(() => openBackupSource(from), to, {
    ...run,
    done: 'restored',
    what: 'restore',
    acceptsDamage,
    ifDamaged: `restore another backup, or run the same command with --acceptDamage to use what is not damaged; lazuli backup ${from} --verify says whether the backup is`,
  })
}

async function openBackupSource(path: string): Promise<CopySource> {
  const { files, manifest } = await openBackup(path)
  const kv: Kv = openKv(openRecordsEngine(files, manifest.records))
  const volume = openSegmentsVolume(files, manifest)
  return {
    text: path,
    kv,
    volume,
    state: async () => manifestDigest(manifest),
    close: async () => {
      await kv.close()
      await files.close()
    },
  }
}
