// The version of everything that is stored. A store of an older version is migrated step by step when it
// is opened; a newer one is refused, because this program can't know what it would destroy.
import { encodeKey } from './key.ts'
import type { Kv, Step, Tx } from './kv.ts'
import { decodeRecord, encodeRecord } from './record.ts'

/** Each brings a store from its index to the next version, in one transaction with the new number. */
export type Migration = (tx: Tx) => Step<void>

/** Version 1 is the first: there is nothing to migrate yet. */
export const MIGRATIONS: readonly Migration[] = []
export const FORMAT_VERSION = 1

const FORMAT_KEY = encodeKey('format')

export class FormatError extends Error {}

export async function openFormat(
  kv: Kv,
  current: number = FORMAT_VERSION,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const stored = await kv.read(formatVersion)
  if (stored === current) return
  if (stored !== undefined && stored > current) {
    throw new FormatError(
      `the data has format ${stored}, but this version of Lazuli reads up to format ${current}: ` +
        'use a newer Lazuli, or another --location',
    )
  }
  // A store without a version is new: it is born current.
  for (let version = stored ?? current; version < current; version += 1) {
    await kv.write(function* (tx) {
      const migrate = migrations[version - 1]
      if (migrate === undefined) throw new FormatError(`no migration from format ${version}`)
      yield* migrate(tx)
      tx.put(FORMAT_KEY, encodeRecord({ version: version + 1 }))
    })
  }
  if (stored === undefined) {
    await kv.write(function* (tx) {
      tx.put(FORMAT_KEY, encodeRecord({ version: current }))
    })
  }
}

function* formatVersion(tx: Pick<Tx, 'get'>): Step<number | undefined> {
  const value = yield* tx.get(FORMAT_KEY)
  return value === undefined ? undefined : decodeRecord<{ version: number }>(value).version
}
