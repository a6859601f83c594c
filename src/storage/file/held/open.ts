// What SMB clients hold: opens, byte-range locks, and permissions to cache. All of it is volatile, so only the server to
// which the clients are connected knows it.
import { decodeKey } from '../../../kv/key.ts'
import {
  keyAfter,
  type Key,
  type KeyRange,
  type Kv,
  type ReadTx,
  type Step,
} from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import { ALL_LOCKS, ALL_OPENS, cacheKey } from '../keys.ts'
import { closeOpen } from '../open/close-open.ts'
import {
  getOpen,
  isDeletePending,
  type CacheHolder,
  type FileLock,
  type FileOpen,
  type FileTx,
} from '../open/open.ts'
import type { BoundedCount } from '../../shared/leased.ts'
import { getShare } from '../share/share.ts'
import { shareNames, type NamedShare, type ShareNames } from './share-name.ts'

export type HeldFileOpen = {
  readonly share: NamedShare
  /** Of its record. */
  readonly key: Key
  readonly open: FileOpen
  /** CACHE_READ, CACHE_HANDLE, CACHE_WRITE */
  readonly cacheState: number
  readonly isDeletePending: boolean
}

export type HeldFileLock = {
  readonly share: NamedShare
  readonly key: Key
  readonly open: FileOpen
  readonly lock: FileLock
}

const RECORDS_PER_STEP = 500

export async function listHeldOpens(
  kv: Pick<Kv, 'read'>,
  countMax: number,
): Promise<readonly HeldFileOpen[]> {
  const names = await kv.read((tx) => shareNames(tx))
  return listHeld(kv, ALL_OPENS, countMax, (tx, key) => heldOpen(tx, names, key))
}

export async function listHeldLocks(
  kv: Pick<Kv, 'read'>,
  countMax: number,
): Promise<readonly HeldFileLock[]> {
  const names = await kv.read((tx) => shareNames(tx))
  return listHeld(kv, ALL_LOCKS, countMax, (tx, key) => heldLock(tx, names, key))
}

/** Each page is a transaction of its own, so the list is not of one moment. */
async function listHeld<T>(
  kv: Pick<Kv, 'read'>,
  { from, to }: KeyRange,
  countMax: number,
  load: (tx: ReadTx, key: Key) => Step<T | undefined>,
): Promise<readonly T[]> {
  const held: T[] = []
  let next: Key | undefined = from
  while (next !== undefined && held.length < countMax) {
    const rest: KeyRange = { from: next, to }
    const page: HeldPage<T> = await kv.read((tx) => heldPage(tx, rest, load))
    held.push(...page.held)
    next = page.next
  }
  return held.slice(0, countMax)
}

type HeldPage<T> = { readonly held: readonly T[]; readonly next: Key | undefined }

function* heldPage<T>(
  tx: ReadTx,
  range: KeyRange,
  load: (tx: ReadTx, key: Key) => Step<T | undefined>,
): Step<HeldPage<T>> {
  const keys = yield* tx.scanKeys({ ...range, countMax: RECORDS_PER_STEP })
  const held: T[] = []
  for (const key of keys) {
    const loaded = yield* load(tx, key)
    if (loaded !== undefined) held.push(loaded)
  }
  const last = keys.at(-1)
  const isEnd = last === undefined || keys.length < RECORDS_PER_STEP
  return { held, next: isEnd ? undefined : keyAfter(last) }
}

function* heldOpen(tx: ReadTx, names: ShareNames, key: Key): Step<HeldFileOpen | undefined> {
  const value = yield* tx.get(key)
  if (value === undefined) return undefined
  const open = decodeRecord<FileOpen>(value)
  const { shareId, nodeId, holder } = open
  const share = names.get(shareId)
  if (share === undefined) return undefined
  const cache = holder && (yield* tx.getFields<CacheHolder>(cacheKey(shareId, nodeId, holder)))
  const isPending = yield* isDeletePending(tx, shareId, nodeId)
  const isMarked = open.deleteOnClose === true || (open.snapshot === undefined && isPending)
  const cacheState = typeof cache === 'object' ? cache.state : 0
  return { share, key, open, cacheState, isDeletePending: isMarked }
}

function* heldLock(tx: ReadTx, names: ShareNames, key: Key): Step<HeldFileLock | undefined> {
  const value = yield* tx.get(key)
  const [, , shareId = 0, nodeId = 0, openId = 0] = decodeKey(key).map(Number)
  const open = yield* getOpen(tx, { shareId, nodeId, openId })
  const share = names.get(shareId)
  if (value === undefined || open === undefined || share === undefined) return undefined
  return { share, key, open, lock: decodeRecord<FileLock>(value) }
}

/** Counts the opens, up to `countMax`. */
export async function countOpens(kv: Pick<Kv, 'read'>, countMax: number): Promise<BoundedCount> {
  const keys = await kv.read((tx) => tx.scanKeys({ ...ALL_OPENS, countMax: countMax + 1 }))
  return { count: Math.min(keys.length, countMax), isCut: keys.length > countMax }
}

export type OpenPlace = Pick<FileOpen, 'shareId' | 'nodeId' | 'openId'>

/** Where the open with this id is: the keys of opens begin with the file. */
export async function findOpenPlace(
  kv: Pick<Kv, 'read'>,
  openId: number,
): Promise<OpenPlace | undefined> {
  let next: Key | undefined = ALL_OPENS.from
  while (next !== undefined) {
    const rest: KeyRange = { from: next, to: ALL_OPENS.to }
    const keys = await kv.read((tx) => tx.scanKeys({ ...rest, countMax: RECORDS_PER_STEP }))
    for (const key of keys) {
      const [, , shareId = 0, nodeId = 0, id] = decodeKey(key).map(Number)
      if (id === openId) return { shareId, nodeId, openId }
    }
    const last: Key | undefined = keys.at(-1)
    next = last === undefined || keys.length < RECORDS_PER_STEP ? undefined : keyAfter(last)
  }
  return undefined
}

/** The same as Force Close Handles. False if the open has been closed meanwhile. */
export function* forceClose(
  tx: FileTx,
  place: OpenPlace,
  address: Pick<NamedShare, 'account' | 'share'> | undefined,
  moment: Moment,
): Step<boolean> {
  const open = yield* getOpen(tx, place)
  if (open === undefined) return false
  const share = address && (yield* getShare(tx, address))
  tx.announce({ kind: 'close', open })
  yield* closeOpen(tx, share, open, moment)
  return true
}
