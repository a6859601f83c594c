// CREATE on IPC$: opens a pipe by its name.
import { requireSession, requireTree, type SmbCall, type SmbReply } from '../call.ts'
import type { PipeHandle } from '../world.ts'
import { rpcWorldOf } from '../rpc/pipe-world.ts'
import { openPipe } from '../rpc/pipe.ts'
import { SmbError } from '../smb-error.ts'
import { CREATE_ACTION, encodeCreateResponse, type CreateRequest } from '../wire/file/create.ts'

export async function createPipe(call: SmbCall, { name }: CreateRequest): Promise<SmbReply> {
  const session = requireSession(call)
  const pipe = openPipe(name, await rpcWorldOf(call))
  if (pipe === undefined) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  if (!session.isValid) throw new SmbError('USER_SESSION_DELETED')
  const id = BigInt(call.world.newId())
  const fileId = { persistent: id, volatile: id }
  const handle: PipeHandle = { kind: 'pipe', fileId, session, tree: requireTree(call), pipe }
  session.handles.set(id, handle)
  call.world.handles.set(id, handle)
  const body = encodeCreateResponse({
    oplockLevel: 0,
    flags: 0,
    createAction: CREATE_ACTION.opened,
    file: PIPE_FACTS,
    fileId,
    contexts: [],
  })
  return { body: [body], fileId }
}

const PIPE_FACTS = {
  creationTime: 0n,
  lastAccessTime: 0n,
  lastWriteTime: 0n,
  changeTime: 0n,
  allocationSize: 4_096,
  endOfFile: 0,
  fileAttributes: 0x80,
}
