// What a deleted container leaves behind: its blobs, taken away in bounded transactions while others
// write. Nobody can see them meanwhile: their keys begin with an id that no container has any more.
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { decodeBlob, removeBlob } from './blob.ts'
import { blobKeyPrefix, deletedContainerKey } from './keys.ts'

/** Small enough that a write that comes meanwhile waits a few milliseconds only. */
const BLOBS_PER_STEP = 200

export async function sweepDeletedContainers(kv: Kv): Promise<{ readonly blobCount: number }> {
  let blobCount = 0
  for (;;) {
    const [first] = await kv.read((tx) =>
      tx.scan({ ...prefixRange(encodeKey('deleted-container')), countMax: 1 }),
    )
    if (first === undefined) return { blobCount }
    const containerId = Number(decodeKey(first.key)[1])
    let removed: number
    do {
      removed = await kv.write((tx) => removeSomeBlobs(tx, containerId))
      blobCount += removed
    } while (removed > 0)
  }
}

/** The last step, which finds none, takes the mark away. */
function* removeSomeBlobs(tx: Tx, containerId: number): Step<number> {
  const range = prefixRange(blobKeyPrefix(containerId, ''))
  const entries = yield* tx.scan({ ...range, countMax: BLOBS_PER_STEP })
  for (const { key, value } of entries) yield* removeBlob(tx, key, decodeBlob(value))
  if (entries.length === 0) tx.delete(deletedContainerKey(containerId))
  return entries.length
}
