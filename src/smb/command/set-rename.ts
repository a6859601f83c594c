// SET_INFO of FileRenameInformation and FileRenameInformationEx.
import { requireOpened } from '../../storage/file/opened-node.ts'
import { keptTimes } from '../../storage/file/set-basic.ts'
import { renameOpened } from '../../storage/file/smb-rename.ts'
import { RIGHT, requireRights } from '../access.ts'
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
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
  const { kv, moment } = call.world
  await retryOnRelease(call, BREAK_MS_MAX, () => {
    const now = moment()
    return kv.write(function* (tx) {
      const opened = yield* requireOpened(tx, tree, handle.open)
      const properties = keptTimes(opened.node, frozenTimesOf(handle))
      return yield* renameOpened(
        tx,
        opened,
        { path, replaceIfExists, posixSemantics, properties, ...(identity && { identity }) },
        now,
      )
    })
  })
}
