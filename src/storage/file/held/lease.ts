// The leases that are active on shares, their snapshots and files, and their end by an operator.
import { decodeKey } from '../../../kv/key.ts'
import type { Key, Kv, ReadTx, Step } from '../../../kv/kv.ts'
import { endLease, type Lease } from '../../shared/lease.ts'
import {
  leasedRange,
  listLeased,
  sweepLeased,
  type ActiveLease,
  type FindLeased,
  type LeasedObject,
} from '../../shared/leased.ts'
import type { FileTx } from '../open/open.ts'
import { saveShareLease } from '../share/share-change.ts'
import { getShare, getShareSnapshot, type Share, type ShareAddress } from '../share/share.ts'
import { saveFileLease, type FileHint } from '../tree/file-lease.ts'
import { findIn, type FileAddress, type FileNode } from '../tree/node.ts'
import { pathOfNode } from './path.ts'
import { shareNames, type ShareNames } from './share-name.ts'

type HeldOptions = { readonly countMax: number; readonly nowMs: number }

export async function listFileLeases(
  kv: Pick<Kv, 'read'>,
  { countMax, nowMs }: HeldOptions,
): Promise<readonly LeasedObject[]> {
  const names = await kv.read((tx) => shareNames(tx))
  const finds: Readonly<Record<string, FindLeased>> = {
    share: findShare,
    'share-snapshot': (tx, object) => findSnapshot(tx, names, object),
    'file-node': (tx, object, entry) => findFile(tx, names, object, entry),
  }
  const listed: LeasedObject[] = []
  for (const [kind, find] of Object.entries(finds)) {
    const options = { nowMs, countMax: countMax - listed.length }
    listed.push(...(await listLeased(kv, leasedRange(kind), find, options)))
  }
  return listed
}

function* findShare(tx: ReadTx, object: Key) {
  const [, account, share] = decodeKey(object).map(String)
  if (account === undefined || share === undefined) return undefined
  const found = yield* getShare(tx, { account, share })
  return found && { kind: 'share' as const, account, path: [share], lease: found.lease }
}

function* findSnapshot(tx: ReadTx, names: ShareNames, object: Key) {
  const [, shareId, snapshot] = decodeKey(object).map(Number)
  const name = names.get(shareId ?? 0)
  if (name === undefined || snapshot === undefined) return undefined
  const lease = yield* recordLease(tx, object)
  return { kind: 'share' as const, account: name.account, path: [name.share], snapshot, lease }
}

function* findFile(tx: ReadTx, names: ShareNames, object: Key, entry: Lease & Partial<FileHint>) {
  const [, shareId] = decodeKey(object).map(Number)
  const name = names.get(shareId ?? 0)
  const node = yield* tx.getFields<FileNode>(object)
  if (name === undefined || node === undefined) return undefined
  const path = yield* pathOfNode(tx, name, node, entry)
  const { account, share } = name
  return { kind: 'file' as const, account, path: [share, ...path], lease: node.lease }
}

function* recordLease(tx: ReadTx, object: Key): Step<Lease | undefined> {
  return (yield* tx.getFields<Pick<Share, 'lease'>>(object))?.lease
}

/** Files of a deleted share keep their entries, since the share may be restored. */
export async function sweepFileLeases(kv: Kv, nowMs: number): Promise<number> {
  let count = 0
  for (const kind of ['share', 'share-snapshot', 'file-node']) {
    count += await sweepLeased(kv, kind, recordLease, nowMs)
  }
  return count
}

/** Undefined if there is no active lease. */
export function* activeShareLease(
  tx: ReadTx,
  address: ShareAddress,
  nowMs: number,
): Step<ActiveLease<FileTx> | undefined> {
  const share = yield* getShare(tx, address)
  if (share === undefined) return undefined
  const { snapshot } = address
  const current = snapshot === undefined ? share : yield* getShareSnapshot(tx, share.id, snapshot)
  const lease = endLease(current?.lease, nowMs)
  if (current === undefined || lease === undefined) return undefined
  return { end: (into) => saveShareLease(into, address, current, lease) }
}

/** Even while SMB clients have the file open. Undefined if there is no active lease. */
export function* activeFileLease(
  tx: ReadTx,
  address: Omit<FileAddress, 'snapshot'>,
  nowMs: number,
): Step<ActiveLease<FileTx> | undefined> {
  const share = yield* getShare(tx, address)
  if (share === undefined) return undefined
  const view = { shareId: share.id, lastSnapshot: share.lastSnapshot }
  const located = yield* findIn(tx, share, view, address.path)
  const node = located?.node
  const lease = endLease(node?.lease, nowMs)
  if (located === undefined || node === undefined || lease === undefined) return undefined
  return { end: (into) => void saveFileLease(into, { ...located, node }, lease) }
}
