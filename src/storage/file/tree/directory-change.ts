// Adds and removes the entries of a directory. Both update the directory's last write time and change time, as NTFS
// does, but not its ETag and Last-Modified ("Operations on files within the directory do not affect the last modified
// time of the directory").
import type { Step } from '../../../kv/kv.ts'
import type { Moment } from '../../../node/moment.ts'
import { fileTimeOf } from './file-time.ts'
import { deleteEntry, getNode, saveEntry, saveNode, type FileEntry } from './node.ts'
import type { FileTx } from '../open/open.ts'
import type { ShareView } from '../share/snapshot-view.ts'

type Directory = { readonly view: ShareView; readonly directoryId: number }

/** The name must be free. */
export function* addEntry(
  tx: FileTx,
  directory: Directory,
  entry: Omit<FileEntry, 'since'>,
  moment: Moment,
): Step<void> {
  saveEntry(tx, directory.view, directory.directoryId, undefined, entry)
  yield* updateTimes(tx, directory, moment)
}

export function* removeEntry(
  tx: FileTx,
  directory: Directory,
  entry: FileEntry,
  moment: Moment,
): Step<void> {
  deleteEntry(tx, directory.view, directory.directoryId, entry)
  yield* updateTimes(tx, directory, moment)
}

/** At most once per millisecond, so that creating many files does not rewrite the directory for each. */
function* updateTimes(tx: FileTx, { view, directoryId }: Directory, { nowMs }: Moment): Step<void> {
  const node = yield* getNode(tx, view, directoryId)
  const now = fileTimeOf(nowMs)
  if (node === undefined || (node.lastWriteTime === now && node.changeTime === now)) return
  saveNode(tx, view, node, { ...node, lastWriteTime: now, changeTime: now })
}
