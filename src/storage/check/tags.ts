// The index of tags has each tag of each current blob, and no others (blob/list/tag-index.ts).
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { problem, repairBy, type Problem, type Report } from '../../extent/sweep/problem.ts'
import { scanSteps } from '../../extent/scan.ts'
import { blobKey, blobTagKey, containerNameKey, deletedContainerKey } from '../blob/keys.ts'
import type { Tags } from '../shared/tags.ts'

type Tagged = { readonly tags?: Tags }

export async function checkTagIndex(kv: Kv, report: Report): Promise<void> {
  for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey('blob')))) {
    if ((decodeRecord<Tagged>(value).tags ?? []).length === 0) continue
    for (const found of await kv.read((tx) => lookAtBlob(tx, key))) await report(found)
  }
  for await (const { key } of scanSteps(kv, prefixRange(encodeKey('blob-tag')))) {
    const found = await kv.read((tx) => lookAtEntry(tx, key))
    if (found !== undefined) await report(found)
  }
}

function* lookAtBlob(tx: ReadTx, key: Key): Step<readonly Problem[]> {
  const [, id, name] = decodeKey(key)
  const [containerId, blob] = [Number(id), String(name)]
  const container = yield* tx.getFields<{ account: string }>(containerNameKey(containerId))
  const isDeleted = (yield* tx.get(deletedContainerKey(containerId))) !== undefined
  if (container === undefined || isDeleted) return []
  const found: Problem[] = []
  for (const tag of (yield* tx.getFields<Tagged>(key))?.tags ?? []) {
    const entry = blobTagKey(container.account, tag, { containerId, blob })
    if ((yield* tx.get(entry)) !== undefined) continue
    const repair = repairBy('added it', (into) => add(into, entry))
    found.push({ ...problem('indexEntryMissing', key, `its tag ${tag[0]}`), repair })
  }
  return found
}

function* lookAtEntry(tx: ReadTx, key: Key): Step<Problem | undefined> {
  const [, , tagName, tagValue, id, blob] = decodeKey(key)
  if ((yield* tx.get(deletedContainerKey(Number(id)))) !== undefined) return undefined
  const tagged = yield* tx.getFields<Tagged>(blobKey(Number(id), String(blob)))
  if (tagged?.tags?.some(([n, v]) => n === tagName && v === tagValue) === true) return undefined
  const repair = repairBy('removed it', (into) => remove(into, key))
  return { ...problem('indexEntryStale', key, 'the blob does not have this tag'), repair }
}

function* add(tx: Tx, key: Key): Step<void> {
  tx.put(key, encodeRecord({}))
}

function* remove(tx: Tx, key: Key): Step<void> {
  tx.delete(key)
}
