// OPLOCK_BREAK ([MS-SMB2] 3.3.5.22): the client acknowledges that it has given up what it was asked to.
import type { Step } from '../../kv/kv.ts'
import { acknowledgeBreak, type Acknowledgement } from '../../storage/file/cache-break.ts'
import { findLease } from '../../storage/file/cache-grant.ts'
import { CACHE_READ, holdersOf, type FileOpen, type FileTx } from '../../storage/file/open.ts'
import { requireHandle, requireSession, type SmbCall, type SmbReply } from '../call.ts'
import { leaseHolder } from '../create-cache.ts'
import { SmbError } from '../smb-error.ts'
import { OPLOCK_LEVEL } from '../wire/create.ts'
import {
  decodeOplockBreakRequest,
  encodeLeaseBreakResponse,
  encodeOplockBreak,
  type LeaseAcknowledgement,
  type OplockAcknowledgement,
} from '../wire/oplock-break.ts'

export async function runOplockBreak(call: SmbCall): Promise<SmbReply> {
  const request = decodeOplockBreakRequest(call.message)
  return request.kind === 'oplock'
    ? acknowledgeOplock(call, request)
    : acknowledgeLease(call, request)
}

async function acknowledgeOplock(
  call: SmbCall,
  { oplockLevel, fileId }: OplockAcknowledgement,
): Promise<SmbReply> {
  const isNone = oplockLevel === OPLOCK_LEVEL.none
  if (!isNone && oplockLevel !== OPLOCK_LEVEL.ii) throw new SmbError('INVALID_PARAMETER')
  const handle = requireHandle(call, fileId)
  if (handle.kind !== 'file') throw new SmbError('INVALID_DEVICE_STATE')
  const { open } = handle
  const state = isNone ? 0 : CACHE_READ
  const outcome = await call.world.kv.writeLive((tx) => acknowledgeOpen(tx, open, state))
  if (outcome !== 'taken') throw new SmbError('INVALID_OPLOCK_PROTOCOL')
  return { body: [encodeOplockBreak(oplockLevel, handle.fileId)] }
}

function* acknowledgeOpen(tx: FileTx, open: FileOpen, state: number): Step<Acknowledgement> {
  const holders = yield* holdersOf(tx, open.shareId, open.nodeId)
  const found = holders.find(({ holder }) => holder === open.holder)
  if (found?.kind !== 'oplock') return 'not breaking'
  // Who answers level II to a break to nothing has understood all the same.
  return acknowledgeBreak(tx, open, found, state & (found.breakingTo ?? 0))
}

async function acknowledgeLease(
  call: SmbCall,
  { leaseKey, leaseState }: LeaseAcknowledgement,
): Promise<SmbReply> {
  const holder = leaseHolder(requireSession(call), leaseKey)
  const outcome = await call.world.kv.writeLive((tx) => acknowledge(tx, holder, leaseState))
  if (outcome === 'not there') throw new SmbError('OBJECT_NAME_NOT_FOUND')
  if (outcome === 'not breaking') throw new SmbError('UNSUCCESSFUL')
  if (outcome === 'too much') throw new SmbError('REQUEST_NOT_ACCEPTED')
  return { body: [encodeLeaseBreakResponse(leaseKey, leaseState)] }
}

function* acknowledge(
  tx: FileTx,
  holder: string,
  state: number,
): Step<Acknowledgement | 'not there'> {
  const place = yield* findLease(tx, holder)
  if (place === undefined) return 'not there'
  const holders = yield* holdersOf(tx, place.shareId, place.nodeId)
  const found = holders.find((each) => each.holder === holder)
  return found === undefined ? 'not there' : acknowledgeBreak(tx, place, found, state)
}
