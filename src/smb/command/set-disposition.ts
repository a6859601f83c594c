// SET_INFO of FileDispositionInformation and FileDispositionInformationEx: delete with the last handle, or not.
import type { Step } from '../../kv/kv.ts'
import type { FileTx } from '../../storage/file/open.ts'
import { requireOpened } from '../../storage/file/opened-node.ts'
import { setDisposal, type Disposal } from '../../storage/file/smb-disposition.ts'
import type { MustWait } from '../../storage/file/smb-open.ts'
import { requireDisk, type DiskTree, type SmbCall } from '../call.ts'
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
    call.world.kv.writeLive((tx) => disposeOfOpened(tx, tree, handle, change)),
  )
}

function* disposeOfOpened(
  tx: FileTx,
  tree: DiskTree,
  { open }: FileHandle,
  disposal: Disposal,
): Step<MustWait | { readonly kind: 'set' }> {
  return yield* setDisposal(tx, yield* requireOpened(tx, tree, open), disposal)
}
