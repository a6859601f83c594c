// The version of everything that is stored. A store of an older version is migrated step by step when it
// is opened; a newer one is refused, because this program can't know what it would destroy.
import { encodeKey } from '../kv/key.ts'
import type { Kv, Step, Tx } from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'

/**
 * Brings a store from its index + 1 to the next version. In as many transactions as it needs, since a store may be
 * large: one that was cut off begins again, so it must find its own work done as well as undone.
 */
export type Migration = (kv: Kv) => Promise<void>

const FORMAT_KEY = encodeKey('format')

export class FormatError extends Error {}

/** The newest version is the one that the last migration leads to. */
export async function openFormat(kv: Kv, migrations: readonly Migration[]): Promise<void> {
  const current = migrations.length + 1
  const stored = await kv.read(formatVersion)
  if (stored !== undefined && stored > current) {
    throw new FormatError(
      `the data has format ${stored}, but this version of Lazuli reads up to format ${current}: ` +
        'use a newer Lazuli, or another --location',
    )
  }
  // A store without a version is new: it is born current.
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
