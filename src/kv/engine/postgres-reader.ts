// Reads a store in PostgreSQL beside the nodes that use it, without being one of them: registers nothing, creates nothing and
// can't commit.
import type { ConnectionSettings } from '../../postgres/settings.ts'
import type { Engine } from './engine.ts'
import { orUnavailable } from './postgres/or-unavailable.ts'
import { Reads, type OnTime } from './postgres/reads.ts'

export type ReaderOptions = { readonly onTime?: OnTime }

export type PostgresReader = Engine & {
  /** The commits of each writer so far: changes with every commit. */
  writersText(): Promise<string>
}

/** Throws NoStore if the database has none. */
export async function openPostgresReader(
  settings: ConnectionSettings,
  { onTime }: ReaderOptions = {},
): Promise<PostgresReader> {
  const reads = new Reads(settings, { statements: 0 }, onTime)
  try {
    await orUnavailable(reads.requireSchema())
    await orUnavailable(reads.readTime())
    const sizeBytes = await orUnavailable(reads.readSize())
    const refuse = (): Promise<never> =>
      Promise.reject(new Error('The store is open to read only.'))
    return {
      writersText: () => orUnavailable(reads.readWriters()),
      read: (wanted) => orUnavailable(reads.read(wanted)),
      snapshot: () => orUnavailable(reads.snapshot()),
      commit: refuse,
      alone: refuse,
      sizeBytes: () => sizeBytes,
      close: () => reads.close(),
    }
  } catch (error) {
    await reads.close()
    throw error
  }
}
