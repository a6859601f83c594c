// The format version of a store. An older store is migrated step by step when it is opened; a newer one is refused,
// because this program might destroy it. So is the unfinished copy of a store, by every version.
import { encodeKey } from '../kv/key.ts'
import type { Kv, ReadTx, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

/**
 * Migrates a store from version index + 1 to the next. A store may be large, so a migration may take several
 * transactions. After a crash it starts over, so it must cope with work that is already done.
 */
export type Migration = (kv: Kv) => Promise<void>

export type Format = {
  readonly version: number
  /** Until everything is there, the format of a copy or of a restored backup is one that no version reads. */
  readonly copy?: UnfinishedCopy
}

/** A store into which `lazuli copy` or `lazuli restore` copies another one. */
export type UnfinishedCopy = {
  /** For people. */
  readonly source: string
  /** Changes whenever the source does. */
  readonly sourceState: string
  /** The process that copies now. */
  readonly run: string
  /** All extents up to this one are there. */
  readonly extent: number
  /** All records up to this key are there; in base64. */
  readonly key: string
}

const FORMAT_KEY = encodeKey('format')
/** Versions from before `copy` existed refuse it for its number. */
const UNFINISHED_VERSION = 2 ** 31

export class FormatError extends Error {}

/** The current version is the one after the last migration. */
export async function openFormat(kv: Kv, migrations: readonly Migration[]): Promise<void> {
  const current = migrations.length + 1
  const stored = (await kv.read(getFormat)) ?? (await kv.write((tx) => createFormat(tx, current)))
  checkFormat(stored, migrations)
  for (const [index, migrate] of migrations.entries()) {
    if (index + 1 < stored.version) continue
    await migrate(kv)
    await kv.write((tx) => putFormat(tx, { version: index + 2 }))
  }
}

/** Throws FormatError if this program can't read the store. */
export function checkFormat({ version, copy }: Format, migrations: readonly Migration[]): void {
  if (copy !== undefined) {
    throw new FormatError(
      `the data is an unfinished copy of ${copy.source}: run the same command again to complete it`,
    )
  }
  const current = migrations.length + 1
  if (version <= current) return
  throw new FormatError(
    `the data has format ${version}, but this version of Lazuli reads up to format ${current}: ` +
      'use a newer Lazuli, or another --location',
  )
}

export function getFormat(tx: ReadTx): Step<Format | undefined> {
  return tx.getFields<Format>(FORMAT_KEY)
}

export function* putFormat(tx: Tx, format: Format): Step<void> {
  tx.put(FORMAT_KEY, encodeRecord(format))
}

export function* putUnfinished(tx: Tx, copy: UnfinishedCopy): Step<void> {
  yield* putFormat(tx, { version: UNFINISHED_VERSION, copy })
}

/** A store without a version is new, unless a copy into it has begun by now. */
function* createFormat(tx: Tx, version: number): Step<Format> {
  const stored = yield* getFormat(tx)
  if (stored !== undefined) return stored
  yield* putFormat(tx, { version })
  return { version }
}
