// The records of pending copies of blobs, for the jobs that read from other servers (rest/shared/copy/copy-jobs.ts).
import type { ReadTx } from '../../../kv/kv.ts'
import { BLOB_COPIES, endCopy, type CopyPlace } from '../../../storage/blob/copy/pending-copy.ts'
import type { CopyBook, CopyService } from '../../shared/copy/copy-jobs.ts'
import { cipherOf } from '../cipher.ts'

export function blobCopies({
  kv,
  newId,
  moment,
}: Pick<CopyService, 'kv' | 'newId' | 'moment'>): CopyBook<CopyPlace> {
  return {
    nameOf: ({ containerId, blob }) => `${containerId}/${blob}`,
    list: (after, countMax) => kv.read((tx) => BLOB_COPIES.list(tx, after, countMax)),
    async find(place) {
      const found = await kv.read((tx) => findWithCipher(tx, place))
      if (found === undefined) await kv.write((tx) => BLOB_COPIES.dropLost(tx, place))
      return found
    },
    restart: (place) => {
      const id = newId()
      return kv.write((tx) => BLOB_COPIES.restart(tx, place, id))
    },
    add: (place, before, part) => kv.write((tx) => BLOB_COPIES.add(tx, place, before, part)),
    end: (place, copyId, outcome) => {
      const now = moment()
      return kv.write((tx) => endCopy(tx, place, copyId, outcome, now))
    },
  }
}

function* findWithCipher(tx: ReadTx, place: CopyPlace) {
  const copy = yield* BLOB_COPIES.find(tx, place)
  if (copy === undefined) return undefined
  const { pending, destination } = copy
  const cipher = yield* cipherOf(tx, pending.account, destination.blob.encryption, undefined)
  return { pending, cipher }
}
