// Copies from other servers to blobs that are still in progress, for people.
import type { Kv, ReadTx, Step } from '../../../kv/kv.ts'
import type { HeldCopy } from '../../shared/copy/held-copy.ts'
import { nameOfBlob } from '../path/path-of.ts'
import { BLOB_COPIES } from '../copy/pending-copy.ts'
import { blobKey } from '../keys.ts'

export function listBlobCopies(
  kv: Pick<Kv, 'read'>,
  countMax: number,
): Promise<readonly HeldCopy[]> {
  return kv.read((tx) => blobCopies(tx, countMax))
}

function* blobCopies(tx: ReadTx, countMax: number): Step<readonly HeldCopy[]> {
  const held: HeldCopy[] = []
  for (const { place } of yield* BLOB_COPIES.list(tx, undefined, countMax)) {
    const found = yield* BLOB_COPIES.find(tx, place)
    const name = yield* nameOfBlob(tx, place.containerId, place.blob)
    if (found === undefined || name === undefined) continue
    const { account, container, blob } = name
    const key = blobKey(place.containerId, place.blob)
    const { pending, copy } = found
    held.push({ kind: 'blob', key, account, path: [container, blob], pending, copy })
  }
  return held
}
