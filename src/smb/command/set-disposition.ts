// SET_INFO of FileDispositionInformation and FileDispositionInformationEx: delete with the last handle, or not.
import { requireOpened } from '../../storage/file/opened-node.ts'
import { setDisposal } from '../../storage/file/smb-disposition.ts'
import { requireDisk, type SmbCall } from '../call.ts'
import type { FileHandle } from '../handle.ts'
import { RIGHT, requireRights } from '../access.ts'
import { BREAK_MS_MAX, retryOnRelease } from '../wait.ts'
import type { FileChange } from '../wire/set-info.ts'

export async function setDisposition(
  call: SmbCall,
  handle: FileHandle,
  change: Extract<FileChange, { kind: 'disposition' }>,
): Promise<void> {
  requireRights(handle, RIGHT.delete)
  const tree = requireDisk(call)
  await retryOnRelease(call, BREAK_MS_MAX, () =>
    call.world.kv.writeLive(function* (tx) {
      return yield* setDisposal(tx, yield* requireOpened(tx, tree, handle.open), change)
    }),
  )
}
