// Saved states of a whole store. Saving copies the records, in many transactions while nobody else writes; the last one makes
// the state visible. One that was interrupted is swept.
import { setImmediate } from 'node:timers/promises'
import {
  keyAfter,
  KEY_END,
  type Entry,
  type Key,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { decodeKey } from '../../kv/key.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import {
  DISCARDED_STATES,
  discardedStateKey,
  SAVED_STATES,
  savedKey,
  savedRange,
  savedStateKey,
} from './keys.ts'
import { behindUnsaved, deleteWithContent, putSaved } from './saved-record.ts'

export type SavedState = {
  readonly id: number
  readonly savedMs: number
  readonly recordCount: number
}

export type NamedState = SavedState & { readonly name: string }

/** Few, because a record may have hundreds of slices. */
const RECORDS_PER_STEP = 64

/** A list of all of them is short. */
export const STATES_MAX = 1_000

export class TooManyStates extends Error {}

export type SaveState = {
  readonly name: string
  readonly savedMs: number
  newId(): number
}

/** Nobody else may write meanwhile. A state of the same name is replaced. */
export async function saveState(kv: Kv, { name, savedMs, newId }: SaveState): Promise<NamedState> {
  const id = newId()
  await kv.write((tx) => beginState(tx, name, id))
  let recordCount = 0
  for (let from: Key | undefined = new Uint8Array(0); from !== undefined;) {
    const start: Key = from
    const ids = Array.from({ length: RECORDS_PER_STEP }, newId)
    const step: Saved = await kv.write((tx) => saveSome(tx, id, start, ids))
    recordCount += step.count
    from = step.next
    // A memory engine would not let others run.
    await setImmediate()
  }
  const state = { id, savedMs, recordCount }
  await kv.write((tx) => endState(tx, name, state))
  return { name, ...state }
}

/** It counts as discarded until it is complete. */
function* beginState(tx: Tx, name: string, id: number): Step<void> {
  const names = yield* tx.scanKeys({ ...SAVED_STATES, countMax: STATES_MAX })
  if (names.length === STATES_MAX && (yield* getState(tx, name)) === undefined) {
    throw new TooManyStates()
  }
  tx.put(discardedStateKey(id), encodeRecord({}))
}

type Saved = { readonly count: number; readonly next: Key | undefined }

function* saveSome(tx: Tx, id: number, from: Key, newIds: readonly number[]): Step<Saved> {
  const { entries, next } = yield* savable(tx, from, newIds.length)
  for (const [at, entry] of entries.entries()) {
    yield* putSaved(tx, savedKey(id, entry.key), entry, newIds[at] ?? 0)
  }
  return { count: entries.length, next }
}

export type SavableRecords = { readonly entries: readonly Entry[]; readonly next: Key | undefined }

/** Some records of those that a state has, and where to go on; `next` is undefined at the end. */
export function* savable(tx: ReadTx, from: Key, countMax: number): Step<SavableRecords> {
  const entries = yield* tx.scan({ from, to: KEY_END, countMax })
  const found: Entry[] = []
  for (const entry of entries) {
    const behind = behindUnsaved(entry.key)
    if (behind !== undefined) return { entries: found, next: behind }
    found.push(entry)
  }
  const last = entries.at(-1)
  const isEnd = last === undefined || entries.length < countMax
  return { entries: found, next: isEnd ? undefined : keyAfter(last.key) }
}

function* endState(tx: Tx, name: string, state: SavedState): Step<void> {
  yield* deleteState(tx, name)
  tx.delete(discardedStateKey(state.id))
  tx.put(savedStateKey(name), encodeRecord(state))
}

export function getState(tx: ReadTx, name: string): Step<SavedState | undefined> {
  return tx.getFields<SavedState>(savedStateKey(name))
}

/** Sorted by name. */
export function* listStates(tx: ReadTx): Step<readonly NamedState[]> {
  const entries = yield* tx.scan({ ...SAVED_STATES, countMax: STATES_MAX })
  return entries.map(({ key, value }) => {
    return { name: String(decodeKey(key)[1]), ...decodeRecord<SavedState>(value) }
  })
}

/** The sweep removes the records. Returns whether there was one. */
export function* deleteState(tx: Tx, name: string): Step<boolean> {
  const state = yield* getState(tx, name)
  if (state === undefined) return false
  tx.delete(savedStateKey(name))
  tx.put(discardedStateKey(state.id), encodeRecord({}))
  return true
}

/** Removes the records of states that were deleted, or never completed. */
export async function sweepSavedStates(kv: Kv): Promise<number> {
  let count = 0
  for (;;) {
    const [key] = await kv.read((tx) => tx.scanKeys({ ...DISCARDED_STATES, countMax: 1 }))
    if (key === undefined) return count
    const id = Number(decodeKey(key)[1])
    let removed: number
    do {
      removed = await kv.write((tx) => removeSome(tx, id))
      count += removed
    } while (removed > 0)
  }
}

/** The last step, which finds nothing more, deletes the mark. A state that was completed meanwhile has none. */
function* removeSome(tx: Tx, id: number): Step<number> {
  const mark = discardedStateKey(id)
  if ((yield* tx.get(mark)) === undefined) return 0
  const entries = yield* tx.scan({ ...savedRange(id), countMax: RECORDS_PER_STEP })
  for (const entry of entries) yield* deleteWithContent(tx, entry)
  if (entries.length === 0) tx.delete(mark)
  return entries.length
}
