// The records of pending copies of files, for the jobs that read from other servers (rest/shared/copy/copy-jobs.ts).
import {
  endFileCopy,
  FILE_COPIES,
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
    list: (after, countMax) => kv.read((tx) => FILE_COPIES.list(tx, after, countMax)),
    async find(place) {
      const found = await kv.read((tx) => FILE_COPIES.find(tx, place))
      if (found === undefined) await kv.write((tx) => FILE_COPIES.dropLost(tx, place))
      return found && { pending: found.pending, cipher: undefined }
    },
    restart: (place) => {
      const id = newId()
      return kv.write((tx) => FILE_COPIES.restart(tx, place, id))
    },
    add: (place, before, part) => kv.write((tx) => FILE_COPIES.add(tx, place, before, part)),
    end: (place, copyId, outcome) => {
      const now = moment()
      return kv.write((tx) => endFileCopy(tx, place, copyId, outcome, now))
    },
  }
}
