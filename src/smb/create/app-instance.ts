// AppInstanceId ([MS-SMB2] 3.3.5.9.13): when an application has moved to another cluster node and opens its files
// again, its opens from the old node are closed.
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
import { closeHandle } from '../handle/close.ts'
import type { CreateRequest } from '../wire/file/create.ts'

/** undefined: the CREATE has no AppInstanceId. It counts only together with a DH2Q context. */
export function appInstanceOf({ contexts }: CreateRequest): string | undefined {
  if (contexts.durableRequestV2 === undefined) return undefined
  return contexts.appInstanceId?.toString('hex')
}

/** Must run before the CREATE itself. */
export async function closeOtherInstances(call: SmbCall, request: CreateRequest): Promise<void> {
  const id = appInstanceOf(request)
  if (id === undefined) return
  const { account, sid, shareId } = requireDisk(call)
  const clientGuid = requireSession(call).clientGuid.toString('hex')
  for (const handle of call.world.handles.values()) {
    if (handle.kind !== 'file' || handle.appInstance?.id !== id) continue
    if (handle.open.shareId !== shareId || handle.appInstance.account !== account) continue
    if (handle.appInstance.sid !== sid) continue
    if (handle.appInstance.clientGuid !== clientGuid) await closeHandle(call.world, handle)
  }
}
