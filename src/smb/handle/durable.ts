// Durable handles ([MS-SMB2] 3.3.5.9.6, 3.3.5.9.10): opens that outlive their connection for some time. They need a
// handle cache, whose break would tell the client of other users of the file, or must be persistent.
import {
  CACHE_HANDLE,
  holdersOf,
  type CacheHolder,
  type PersistentTerms,
} from '../../storage/file/open/open.ts'
import type { Durable, DiskTree, Session, SmbWorld, FileHandle } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { OPLOCK_LEVEL, type CreateRequest } from '../wire/file/create.ts'
import {
  DURABLE_FLAG_PERSISTENT,
  encodeDurableContext,
  encodeDurableV2Context,
  type CreateContexts,
  type ResponseContext,
} from '../wire/file/create-context.ts'
import { announceRelease } from '../../storage/file/cache/break-event.ts'

const V1_TIMEOUT_MS = 16 * 60_000
const V2_TIMEOUT_MS = 60_000
const V2_TIMEOUT_MS_MAX = 300_000

export function isPersistent({ durable }: FileHandle): boolean {
  return durable?.kind === 'persistent'
}

function timeoutOf(requestedMs: number): number {
  return requestedMs === 0 ? V2_TIMEOUT_MS : Math.min(requestedMs, V2_TIMEOUT_MS_MAX)
}

/** All disk shares are continuously available to clients that support it. */
export function persistentTermsOf(
  session: Session,
  tree: DiskTree,
  { contexts: { durableRequestV2: requested } }: Pick<CreateRequest, 'contexts'>,
  mode: number,
): PersistentTerms | undefined {
  if (requested === undefined || (requested.flags & DURABLE_FLAG_PERSISTENT) === 0) return undefined
  if (session.dialect < DIALECT.smb300) return undefined
  return {
    account: tree.account,
    ...(tree.sid !== undefined && { sid: tree.sid }),
    share: tree.share,
    clientGuid: session.clientGuid.toString('hex'),
    createGuid: requested.createGuid.toString('hex'),
    timeoutMs: timeoutOf(requested.timeoutMs),
    mode,
  }
}

export function persistentDurable(terms: PersistentTerms): Durable {
  const { account, sid, share, clientGuid, createGuid, timeoutMs } = terms
  return { kind: 'persistent', account, sid, share, clientGuid, createGuid, timeoutMs }
}

/** Makes the handle durable if it requests that and qualifies. Otherwise the request is ignored, not refused. */
export function grantDurable(
  handle: FileHandle,
  session: Session,
  tree: DiskTree,
  {
    contexts,
    cache,
  }: { readonly contexts: CreateContexts; readonly cache: CacheHolder | undefined },
): void {
  const { open } = handle
  if (open.persistent !== undefined) {
    handle.durable = persistentDurable(open.persistent)
    return
  }
  const { durableRequest, durableRequestV2: requested } = contexts
  if (!durableRequest && requested === undefined) return
  if (((cache?.state ?? 0) & CACHE_HANDLE) === 0) return
  handle.durable = {
    kind: requested === undefined ? 'v1' : 'v2',
    timeoutMs: requested === undefined ? V1_TIMEOUT_MS : timeoutOf(requested.timeoutMs),
    account: tree.account,
    sid: tree.sid,
    share: tree.share,
    clientGuid: session.clientGuid.toString('hex'),
    createGuid: requested?.createGuid.toString('hex'),
  }
}

/** A replay gets the context only if the oplock level of the replay qualifies for durability. */
export function durableContexts(
  { durable }: FileHandle,
  { contexts, oplockLevel }: Pick<CreateRequest, 'contexts' | 'oplockLevel'>,
  isReplay: boolean,
): ResponseContext[] {
  if (durable === undefined) return []
  if (contexts.durableRequest) return [encodeDurableContext()]
  if (contexts.durableRequestV2 === undefined) return []
  const persistent = durable.kind === 'persistent'
  const qualifies = oplockLevel === OPLOCK_LEVEL.batch || oplockLevel === OPLOCK_LEVEL.lease
  if (isReplay && !qualifies && !persistent) return []
  return [encodeDurableV2Context(durable.timeoutMs, persistent ? DURABLE_FLAG_PERSISTENT : 0)]
}

/** Called when the connection is lost. True: the handle stays and waits for its client until its timeout. */
export async function detachHandle(
  world: SmbWorld,
  handle: FileHandle,
  closeLater: (handle: FileHandle) => Promise<void>,
): Promise<boolean> {
  const { durable, session, open } = handle
  if (durable === undefined || session === undefined) return false
  if (!(await mayStay(world, handle, durable))) return false
  session.handles.delete(handle.fileId.volatile)
  handle.session = undefined
  handle.tree = undefined
  for (const wake of handle.onClose) wake()
  handle.onClose.clear()
  waitForClient(world, handle, closeLater)
  // Requests that wait for a break must retry: nobody will acknowledge it.
  await world.kv.write((tx) => announceRelease(tx, open))
  return true
}

async function mayStay(world: SmbWorld, { open }: FileHandle, { kind }: Durable): Promise<boolean> {
  if (kind === 'persistent' || kind === 'resilient') return true
  const holders = await world.kv.read((tx) => holdersOf(tx, open.shareId, open.nodeId))
  const found = holders.find(({ holder }) => holder === open.holder)
  return found?.breakingTo === undefined && ((found?.state ?? 0) & CACHE_HANDLE) !== 0
}

export function waitForClient(
  world: SmbWorld,
  handle: FileHandle,
  closeLater: (handle: FileHandle) => Promise<void>,
): void {
  const { durable } = handle
  if (durable === undefined) return
  durable.cancelTimer = world.after(durable.timeoutMs, () =>
    closeLater(handle).catch((error: unknown) => world.logFault(error)),
  )
}
