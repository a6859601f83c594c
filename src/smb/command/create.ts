// CREATE ([MS-SMB2] 3.3.5.9): opens a file in one transaction, which runs again after waiting for other clients.
import { openFile, type Opened, type OpenRequest } from '../../storage/file/open/smb-open.ts'
import { allocatedBytesOf, setAllocation } from '../handle/allocation.ts'
import { appInstanceOf, closeOtherInstances } from '../create/app-instance.ts'
import { requireDisk, requireSession, requireTree, type SmbCall, type SmbReply } from '../call.ts'
import { newChannelState } from '../handle/channel-sequence.ts'
import { closeHandle } from '../handle/close.ts'
import { leaseContexts, oplockLevelOf } from '../create/create-cache.ts'
import { contextsOf } from '../create/create-context-reply.ts'
import { createPipe } from '../create/create-pipe.ts'
import { createOnce } from '../create/create-replay.ts'
import { modeOf, openRequestOf } from '../create/create-request.ts'
import { durableContexts, grantDurable } from '../handle/durable.ts'
import { checkDurableContexts, reconnect, type Reopened } from '../create/durable-reconnect.ts'
import { fileFactsOf } from '../handle/file-facts.ts'
import type { FileHandle } from '../world.ts'
import { HANDLES_MAX } from '../limits.ts'
import { SmbError } from '../smb-error.ts'
import { BREAK_MS_MAX, retryOnRelease } from '../connection/wait.ts'
import {
  CREATE_ACTION,
  decodeCreateRequest,
  encodeCreateResponse,
  type CreateRequest,
} from '../wire/file/create.ts'
import type { ResponseContext } from '../wire/file/create-context.ts'

export async function runCreate(call: SmbCall): Promise<SmbReply> {
  const request = decodeCreateRequest(call.message)
  if (requireSession(call).handles.size >= HANDLES_MAX) throw new SmbError('INSUFFICIENT_RESOURCES')
  if (requireTree(call).kind === 'pipe') return createPipe(call, request)
  checkDurableContexts(request.contexts)
  const reopened = await reconnect(call, request)
  if (reopened !== undefined) {
    return replyOf(request, reopened, oplockLevelOf(reopened.opened.cache), [])
  }
  const created = await createOnce(call, request, () => createNew(call, request))
  const { handle, opened, isReplay } = created
  // A replay gets the level that it asks for.
  const level = isReplay ? request.oplockLevel : oplockLevelOf(opened.cache)
  return replyOf(request, created, level, durableContexts(handle, request, isReplay))
}

async function createNew(call: SmbCall, request: CreateRequest): Promise<Reopened> {
  await closeOtherInstances(call, request)
  const { contexts } = request
  const isReplayable = contexts.durableRequestV2 !== undefined
  const opened = await open(call, openRequestOf(call, request), isReplayable)
  const handle = newHandle(call, opened, request)
  const { cache } = opened
  grantDurable(handle, requireSession(call), requireDisk(call), { contexts, cache })
  await addHandle(call, handle)
  return { handle, opened }
}

function replyOf(
  { contexts }: CreateRequest,
  { handle, opened }: Reopened,
  oplockLevel: number,
  durable: readonly ResponseContext[],
): SmbReply {
  return {
    fileId: handle.fileId,
    body: [
      encodeCreateResponse({
        oplockLevel,
        flags: 0,
        createAction: CREATE_ACTION[opened.action],
        file: fileFactsOf(opened.node, allocatedBytesOf(handle)),
        fileId: handle.fileId,
        contexts: [
          ...leaseContexts(opened.cache, contexts),
          ...durable,
          ...contextsOf(contexts, opened),
        ],
      }),
    ],
  }
}

async function open(call: SmbCall, request: OpenRequest, isReplayable: boolean): Promise<Opened> {
  const { kv, moment } = call.world
  const attempt = (hasWaited: boolean) => {
    const now = moment()
    return kv.write((tx) => openFile(tx, { ...request, hasWaited }, now))
  }
  return retryOnRelease<Opened>(call, BREAK_MS_MAX, attempt, isReplayable)
}

function newHandle(
  call: SmbCall,
  { open: record, action }: Opened,
  request: CreateRequest,
): FileHandle {
  const { options, contexts } = request
  const session = requireSession(call)
  const tree = requireDisk(call)
  const id = BigInt(record.openId)
  const handle: FileHandle = {
    kind: 'file',
    fileId: { persistent: id, volatile: id },
    session,
    tree,
    open: record,
    position: 0,
    mode: modeOf(options),
    lockSequences: new Map(),
    commandState: new Map(),
    onClose: new Set(),
    channels: newChannelState(call.header),
  }
  const appInstance = appInstanceOf(request)
  if (appInstance !== undefined) {
    const clientGuid = session.clientGuid.toString('hex')
    handle.appInstance = { id: appInstance, account: tree.account, sid: tree.sid, clientGuid }
  }
  // An existing file already has its space.
  if (action !== 'opened') setAllocation(handle, Number(contexts.allocationSize ?? 0n))
  return handle
}

/** If the client has disconnected while the file was opened, nothing else would close the handle. */
async function addHandle(call: SmbCall, handle: FileHandle): Promise<void> {
  const session = requireSession(call)
  const tree = requireTree(call)
  if (!session.isValid || session.trees.get(tree.id) !== tree) {
    await closeHandle(call.world, handle)
    throw new SmbError(session.isValid ? 'NETWORK_NAME_DELETED' : 'USER_SESSION_DELETED')
  }
  session.handles.set(handle.fileId.volatile, handle)
  call.world.handles.set(handle.fileId.volatile, handle)
}
