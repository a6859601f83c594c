// Finds the files that maps belong to, by account, share and path, for fsck: its records say where bytes are damaged,
// but not in which file. Scans all files in bounded steps, only if there is a map to look for.
import { scanSteps } from '../../../extent/scan.ts'
import { decodeKey } from '../../../kv/key.ts'
import type { Kv } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { timestampOf } from '../../shared/etag.ts'
import { ALL_PAST_SHARES, ALL_SHARES, entriesRange, nodesRange, pastNodesRange } from '../keys.ts'
import { getNode, ROOT_ID, type FileEntry, type FileNode } from '../tree/node.ts'
import type { Share } from '../share/share.ts'

/** From map id to file name; maps without a file are left out. */
export async function findMapOwners(
  kv: Kv,
  mapIds: ReadonlySet<number>,
): Promise<ReadonlyMap<number, string>> {
  const owners = new Map<number, string>()
  if (mapIds.size === 0) return owners
  for (const range of [ALL_SHARES, ALL_PAST_SHARES]) {
    for await (const { key, value } of scanSteps(kv, range)) {
      const [, account, name] = decodeKey(key)
      const share = { place: `${account}/${name}`, shareId: decodeRecord<Share>(value).id }
      await findInShare(kv, share, mapIds, owners)
    }
  }
  return owners
}

type SharePlace = { readonly place: string; readonly shareId: number }

async function findInShare(
  kv: Kv,
  { place, shareId }: SharePlace,
  mapIds: ReadonlySet<number>,
  owners: Map<number, string>,
): Promise<void> {
  const check = async (node: FileNode, suffix: string): Promise<void> => {
    if (node.map === undefined || !mapIds.has(node.map) || owners.has(node.map)) return
    owners.set(node.map, `${place}/${await pathOf(kv, shareId, node)}${suffix}`)
  }
  for await (const { value } of scanSteps(kv, nodesRange(shareId))) {
    await check(decodeRecord<FileNode>(value), '')
  }
  for await (const { key, value } of scanSteps(kv, pastNodesRange(shareId))) {
    const snapshot = timestampOf(Number(decodeKey(key)[3]))
    await check(decodeRecord<FileNode>(value), ` in the share's snapshot ${snapshot}`)
  }
}

/** Relative to the share's root; a node without a name is shown by its id. */
async function pathOf(kv: Kv, shareId: number, node: FileNode): Promise<string> {
  const name = (await nameOf(kv, shareId, node)) ?? `(file ${node.nodeId})`
  if (node.parentId === ROOT_ID) return name
  const view = { shareId, lastSnapshot: 0 }
  const parent = await kv.read((tx) => getNode(tx, view, node.parentId))
  return parent === undefined ? name : `${await pathOf(kv, shareId, parent)}/${name}`
}

async function nameOf(
  kv: Kv,
  shareId: number,
  { parentId, nodeId }: FileNode,
): Promise<string | undefined> {
  for await (const { value } of scanSteps(kv, entriesRange(shareId, parentId))) {
    const entry = decodeRecord<FileEntry>(value)
    if (entry.nodeId === nodeId) return entry.name
  }
  return undefined
}
