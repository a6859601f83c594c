// The names of shares by their ids: the keys of everything in a share contain only its id. There are few shares, so a walk
// over all of them is cheaper than an index.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { ALL_SHARES } from '../keys.ts'
import type { Share } from '../share/share.ts'
import type { ShareView } from '../share/snapshot-view.ts'

export type NamedShare = ShareView & { readonly account: string; readonly share: string }

export type ShareNames = ReadonlyMap<number, NamedShare>

const COUNT = 1_000

export function* shareNames(tx: ReadTx): Step<ShareNames> {
  const names = new Map<number, NamedShare>()
  for (const { key, value } of yield* scanAll(tx, ALL_SHARES, COUNT)) {
    const [, account, share] = decodeKey(key).map(String)
    const { id: shareId, lastSnapshot } = decodeRecord<Share>(value)
    if (account === undefined || share === undefined) continue
    names.set(shareId, { account, share, shareId, lastSnapshot })
  }
  return names
}
