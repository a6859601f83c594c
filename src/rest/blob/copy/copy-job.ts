// What the jobs that copy from elsewhere (rest/shared/copy/copy-jobs.ts) need to know of blobs.
import type { ReadTx } from '../../../kv/kv.ts'
import {
  addCopied,
  dropLostCopy,
  endCopy,
  findCopy,
  listCopies,
  restartCopy,
  type CopyPlace,
} from '../../../storage/blob/copy/pending-copy.ts'
import type { CopyBook, CopyService } from '../../shared/copy/copy-jobs.ts'
import { cipherOf } from '../cipher.ts'

export function blobCopies({
  kv,
  newId,
  moment,
}: Pick<CopyService, 'kv' | 'newId' | 'moment'>): CopyBook<CopyPlace> {
  return {
    nameOf: ({ containerId, blob }) => `${containerId}/${blob}`,
    list: (after, countMax) => kv.read((tx) => listCopies(tx, after, countMax)),
    async find(place) {
      const found = await kv.read((tx) => findWithCipher(tx, place))
      if (found === undefined) await kv.write((tx) => dropLostCopy(tx, place))
      return found
    },
    restart: (place) => {
      const id = newId()
      return kv.write((tx) => restartCopy(tx, place, id))
    },
    add: (place, before, part) => kv.write((tx) => addCopied(tx, place, before, part)),
    end: (place, copyId, outcome) => {
      const now = moment()
      return kv.write((tx) => endCopy(tx, place, copyId, outcome, now))
    },
  }
}

function* findWithCipher(tx: ReadTx, place: CopyPlace) {
  const copy = yield* findCopy(tx, place)
  if (copy === undefined) return undefined
  const { pending, stored } = copy
  const cipher = yield* cipherOf(tx, pending.account, stored.blob.encryption, undefined)
  return { pending, cipher }
}
