// What is held, as people and programs see it.
import { encodePopReceipt } from '../../storage/queue/pop-receipt.ts'
import type { HeldBlocks } from '../../storage/blob/held/block.ts'
import type { HeldFileLock, HeldFileOpen } from '../../storage/file/held/open.ts'
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  SHARE_DELETE,
  SHARE_READ,
  SHARE_WRITE,
  type FileOpen,
} from '../../storage/file/open/open.ts'
import { sharedAccessOf } from '../../storage/file/open/rest-access.ts'
import type { NamedShare } from '../../storage/file/held/share-name.ts'
import type { HeldMessage } from '../../storage/queue/held.ts'
import type { HeldCopy } from '../../storage/shared/copy/held-copy.ts'
import { timestampOf } from '../../storage/shared/etag.ts'
import { leaseState } from '../../storage/shared/lease.ts'
import type { LeasedObject } from '../../storage/shared/leased.ts'
import type {
  HeldLease,
  HeldLock,
  HeldOpen,
  Holder,
  InvisibleMessage,
  PendingCopy,
  UncommittedBlocks,
} from '../api.ts'

export function resourceAt(account: string, path: readonly string[]): string {
  return `/${[account, ...path].join('/')}`
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

export function leaseView(leased: LeasedObject, holder: Holder, nowMs: number): HeldLease {
  const { kind, account, path, snapshot, lease } = leased
  const suffix = snapshot === undefined ? '' : `?sharesnapshot=${timestampOf(snapshot)}`
  const { endsAtMs } = lease
  return {
    kind,
    resource: resourceAt(account, path) + suffix,
    leaseId: lease.id,
    state: leaseState(lease, nowMs) === 'breaking' ? 'breaking' : 'leased',
    ...(endsAtMs !== undefined && { secondsLeft: (endsAtMs - nowMs) / 1_000 }),
    ...holder,
  }
}

export function messageView(message: HeldMessage, holder: Holder, nowMs: number): InvisibleMessage {
  const { account, queue, id, dequeueCount, insertedMs, visibleAtMs, sequence } = message
  return {
    account,
    queue,
    messageId: id,
    dequeueCount,
    insertedAt: timeOf(insertedMs),
    visibleAt: timeOf(visibleAtMs),
    secondsLeft: (visibleAtMs - nowMs) / 1_000,
    popReceipt: encodePopReceipt({ messageId: id, sequence }),
    ...holder,
  }
}

const ACCESS = [
  ['read', SHARE_READ],
  ['write', SHARE_WRITE],
  ['delete', SHARE_DELETE],
] as const

const CACHES = [
  ['read', CACHE_READ],
  ['write', CACHE_WRITE],
  ['handle', CACHE_HANDLE],
] as const

function namesOf(bits: number, names: readonly (readonly [string, number])[]): readonly string[] {
  return names.filter(([, bit]) => (bits & bit) !== 0).map(([name]) => name)
}

export function openView(
  { share, open, cacheState, isDeletePending }: HeldFileOpen,
  holder: Holder,
  user: string | undefined,
): HeldOpen {
  return {
    ...openHolder(open, holder),
    id: String(open.openId),
    resource: openResource(share, open),
    isDirectory: open.isDirectory,
    user: user ?? share.account,
    address: open.clientIp,
    access: namesOf(sharedAccessOf(open.access), ACCESS),
    shares: namesOf(open.shareAccess, ACCESS),
    caches: namesOf(cacheState, CACHES),
    isPersistent: open.persistent !== undefined,
    isDeletePending,
  }
}

/** The record knows it, even if the journal no longer does. */
function openHolder({ openedMs, clientName, clientIp }: FileOpen, holder: Holder): Holder {
  const client = holder.client ?? clientName
  return {
    ...holder,
    address: clientIp,
    since: timeOf(openedMs),
    ...(client !== undefined && { client }),
  }
}

function openResource({ account, share }: NamedShare, { path, snapshot }: FileOpen): string {
  const suffix = snapshot === undefined ? '' : `?sharesnapshot=${timestampOf(snapshot)}`
  return resourceAt(account, path === '' ? [share] : [share, path]) + suffix
}

/** Locks have no time of their own. */
export function lockView({ share, open, lock }: HeldFileLock, holder: Holder): HeldLock {
  const client = holder.client ?? open.clientName
  return {
    ...holder,
    address: open.clientIp,
    ...(client !== undefined && { client }),
    openId: String(open.openId),
    resource: openResource(share, open),
    offset: lock.offset,
    length: lock.length,
    isExclusive: lock.isExclusive,
  }
}

export function copyView(held: HeldCopy, holder: Holder): PendingCopy {
  const { kind, account, path, pending, copy } = held
  return {
    ...holder,
    since: timeOf(pending.startedMs),
    kind,
    resource: resourceAt(account, path),
    copyId: pending.copyId,
    source: copy.source,
    copiedBytes: pending.copiedBytes,
    totalBytes: pending.totalBytes,
  }
}

export function blocksView(held: HeldBlocks, holder: Holder): UncommittedBlocks {
  const { account, container, blob, staging, expiresMs, bytes } = held
  return {
    ...holder,
    since: timeOf(staging.createdMs),
    resource: resourceAt(account, [container, blob]),
    blockCount: staging.blockCount,
    ...(bytes !== undefined && { bytes }),
    expiresAt: timeOf(expiresMs),
  }
}
