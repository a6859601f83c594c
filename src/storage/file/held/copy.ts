// Copies from other servers to files that are still in progress, for people.
import type { Kv, ReadTx, Step } from '../../../kv/kv.ts'
import type { HeldCopy } from '../../shared/copy/held-copy.ts'
import { FILE_COPIES } from '../copy/pending-copy.ts'
import { fileNodeKey } from '../keys.ts'
import { pathOfNode } from './path.ts'

export function listFileCopies(
  kv: Pick<Kv, 'read'>,
  countMax: number,
): Promise<readonly HeldCopy[]> {
  return kv.read((tx) => fileCopies(tx, countMax))
}

function* fileCopies(tx: ReadTx, countMax: number): Step<readonly HeldCopy[]> {
  const held: HeldCopy[] = []
  for (const { place } of yield* FILE_COPIES.list(tx, undefined, countMax)) {
    const found = yield* FILE_COPIES.find(tx, place)
    if (found === undefined) continue
    const { pending, destination, copy } = found
    const view = { shareId: place.shareId, lastSnapshot: destination.share.lastSnapshot }
    const path = yield* pathOfNode(tx, view, destination.node, pending)
    const { account, share } = pending
    const key = fileNodeKey(place.shareId, place.nodeId)
    held.push({ kind: 'file', key, account, path: [share, ...path], pending, copy })
  }
  return held
}
