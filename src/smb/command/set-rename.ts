// SET_INFO of FileRenameInformation and FileRenameInformationEx.
import type { Step } from '../../kv/kv.ts'
import type { FileTx } from '../../storage/file/open.ts'
import { requireOpened } from '../../storage/file/opened-node.ts'
import { keptTimes } from '../../storage/file/set-basic.ts'
import type { MustWait } from '../../storage/file/smb-open.ts'
import { renameOpened, type OpenedRename } from '../../storage/file/smb-rename.ts'
import type { Moment } from '../../storage/moment.ts'
import { RIGHT, requireRights } from '../access.ts'
import { requireDisk, requireSession, type DiskTree, type SmbCall } from '../call.ts'
import { decodeFilePath } from '../file-path.ts'
import { frozenTimesOf } from '../frozen-times.ts'
import type { FileHandle } from '../handle.ts'
import { SmbError } from '../smb-error.ts'
import { BREAK_MS_MAX, retryOnRelease } from '../wait.ts'
import type { Rename } from '../wire/set-info.ts'

export async function setRename(
  call: SmbCall,
  handle: FileHandle,
  { name, replaceIfExists, posixSemantics }: Rename,
): Promise<void> {
  requireRights(handle, RIGHT.delete)
  // From the root on in any case; some clients say so.
  const { path, snapshotMs } = decodeFilePath(name.replace(/^\\/, ''))
  if (snapshotMs !== undefined) throw new SmbError('MEDIA_WRITE_PROTECTED')
  const tree = requireDisk(call)
  const { identity } = requireSession(call)
  const how = { path, replaceIfExists, posixSemantics, ...(identity && { identity }) }
  const { kv, moment } = call.world
  await retryOnRelease(call, BREAK_MS_MAX, () => {
    const now = moment()
    return kv.write((tx) => rename(tx, tree, handle, how, now))
  })
}

function* rename(
  tx: FileTx,
  tree: DiskTree,
  handle: FileHandle,
  how: Omit<OpenedRename, 'properties'>,
  moment: Moment,
): Step<MustWait | { readonly kind: 'renamed' }> {
  const opened = yield* requireOpened(tx, tree, handle.open)
  const properties = keptTimes(opened.node, frozenTimesOf(handle))
  return yield* renameOpened(tx, opened, { ...how, properties }, moment)
}
