// Replays ([MS-SMB2] 3.3.5.9.10): a CREATE with a CreateGuid runs once, even if its client sends it again after losing a
// channel. While the first one is in progress, the client has to retry.
import { requireSession, type SmbCall } from '../call.ts'
import { attach, reopened, type Reopened } from './durable-reconnect.ts'
import type { FileHandle } from '../world.ts'
import { leaseHolder } from './create-cache.ts'
import { SmbError } from '../smb-error.ts'
import type { CreateRequest } from '../wire/file/create.ts'
import { HEADER_FLAG } from '../wire/header.ts'

/** undefined: the CREATE has no CreateGuid, and can't be replayed. */
function createKeyOf(call: SmbCall, { contexts }: CreateRequest): string | undefined {
  const requested = contexts.durableRequestV2
  if (requested === undefined) return undefined
  const { clientGuid } = requireSession(call)
  return `${clientGuid.toString('hex')}:${requested.createGuid.toString('hex')}`
}

function isReplay({ header }: Pick<SmbCall, 'header'>): boolean {
  return (header.flags & HEADER_FLAG.replay) !== 0
}

/** The open of an earlier CREATE with this key; undefined: there was none. */
async function findReplayed(
  call: SmbCall,
  request: CreateRequest,
  key: string,
): Promise<Reopened | undefined> {
  const earlier = call.world.creates.get(key)
  if (earlier === undefined) return undefined
  if (earlier === 'pending') throw new SmbError('FILE_NOT_AVAILABLE')
  if (!isReplay(call)) throw new SmbError('DUPLICATE_OBJECTID')
  const action = earlier.createKey?.action ?? 'opened'
  if (earlier.session === undefined) return attach(call, request, earlier, action)
  if (earlier.session !== requireSession(call)) throw new SmbError('DUPLICATE_OBJECTID')
  checkSameLease(call, request, earlier)
  return reopened(call, earlier, action)
}

/** A replay that requests a lease must belong to an open that holds it. */
function checkSameLease(
  call: SmbCall,
  { contexts: { lease } }: CreateRequest,
  { open }: FileHandle,
): void {
  if (lease === undefined) return
  if (leaseHolder(requireSession(call), lease.key) !== open.holder) {
    throw new SmbError('ACCESS_DENIED')
  }
}

/** Runs the CREATE unless it ran before. */
export async function createOnce(
  call: SmbCall,
  request: CreateRequest,
  create: () => Promise<Reopened>,
): Promise<Reopened & { readonly isReplay: boolean }> {
  const { creates } = call.world
  const key = createKeyOf(call, request)
  if (key === undefined) return { ...(await create()), isReplay: false }
  const replayed = await findReplayed(call, request, key)
  if (replayed !== undefined) return { ...replayed, isReplay: true }
  creates.set(key, 'pending')
  try {
    const created = await create()
    created.handle.createKey = { key, action: created.opened.action }
    creates.set(key, created.handle)
    return { ...created, isReplay: false }
  } catch (error) {
    creates.delete(key)
    throw error
  }
}
