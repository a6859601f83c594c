// CREATE's oplock level and lease context ([MS-SMB2] 2.2.13, 2.2.13.2.8, 2.2.14.2.10): from the wire to a request of
// storage/file/cache/smb-cache.ts, and back.
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  type CacheHolder,
} from '../../storage/file/open/open.ts'
import type { CacheRequest } from '../../storage/file/cache/smb-cache.ts'
import type { Session } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { OPLOCK_LEVEL, type CreateRequest } from '../wire/file/create.ts'
import {
  encodeLeaseContext,
  LEASE_FLAG,
  type ResponseContext,
} from '../wire/file/create-context.ts'

const ALL = CACHE_READ | CACHE_WRITE | CACHE_HANDLE

const OPLOCK_STATE: Readonly<Record<number, number>> = {
  [OPLOCK_LEVEL.ii]: CACHE_READ,
  [OPLOCK_LEVEL.exclusive]: CACHE_READ | CACHE_WRITE,
  [OPLOCK_LEVEL.batch]: ALL,
}

/** A lease belongs to the client, not to its session. */
export function leaseHolder({ clientGuid }: Pick<Session, 'clientGuid'>, key: Buffer): string {
  return `lease:${clientGuid.toString('hex')}:${key.toString('hex')}`
}

function oplockHolder(openId: number): string {
  return `oplock:${openId}`
}

export function leaseKeyOf(holder: string): Buffer {
  return Buffer.from(holder.slice(holder.lastIndexOf(':') + 1), 'hex')
}

export function cacheRequestOf(
  session: Session,
  { oplockLevel, contexts }: Pick<CreateRequest, 'oplockLevel' | 'contexts'>,
  openId: number,
): CacheRequest | undefined {
  if (oplockLevel !== OPLOCK_LEVEL.lease) {
    const state = OPLOCK_STATE[oplockLevel]
    return state === undefined ? undefined : { kind: 'oplock', holder: oplockHolder(openId), state }
  }
  const { lease } = contexts
  if (lease === undefined || lease.key.every((byte) => byte === 0)) return undefined
  const { version, epoch } = lease
  if (version === 2 && session.dialect < DIALECT.smb300) return undefined
  const holder = leaseHolder(session, lease.key)
  return { kind: 'lease', holder, state: lease.state & ALL, version, epoch }
}

export function oplockLevelOf(holder: CacheHolder | undefined): number {
  if (holder === undefined) return OPLOCK_LEVEL.none
  if (holder.kind === 'lease') return OPLOCK_LEVEL.lease
  if ((holder.state & CACHE_HANDLE) !== 0) return OPLOCK_LEVEL.batch
  if ((holder.state & CACHE_WRITE) !== 0) return OPLOCK_LEVEL.exclusive
  return (holder.state & CACHE_READ) !== 0 ? OPLOCK_LEVEL.ii : OPLOCK_LEVEL.none
}

/** In the version of the first request for the lease. */
export function leaseContexts(
  holder: CacheHolder | undefined,
  { lease: requested }: CreateRequest['contexts'],
): ResponseContext[] {
  if (holder?.kind !== 'lease' || requested === undefined) return []
  const breaking = holder.breakingTo === undefined ? 0 : LEASE_FLAG.breakInProgress
  const parent = requested.version === 2 ? requested.flags & LEASE_FLAG.parentLeaseKeySet : 0
  return [
    encodeLeaseContext({
      version: holder.version ?? 1,
      key: leaseKeyOf(holder.holder),
      state: holder.state,
      flags: breaking | parent,
      parentKey: parent === 0 ? Buffer.alloc(16) : requested.parentKey,
      epoch: (holder.epoch ?? 0) & 0xffff,
    }),
  ]
}
