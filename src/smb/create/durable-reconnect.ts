// Reconnects a durable handle ([MS-SMB2] 3.3.5.9.7, 3.3.5.9.12), or replays a CREATE whose response was lost
// (3.3.5.9.10): both answer with an existing open.
import type { Opened } from '../../storage/file/open/smb-open.ts'
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
import { closeHandle, disconnectHandle } from '../handle/close.ts'
import { leaseHolder } from './create-cache.ts'
import { decodeFilePath } from '../handle/file-path.ts'
import type { FileHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import type { CreateRequest } from '../wire/file/create.ts'
import type { CreateContexts } from '../wire/file/create-context.ts'
import { changeOpen, nodeAndCache } from '../../storage/file/open/reconnect-open.ts'

/** The contexts that may accompany a reconnect context. */
const BESIDE_V1: ReadonlySet<string> = new Set(['DHnC', 'DHnQ', 'RqLs'])
const BESIDE_V2: ReadonlySet<string> = new Set(['DH2C', 'RqLs'])

/** The CreateGuid with which a version 2 context reconnects a version 1 handle. */
const NO_GUID = '0'.repeat(32)

export function checkDurableContexts({ tags, ...contexts }: CreateContexts): void {
  const [requestV1, reconnectV1] = [
    contexts.durableRequest,
    contexts.durableReconnect !== undefined,
  ]
  const requestV2 = contexts.durableRequestV2 !== undefined
  const reconnectV2 = contexts.durableReconnectV2 !== undefined
  const isMixed = (requestV1 || reconnectV1) && (requestV2 || reconnectV2)
  if (isMixed || (requestV2 && reconnectV2)) throw new SmbError('INVALID_PARAMETER')
  const allowed = reconnectV1 ? BESIDE_V1 : reconnectV2 ? BESIDE_V2 : undefined
  if (allowed !== undefined && !tags.every((tag) => allowed.has(tag))) {
    throw new SmbError('OBJECT_NAME_NOT_FOUND')
  }
}

export type Reopened = { readonly handle: FileHandle; readonly opened: Opened }

/** undefined: the request is not a reconnect. */
export async function reconnect(
  call: SmbCall,
  request: CreateRequest,
): Promise<Reopened | undefined> {
  const { durableReconnect, durableReconnectV2 } = request.contexts
  const fileId = durableReconnect ?? durableReconnectV2?.fileId
  if (fileId === undefined) return undefined
  const handle = findDetached(call, fileId.persistent)
  const createGuid = durableReconnectV2?.createGuid.toString('hex')
  if (createGuid !== undefined && (handle.durable?.createGuid ?? NO_GUID) !== createGuid) {
    throw new SmbError('OBJECT_NAME_NOT_FOUND')
  }
  return attach(call, request, handle, 'opened')
}

function findDetached({ world }: SmbCall, id: bigint): FileHandle {
  const handle = world.handles.get(id)
  const isWaiting = handle?.kind === 'file' && handle.durable !== undefined && !handle.session
  if (!isWaiting) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  return handle
}

/** Assigns the handle to this session. */
export async function attach(
  call: SmbCall,
  request: CreateRequest,
  handle: FileHandle,
  action: Opened['action'],
): Promise<Reopened> {
  const session = requireSession(call)
  const tree = requireDisk(call)
  const { world, connection } = call
  const { durable } = handle
  const isOwn = durable?.account === session.user && durable.sid === session.identity?.sid
  if (!isOwn) throw new SmbError('ACCESS_DENIED')
  if (durable.share !== tree.share) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  checkLease(call, request, handle)
  durable.cancelTimer?.()
  // Before the first await, so that no other request can reconnect it.
  handle.session = session
  handle.tree = tree
  session.handles.set(handle.fileId.volatile, handle)
  const clientIp = `${connection.clientIp}:${connection.clientPort}`
  const reconnectedMs = world.moment().nowMs
  const change = { sessionId: String(session.id), clientIp, reconnectedMs }
  const open = await world.kv.write((tx) => changeOpen(tx, handle.open, change))
  if (open === undefined) await closeHandle(world, handle)
  else if (!session.isValid) await disconnectHandle(world, handle)
  if (open === undefined || !session.isValid) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  handle.open = { ...open, ...change }
  return reopened(call, handle, action)
}

/** A handle with a lease reconnects by its lease: the key and the file have to be the same. */
function checkLease(
  call: SmbCall,
  { name, contexts }: CreateRequest,
  { open, durable }: FileHandle,
): void {
  const { lease } = contexts
  const isLeased = open.holder?.startsWith('lease:') === true
  if (isLeased !== (lease !== undefined)) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  if (lease === undefined) return
  const session = requireSession(call)
  if (leaseHolder(session, lease.key) !== open.holder) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  if (durable?.clientGuid !== session.clientGuid.toString('hex')) {
    throw new SmbError('OBJECT_NAME_NOT_FOUND')
  }
  const path = decodeFilePath(name).path.join('/')
  if (path.toUpperCase() !== open.path.toUpperCase()) throw new SmbError('INVALID_PARAMETER')
}

/** CREATE's answer for an existing open. */
export async function reopened(
  { world }: SmbCall,
  handle: FileHandle,
  action: Opened['action'],
): Promise<Reopened> {
  const { open } = handle
  const { node, cache } = await world.kv.read((tx) => nodeAndCache(tx, open))
  if (node === undefined) throw new SmbError('OBJECT_NAME_NOT_FOUND')
  return {
    handle,
    opened: { kind: 'opened', action, open, node, maximalAccess: open.access, cache },
  }
}
