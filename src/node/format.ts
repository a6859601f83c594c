// The format version of a store. An older store is migrated step by step when it is opened; a newer one is refused,
// because this program might destroy it.
import { encodeKey } from '../kv/key.ts'
import type { Kv, Step, Tx } from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'

/**
 * Migrates a store from version index + 1 to the next. A store may be large, so a migration may take several
 * transactions. After a crash it starts over, so it must cope with work that is already done.
 */
export type Migration = (kv: Kv) => Promise<void>

const FORMAT_KEY = encodeKey('format')

export class FormatError extends Error {}

/** The current version is the one after the last migration. */
export async function openFormat(kv: Kv, migrations: readonly Migration[]): Promise<void> {
  const current = migrations.length + 1
  const stored = await kv.read(formatVersion)
  if (stored !== undefined && stored > current) {
    throw new FormatError(
      `the data has format ${stored}, but this version of Lazuli reads up to format ${current}: ` +
        'use a newer Lazuli, or another --location',
    )
  }
  // A store without a version is new.
  if (stored === undefined) return saveVersion(kv, current)
  for (const [index, migrate] of migrations.entries()) {
    if (index + 1 < stored) continue
    await migrate(kv)
    await saveVersion(kv, index + 2)
  }
}

function saveVersion(kv: Kv, version: number): Promise<void> {
  return kv.write(function* (tx) {
    tx.put(FORMAT_KEY, encodeRecord({ version }))
  })
}

function* formatVersion(tx: Pick<Tx, 'get'>): Step<number | undefined> {
  const value = yield* tx.get(FORMAT_KEY)
  return value === undefined ? undefined : decodeRecord<{ version: number }>(value).version
}
