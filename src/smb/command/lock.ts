// LOCK ([MS-SMB2] 3.3.5.14): locks all of its ranges or none, or unlocks its ranges one by one.
import type { Step } from '../../kv/kv.ts'
import type { FileOpen, FileTx } from '../../storage/file/open/open.ts'
import { addLocks, isLockRange, removeLock } from '../../storage/file/open/smb-lock.ts'
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

async function unlock(
  { world }: SmbCall,
  { open }: FileHandle,
  locks: readonly Smb2LockElement[],
): Promise<void> {
  const failure = await world.kv.write((tx) => removeLocks(tx, open, locks))
  if (failure !== undefined) throw new SmbError(failure)
}

/** Ranges that were unlocked before a failure stay unlocked, so the status is returned and not thrown. */
function* removeLocks(
  tx: FileTx,
  open: FileOpen,
  locks: readonly Smb2LockElement[],
): Step<NtStatusName | undefined> {
  for (const element of locks) {
    if (element.flags !== LOCK_FLAG.unlock) return 'INVALID_PARAMETER'
    if (!isLockRange(element)) return 'INVALID_LOCK_RANGE'
    if (!(yield* removeLock(tx, open, element))) return 'RANGE_NOT_LOCKED'
  }
  return undefined
}
