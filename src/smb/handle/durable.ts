// Durable handles ([MS-SMB2] 3.3.5.9.6, 3.3.5.9.10): an open that outlives its connection, for a time, because its
// client holds a cache that would have told it of anybody else; or, on these shares, because it asked for it.
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

function timeoutOf(asked: number): number {
  return asked === 0 ? V2_TIMEOUT_MS : Math.min(asked, V2_TIMEOUT_MS_MAX)
}

/** All disk shares are continuously available, to clients that know what it means. */
export function persistentTermsOf(
  session: Session,
  tree: DiskTree,
  { contexts: { durableRequestV2: asked } }: Pick<CreateRequest, 'contexts'>,
  mode: number,
): PersistentTerms | undefined {
  if (asked === undefined || (asked.flags & DURABLE_FLAG_PERSISTENT) === 0) return undefined
  if (session.dialect < DIALECT.smb300) return undefined
  return {
    account: tree.account,
    ...(tree.sid !== undefined && { sid: tree.sid }),
    share: tree.share,
    clientGuid: session.clientGuid.toString('hex'),
    createGuid: asked.createGuid.toString('hex'),
    timeoutMs: timeoutOf(asked.timeoutMs),
    mode,
  }
}

export function persistentDurable(terms: PersistentTerms): Durable {
  const { account, sid, share, clientGuid, createGuid, timeoutMs } = terms
  return { kind: 'persistent', account, sid, share, clientGuid, createGuid, timeoutMs }
}

/** Makes the handle durable if it asks for it and may be. A request that may not is ignored, not refused. */
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
  const { durableRequest, durableRequestV2: asked } = contexts
  if (!durableRequest && asked === undefined) return
  if (((cache?.state ?? 0) & CACHE_HANDLE) === 0) return
  handle.durable = {
    kind: asked === undefined ? 'v1' : 'v2',
    timeoutMs: asked === undefined ? V1_TIMEOUT_MS : timeoutOf(asked.timeoutMs),
    account: tree.account,
    sid: tree.sid,
    share: tree.share,
    clientGuid: session.clientGuid.toString('hex'),
    createGuid: asked?.createGuid.toString('hex'),
  }
}

/** A replay is told of its durability only if what it asks for now could have got it. */
export function durableContexts(
  { durable }: FileHandle,
  { contexts, oplockLevel }: Pick<CreateRequest, 'contexts' | 'oplockLevel'>,
  isReplay: boolean,
): ResponseContext[] {
  if (durable === undefined) return []
  if (contexts.durableRequest) return [encodeDurableContext()]
  if (contexts.durableRequestV2 === undefined) return []
  const persistent = durable.kind === 'persistent'
  const couldHave = oplockLevel === OPLOCK_LEVEL.batch || oplockLevel === OPLOCK_LEVEL.lease
  if (isReplay && !couldHave && !persistent) return []
  return [encodeDurableV2Context(durable.timeoutMs, persistent ? DURABLE_FLAG_PERSISTENT : 0)]
}

/** The connection is lost. True: the handle stays, and waits for its client until its time is over. */
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
  // Who waits for a break looks again: nobody will acknowledge it.
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
  durable.cancelTimer = world.after(durable.timeoutMs, () => {
    closeLater(handle).catch((error: unknown) => world.logFault(error))
  })
}
