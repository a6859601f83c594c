// SET_INFO of FileDispositionInformation and FileDispositionInformationEx: delete with the last handle, or not.
import { requireDisk, type SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { RIGHT, requireRights } from '../handle/access.ts'
import { BREAK_MS_MAX, retryOnRelease } from '../connection/wait.ts'
import type { FileChange } from '../wire/information/set-info.ts'
import { disposeOfOpened } from '../../storage/file/open/smb-disposition.ts'

export async function setDisposition(
  call: SmbCall,
  handle: FileHandle,
  change: Extract<FileChange, { kind: 'disposition' }>,
): Promise<void> {
  requireRights(handle, RIGHT.delete)
  const tree = requireDisk(call)
  await retryOnRelease(call, BREAK_MS_MAX, () =>
    call.world.kv.write((tx) => disposeOfOpened(tx, tree, handle.open, change)),
  )
}
