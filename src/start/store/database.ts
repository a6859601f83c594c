// A store in PostgreSQL for commands that look at it from outside: open to read only, beside the nodes that use it.
import { openPostgresReader } from '../../kv/engine/postgres-reader.ts'
import { NoStore } from '../../kv/engine/postgres/schema.ts'
import type { Kv } from '../../kv/kv.ts'
import { openKv } from '../../kv/runner/runner.ts'
import { DatabaseClock } from '../../node/database-clock.ts'
import {
  connectionSettings,
  settingsText,
  type ConnectionSettings,
  type Environment,
} from '../../postgres/settings.ts'
import { StartError, usageError } from '../start-error.ts'

export type DatabaseReader = {
  readonly settings: ConnectionSettings
  /** Fails every write. */
  readonly kv: Kv
  /** The database's clock. */
  nowMs(): number
  /** Changes with every commit. */
  writersText(): Promise<string>
  close(): Promise<void>
}

/** Throws StartError if there is no store, or no database. */
export async function openDatabaseReader(url: string, env: Environment): Promise<DatabaseReader> {
  const settings = databaseSettings(url, env)
  const clock = new DatabaseClock()
  const onTime = clock.observe.bind(clock)
  const engine = await openPostgresReader(settings, { onTime }).catch((error: unknown) => {
    throw databaseError(settings, error)
  })
  const kv = openKv(engine)
  return {
    settings,
    kv,
    nowMs: () => clock.nowMs(),
    writersText: () => engine.writersText(),
    close: () => kv.close(),
  }
}

/** Throws StartError if the URL is not valid. */
export function databaseSettings(url: string, env: Environment): ConnectionSettings {
  try {
    return connectionSettings(url, env)
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** What keeps a command from using the database, in one line; other errors stay as they are. */
export function databaseError(settings: ConnectionSettings, error: unknown): unknown {
  if (error instanceof NoStore) {
    return new StartError(`${settingsText(settings)}: ${error.message}`, 1, error)
  }
  // By its name: `DatabaseUnavailable` and `StoreUnavailable` say where they tried to connect.
  const isNamed =
    error instanceof Error && /^((Database|Store)Unavailable|NewerSchema)$/.test(error.name)
  return isNamed ? new StartError(error.message, 1, error) : error
}
