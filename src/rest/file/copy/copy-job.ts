// Copies that go on when their request has been answered: what their jobs (rest/shared/copy/copy-jobs.ts) need to know of
// files.
import {
  addFileCopied,
  dropLostFileCopy,
  endFileCopy,
  findFileCopy,
  listFileCopies,
  restartFileCopy,
  type FileCopyPlace,
} from '../../../storage/file/copy/pending-copy.ts'
import type { CopyBook } from '../../shared/copy/copy-jobs.ts'
import type { FileService } from '../service.ts'

export function fileCopies({
  kv,
  newId,
  moment,
}: Pick<FileService, 'kv' | 'newId' | 'moment'>): CopyBook<FileCopyPlace> {
  return {
    nameOf: ({ shareId, nodeId }) => `${shareId}/${nodeId}`,
    list: (after, countMax) => kv.read((tx) => listFileCopies(tx, after, countMax)),
    async find(place) {
      const found = await kv.read((tx) => findFileCopy(tx, place))
      if (found === undefined) await kv.write((tx) => dropLostFileCopy(tx, place))
      return found && { pending: found.pending, cipher: undefined }
    },
    restart: (place) => {
      const id = newId()
      return kv.write((tx) => restartFileCopy(tx, place, id))
    },
    add: (place, before, part) => kv.write((tx) => addFileCopied(tx, place, before, part)),
    end: (place, copyId, outcome) => {
      const now = moment()
      return kv.write((tx) => endFileCopy(tx, place, copyId, outcome, now))
    },
  }
}
