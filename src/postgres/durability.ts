// What a crash or a fail-over of the database can lose, by its settings.
// https://www.postgresql.org/docs/15/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT
import { connect } from './client.ts'
import { callDeadlineMs } from './pool.ts'
import type { ConnectionSettings } from './settings.ts'

export type Durability = {
  /** `off`, `local`, `remote_write`, `on` or `remote_apply`. */
  readonly synchronousCommit: string
  /** Empty: commits don't wait for a standby. */
  readonly standbyNames: string
}

const READ_DURABILITY = {
  name: 'durability',
  text: `SELECT reset_val, current_setting('synchronous_standby_names')
    FROM pg_settings WHERE name = 'synchronous_commit'`,
}

export async function readDurability(settings: ConnectionSettings): Promise<Durability> {
  const deadlineMs = callDeadlineMs()
  const connection = await connect(settings, { statements: 0 }, deadlineMs)
  try {
    const [row] = await connection.run(READ_DURABILITY, [], deadlineMs)
    return { synchronousCommit: row?.[0] ?? '', standbyNames: row?.[1] ?? '' }
  } finally {
    await connection.close()
  }
}

/** One plain sentence for whoever starts a server. */
export function durabilityText({ synchronousCommit, standbyNames }: Durability): string {
  if (synchronousCommit === 'off') {
    return 'A crash of the database can lose the last acknowledged writes (synchronous_commit is off).'
  }
  if (standbyNames === '' || synchronousCommit === 'local') {
    const why = standbyNames === '' ? 'synchronous_standby_names is empty' : 'synchronous_commit is local' // prettier-ignore
    return `A crash of the database loses nothing; a fail-over to a standby can lose the last acknowledged writes (${why}).`
  }
  const standbys = `synchronous_standby_names is ${standbyNames}`
  if (synchronousCommit === 'remote_write') {
    return `A fail-over loses acknowledged writes only if the standby's machine crashes as well (synchronous_commit is remote_write, ${standbys}).`
  }
  return `A fail-over to a synchronous standby loses nothing (${standbys}).`
}
