// LOCK ([MS-SMB2] 3.3.5.14): locks all of its ranges or none, or unlocks its ranges one by one.
import {
  addLocks,
  ELEMENT_COUNT_MAX,
  isLockRange,
  removeLocks,
} from '../../storage/file/open/smb-lock.ts'
import { RIGHT, requireAnyRight } from '../handle/access.ts'
import { requireHandle, requireSession, type SmbCall, type SmbReply } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { hasLockSequences, isRepeated, storeSequence } from '../handle/lock-sequence.ts'
import { whenReleased } from '../handle/lock-wait.ts'
import { SmbError } from '../smb-error.ts'
import { onChannel } from '../handle/transfer.ts'
import { decodeLockRequest, LOCK_FLAG, type Smb2LockElement } from '../wire/file/lock.ts'
import { encodeSimpleResponse } from '../wire/simple.ts'
import type { NtStatusName } from '../wire/status.ts'

/** The valid flags of a lock. */
const LOCK_FLAGS: ReadonlySet<number> = new Set([
  LOCK_FLAG.shared,
  LOCK_FLAG.exclusive,
  LOCK_FLAG.shared | LOCK_FLAG.failImmediately,
  LOCK_FLAG.exclusive | LOCK_FLAG.failImmediately,
])

export async function runLock(call: SmbCall): Promise<SmbReply> {
  const request = decodeLockRequest(call.message)
  const handle = requireHandle(call, request.fileId)
  if (handle.kind === 'pipe') throw new SmbError('INVALID_DEVICE_REQUEST')
  if (handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  const hasSequences = hasLockSequences(requireSession(call).dialect, handle)
  if (hasSequences && isRepeated(handle, request)) return { body: [encodeSimpleResponse()] }
  const { locks } = request
  if (locks.length > ELEMENT_COUNT_MAX) throw new SmbError('INSUFFICIENT_RESOURCES')
  const isUnlock = locks[0]?.flags === LOCK_FLAG.unlock
  await onChannel(call, handle, () => (isUnlock ? unlock : lock)(call, handle, locks))
  if (hasSequences) storeSequence(handle, request)
  return { body: [encodeSimpleResponse()] }
}

async function lock(
  call: SmbCall,
  handle: FileHandle,
  locks: readonly Smb2LockElement[],
): Promise<void> {
  const isImmediate = checkElements(locks)
  requireAnyRight(handle, RIGHT.readData | RIGHT.writeData | RIGHT.execute)
  const { open } = handle
  const wanted = locks.map(({ offset, length, flags }) => {
    return { offset, length, isExclusive: (flags & LOCK_FLAG.exclusive) !== 0 }
  })
  const attempt = async (): Promise<boolean> => {
    const outcome = await call.world.kv.write((tx) => addLocks(tx, open, wanted))
    if (outcome === 'closed') throw new SmbError('RANGE_NOT_LOCKED')
    if (outcome === 'tooMany') throw new SmbError('INSUFFICIENT_RESOURCES')
    return outcome === 'locked'
  }
  if (await attempt()) return
  if (isImmediate) throw new SmbError('LOCK_NOT_GRANTED')
  await whenReleased(call, handle, attempt)
}

/** Whether none of them waits. Only a single lock may wait. */
function checkElements(locks: readonly Smb2LockElement[]): boolean {
  const isImmediate = locks.every(({ flags }) => (flags & LOCK_FLAG.failImmediately) !== 0)
  if (locks.length > 1 && !isImmediate) throw new SmbError('INVALID_PARAMETER')
  for (const element of locks) {
    if (!LOCK_FLAGS.has(element.flags)) throw new SmbError('INVALID_PARAMETER')
    if (!isLockRange(element)) throw new SmbError('INVALID_LOCK_RANGE')
  }
  return isImmediate
}

/** Ranges that were unlocked before a failure stay unlocked. */
async function unlock(
  { world }: SmbCall,
  { open }: FileHandle,
  locks: readonly Smb2LockElement[],
): Promise<void> {
  const wrong = locks.findIndex((element) => unlockFault(element) !== undefined)
  const ranges = wrong < 0 ? locks : locks.slice(0, wrong)
  const removedCount = await world.kv.write((tx) => removeLocks(tx, open, ranges))
  if (removedCount < ranges.length) throw new SmbError('RANGE_NOT_LOCKED')
  const fault = locks[wrong] && unlockFault(locks[wrong])
  if (fault !== undefined) throw new SmbError(fault)
}

function unlockFault(element: Smb2LockElement): NtStatusName | undefined {
  if (element.flags !== LOCK_FLAG.unlock) return 'INVALID_PARAMETER'
  return isLockRange(element) ? undefined : 'INVALID_LOCK_RANGE'
}
