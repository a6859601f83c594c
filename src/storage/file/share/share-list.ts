// List Shares: the shares of an account by name, optionally with soft-deleted shares and the snapshots of both. Deleted
// shares come before the current share of the same name. A share's snapshots, oldest first, come before the share.
import type { Key, ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { SKIP_MAX } from '../../shared/cursor.ts'
import { nameOf, openNames, type NamePosition, type NameSource } from '../../shared/name-list.ts'
import { pastShareKey, pastShareKeyPrefix, shareKey, shareKeyPrefix } from '../keys.ts'
import { shareSnapshots, type DeletedShare, type Share, type ShareSnapshot } from './share.ts'

export type ShareItem = {
  readonly name: string
  readonly share: Share | ShareSnapshot
  readonly deleted?: DeletedShare['deleted']
}

/** A page starts after this share, deleted share of that name, or snapshot of either. */
export type SharePosition = NamePosition

type SharePage = {
  readonly items: readonly ShareItem[]
  readonly next: SharePosition | undefined
}

type ListShares = {
  readonly prefix: string
  readonly after: SharePosition | undefined
  readonly countMax: number
  readonly isDeletedIncluded: boolean
  readonly isSnapshotsIncluded: boolean
}

type Found = ShareItem & { readonly share: Share }

export function* listShares(
  tx: ReadTx,
  account: string,
  list: ListShares,
  nowMs: number,
): Step<SharePage> {
  const walk = openNames(tx, account, list, SHARES)
  const items: ShareItem[] = []
  let next = list.after
  let skipped = 0
  for (;;) {
    const found = yield* walk()
    if (found === undefined) return { items, next: undefined }
    const isExpired = found.deleted !== undefined && found.deleted.untilMs <= nowMs
    const listed = isExpired ? [] : yield* itemsOf(tx, found, list)
    for (const item of listed) {
      if (items.length === list.countMax) return { items, next }
      items.push(item)
      next = positionOf(item)
    }
    if (!isExpired) continue
    next = positionOf(found)
    skipped += 1
    if (skipped > SKIP_MAX) return { items, next }
  }
}

/** The share, preceded by its snapshots that were not on the previous page. */
function* itemsOf(
  tx: ReadTx,
  found: Found,
  { isSnapshotsIncluded, after }: ListShares,
): Step<readonly ShareItem[]> {
  if (!isSnapshotsIncluded || found.share.snapshotCount === 0) return [found]
  const { name, deleted } = found
  const isResumed = after?.name === name && after.deletedId === positionOf(found).deletedId
  const from = isResumed ? (after.snapshot ?? 0) : 0
  const snapshots = yield* shareSnapshots(tx, found.share.id)
  const listed = snapshots.filter(({ snapshot }) => snapshot > from)
  return [...listed.map((share) => ({ name, share, ...(deleted && { deleted }) })), found]
}

const SHARES: NameSource<Found> = {
  prefix: shareKeyPrefix,
  key: shareKey,
  pastPrefix: pastShareKeyPrefix,
  pastKey: pastShareKey,
  pick: pickShare,
  pickDeleted,
}

function pickShare(key: Key, value: StoredRecord): Found {
  return { name: nameOf(key), share: decodeRecord<Share>(value) }
}

function pickDeleted(key: Key, value: StoredRecord): Found {
  const { deleted, ...share } = decodeRecord<DeletedShare>(value)
  return { name: nameOf(key), share, deleted }
}

function positionOf({ name, share, deleted }: ShareItem): SharePosition {
  return {
    name,
    ...(deleted && { deletedId: share.id }),
    ...('snapshot' in share && { snapshot: share.snapshot }),
  }
}
