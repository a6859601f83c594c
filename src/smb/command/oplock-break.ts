// OPLOCK_BREAK ([MS-SMB2] 3.3.5.22): the client acknowledges the break of an oplock or a lease.
import { CACHE_READ } from '../../storage/file/open/open.ts'
import { requireHandle, requireSession, type SmbCall, type SmbReply } from '../call.ts'
import { leaseHolder } from '../create/create-cache.ts'
import { SmbError } from '../smb-error.ts'
import { OPLOCK_LEVEL } from '../wire/file/create.ts'
import {
  decodeOplockBreakRequest,
  encodeLeaseBreakResponse,
  encodeOplockBreak,
  type LeaseAcknowledgement,
  type OplockAcknowledgement,
} from '../wire/file/oplock-break.ts'
import { acknowledgeOpen, acknowledge } from '../../storage/file/cache/acknowledge.ts'

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
  const outcome = await call.world.kv.write((tx) => acknowledgeOpen(tx, open, state))
  if (outcome !== 'taken') throw new SmbError('INVALID_OPLOCK_PROTOCOL')
  return { body: [encodeOplockBreak(oplockLevel, handle.fileId)] }
}

async function acknowledgeLease(
  call: SmbCall,
  { leaseKey, leaseState }: LeaseAcknowledgement,
): Promise<SmbReply> {
  const holder = leaseHolder(requireSession(call), leaseKey)
  const outcome = await call.world.kv.write((tx) => acknowledge(tx, holder, leaseState))
  if (outcome === 'not there') throw new SmbError('OBJECT_NAME_NOT_FOUND')
  if (outcome === 'not breaking') throw new SmbError('UNSUCCESSFUL')
  if (outcome === 'too much') throw new SmbError('REQUEST_NOT_ACCEPTED')
  return { body: [encodeLeaseBreakResponse(leaseKey, leaseState)] }
}
