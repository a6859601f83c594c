// SET_INFO of FileRenameInformation and FileRenameInformationEx.
import { RIGHT, requireRights } from '../handle/access.ts'
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { decodeFilePath } from '../handle/file-path.ts'
import { SmbError } from '../smb-error.ts'
import { BREAK_MS_MAX, retryOnRelease } from '../connection/wait.ts'
import type { FileRenameInformation } from '../wire/information/set-info.ts'
import { renameOpened } from '../../storage/file/open/smb-rename.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'

export async function setRename(
  call: SmbCall,
  handle: FileHandle,
  { name, replaceIfExists, posixSemantics }: FileRenameInformation,
): Promise<void> {
  requireRights(handle, RIGHT.delete)
  // The path always starts at the root; some clients write it with a leading backslash.
  const { path, snapshotMs } = decodeFilePath(name.replace(/^\\/, ''))
  if (snapshotMs !== undefined) throw new SmbError('MEDIA_WRITE_PROTECTED')
  const tree = requireDisk(call)
  const { identity } = requireSession(call)
  const how = { path, replaceIfExists, posixSemantics, ...(identity && { identity }) }
  const { kv, moment } = call.world
  await retryOnRelease(call, BREAK_MS_MAX, () => {
    const now = moment()
    const frozen = frozenTimesOf(handle)
    return kv.write((tx) => renameOpened(tx, tree, handle.open, { ...how, frozen }, now))
  })
}
