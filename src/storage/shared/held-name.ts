// Names of recently deleted containers, queues, tables and shares. In Azure such a name can't be used again for
// half a minute, while the resource is being deleted ("Delete Container" and others); `--nameReuseSeconds` does
// the same. The delete stores the end of that time, so it survives a restart.
import { encodeKey } from '../../kv/key.ts'
import {
  keyAfter,
  prefixRange,
  type Key,
  type KeyRange,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { StorageError, type ErrorCode } from './error.ts'

/** A name, and how long it can't be used again after a delete; 0: not at all. */
export type ReusedName = {
  readonly kind: HeldKind
  readonly account: string
  readonly name: string
  readonly reuseMs: number
}

export type HeldKind = 'container' | 'queue' | 'table' | 'share'

const BEING_DELETED: Readonly<Record<HeldKind, ErrorCode>> = {
  container: 'ContainerBeingDeleted',
  queue: 'QueueBeingDeleted',
  table: 'TableBeingDeleted',
  share: 'ShareBeingDeleted',
}

type HeldName = { readonly untilMs: number }

/** Names of tables are case-insensitive; the others are in lower case. */
function heldNameKey({ kind, account, name }: ReusedName): Key {
  return encodeKey('held-name', kind, account, name.toLowerCase())
}

/** Runs `take`, which creates something with the name. */
export function* takingName<T>(
  tx: ReadTx,
  name: ReusedName,
  nowMs: number,
  take: Step<T>,
): Step<T> {
  if (yield* isHeld(tx, name, nowMs)) throw beingDeleted(name)
  return yield* take
}

/** Runs `leave`, which deletes what has the name, and holds the name. */
export function* leavingName<T>(tx: Tx, name: ReusedName, nowMs: number, leave: Step<T>): Step<T> {
  const result = yield* leave
  const held: HeldName = { untilMs: nowMs + name.reuseMs }
  if (name.reuseMs > 0) tx.put(heldNameKey(name), encodeRecord(held))
  return result
}

export function* isHeld(tx: ReadTx, name: ReusedName, nowMs: number): Step<boolean> {
  if (name.reuseMs === 0) return false
  const value = yield* tx.get(heldNameKey(name))
  return value !== undefined && nowMs < decodeRecord<HeldName>(value).untilMs
}

export function beingDeleted({ kind }: ReusedName): StorageError {
  return new StorageError(BEING_DELETED[kind])
}

/** Of all accounts, of one, or one name. */
export function heldNamesRange(kind: HeldKind, account?: string, name?: string): KeyRange {
  const names = [account, name?.toLowerCase()].filter((each) => each !== undefined)
  return prefixRange(encodeKey('held-name', kind, ...names))
}

const HELD_NAMES = prefixRange(encodeKey('held-name'))
/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 500

/** Removes the records of names that are free again. */
export async function sweepHeldNames(kv: Kv, nowMs: number): Promise<void> {
  const [first] = await kv.read((tx) => tx.scanKeys({ ...HELD_NAMES, countMax: 1 }))
  let from = first
  while (from !== undefined) {
    const at: Key = from
    from = await kv.write((tx) => removeFree(tx, at, nowMs))
  }
}

/** Returns the key where the next step starts. */
function* removeFree(tx: Tx, from: Key, nowMs: number): Step<Key | undefined> {
  const entries = yield* tx.scan({ from, to: HELD_NAMES.to, countMax: RECORDS_PER_STEP })
  for (const { key, value } of entries) {
    if (decodeRecord<HeldName>(value).untilMs <= nowMs) tx.delete(key)
  }
  const last = entries.at(-1)
  return last === undefined || entries.length < RECORDS_PER_STEP ? undefined : keyAfter(last.key)
}
