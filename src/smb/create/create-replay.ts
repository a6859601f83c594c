// Replays ([MS-SMB2] 3.3.5.9.10): a CREATE that names a CreateGuid is done once, however often its client sends it
// when channels come and go. While the first is under way, the client is told to ask again.
import { requireSession, type SmbCall } from '../call.ts'
import { attach, reopened, type Reopened } from './durable-reconnect.ts'
import type { FileHandle } from '../world.ts'
import { leaseHolder } from './create-cache.ts'
import { SmbError } from '../smb-error.ts'
import type { CreateRequest } from '../wire/file/create.ts'
import { HEADER_FLAG } from '../wire/header.ts'

/** undefined: the CREATE has no CreateGuid, and can't be replayed. */
function createKeyOf(call: SmbCall, { contexts }: CreateRequest): string | undefined {
  const asked = contexts.durableRequestV2
  if (asked === undefined) return undefined
  const { clientGuid } = requireSession(call)
  return `${clientGuid.toString('hex')}:${asked.createGuid.toString('hex')}`
}

function isReplay({ header }: Pick<SmbCall, 'header'>): boolean {
  return (header.flags & HEADER_FLAG.replay) !== 0
}

/** What an earlier CREATE with this key has opened; undefined: there was none. */
async function findReplayed(
  call: SmbCall,
  request: CreateRequest,
  key: string,
): Promise<Reopened | undefined> {
  const known = call.world.creates.get(key)
  if (known === undefined) return undefined
  if (known === 'pending') throw new SmbError('FILE_NOT_AVAILABLE')
  if (!isReplay(call)) throw new SmbError('DUPLICATE_OBJECTID')
  const action = known.createKey?.action ?? 'opened'
  if (known.session === undefined) return attach(call, request, known, action)
  if (known.session !== requireSession(call)) throw new SmbError('DUPLICATE_OBJECTID')
  checkSameLease(call, request, known)
  return reopened(call, known, action)
}

/** A replay that asks for a lease must be of an open that has it. */
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

/** Does the CREATE, unless it was done before. */
export async function createOnce(
  call: SmbCall,
  request: CreateRequest,
  create: () => Promise<Reopened>,
): Promise<Reopened & { readonly isReplay: boolean }> {
  const { creates } = call.world
  const key = createKeyOf(call, request)
  if (key === undefined) return { ...(await create()), isReplay: false }
  const known = await findReplayed(call, request, key)
  if (known !== undefined) return { ...known, isReplay: true }
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
