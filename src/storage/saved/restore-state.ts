// Brings a store back to a saved state, in many transactions while nobody else uses it. First goes whatever differs, then
// comes whatever is missing: so no content id is in two records at a time, although records may have exchanged theirs since.
// A record says that it is under way. Each step does only what is still to do, so a start of the server goes on with it.
import { setImmediate } from 'node:timers/promises'
import { keyAfter, prefixRange, type Key, type ReadTx, type Step } from '../../kv/kv.ts'
import { decodeKey } from '../../kv/key.ts'
import { scanAll } from '../../kv/scan.ts'
import { encodeRecord } from '../../kv/record.ts'
import { volatileKey } from '../../kv/volatile.ts'
import type { FileKv, FileTx } from '../file/open/open.ts'
import { closeOpens } from '../file/share/share-opens.ts'
import { removeOrphans } from '../file/tree/orphan.ts'
import { originalKey, RESTORING_KEY, savedKey, savedRange } from './keys.ts'
import { deleteWithContent, originalOf, putOriginal } from './saved-record.ts'
import { savable, type SavedState } from './saved-state.ts'

const RECORDS_PER_STEP = 64

type Restoring = { readonly stateId: number }

/** From then on, the store is in no state that anybody should see, until `finishRestore` is through. */
export async function beginRestore(kv: FileKv, { id: stateId }: SavedState): Promise<void> {
  await kv.write((tx) => putRestoring(tx, { stateId }))
}

/** Does nothing if no restore is under way. Returns whether one was. */
export async function finishRestore(kv: FileKv): Promise<boolean> {
  const restoring = await kv.read((tx) => tx.getFields<Restoring>(RESTORING_KEY))
  if (restoring === undefined) return false
  await inSteps(kv, new Uint8Array(0), (tx, from) => deleteSome(tx, restoring, from))
  await inSteps(kv, savedRange(restoring.stateId).from, (tx, from) => putSome(tx, restoring, from))
  await kv.write((tx) => endRestore(tx, restoring))
  return true
}

async function inSteps(
  kv: FileKv,
  begin: Key,
  step: (tx: FileTx, from: Key) => Step<Key | undefined>,
): Promise<void> {
  for (let from: Key | undefined = begin; from !== undefined;) {
    const start: Key = from
    from = await kv.write((tx) => step(tx, start))
    // A memory engine would not let others run.
    await setImmediate()
  }
}

function* putRestoring(tx: FileTx, restoring: Restoring): Step<void> {
  for (const shareId of yield* sharesWithOpens(tx)) yield* closeOpens(tx, shareId)
  tx.put(RESTORING_KEY, encodeRecord(restoring))
}

const SCAN_COUNT = 1_000

function* sharesWithOpens(tx: ReadTx): Step<ReadonlySet<number>> {
  const opens = yield* scanAll(tx, prefixRange(volatileKey('open')), SCAN_COUNT)
  return new Set(opens.map(({ key }) => Number(decodeKey(key)[2])))
}

/** Another node may have finished it. */
function* isUnderWay(tx: ReadTx, { stateId }: Restoring): Step<boolean> {
  return (yield* tx.getFields<Restoring>(RESTORING_KEY))?.stateId === stateId
}

/** Deletes records that the state does not have, or has otherwise. */
function* deleteSome(tx: FileTx, restoring: Restoring, from: Key): Step<Key | undefined> {
  if (!(yield* isUnderWay(tx, restoring))) return undefined
  const { entries, next } = yield* savable(tx, from, RECORDS_PER_STEP)
  for (const entry of entries) {
    const saved = yield* tx.get(savedKey(restoring.stateId, entry.key))
    const isSame =
      saved !== undefined && Buffer.compare(originalOf(saved).value, entry.value.value) === 0
    if (!isSame) yield* deleteWithContent(tx, entry)
  }
  return next
}

/** Puts records that are missing. What there is, is the same. */
function* putSome(tx: FileTx, restoring: Restoring, from: Key): Step<Key | undefined> {
  if (!(yield* isUnderWay(tx, restoring))) return undefined
  const range = { from, to: savedRange(restoring.stateId).to, countMax: RECORDS_PER_STEP }
  const entries = yield* tx.scan(range)
  for (const { key, value } of entries) {
    const original = Uint8Array.from(originalKey(key))
    if ((yield* tx.get(original)) === undefined) yield* putOriginal(tx, original, value)
  }
  const last = entries.at(-1)
  return last === undefined || entries.length < RECORDS_PER_STEP ? undefined : keyAfter(last.key)
}

/** Files without a name that clients had open at the time of the state: nobody has them open now. */
function* endRestore(tx: FileTx, restoring: Restoring): Step<void> {
  if (!(yield* isUnderWay(tx, restoring))) return
  yield* removeOrphans(tx)
  tx.delete(RESTORING_KEY)
}
