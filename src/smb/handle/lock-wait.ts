// A LOCK that waits for other locks: it retries after each release on the file until it succeeds, the client cancels
// it, or its handle ends ([MS-SMB2] 3.3.5.14.2).
import type { SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'

export async function whenReleased(
  call: SmbCall,
  { open, onClose }: FileHandle,
  attempt: () => Promise<boolean>,
): Promise<void> {
  // The first retry finds locks that were released before the listener was added.
  let isReleased = true
  let refusal: SmbError | undefined
  let wake = (): void => {}
  const refuse = (status: 'CANCELLED' | 'RANGE_NOT_LOCKED') => (): void => {
    refusal ??= new SmbError(status)
    wake()
  }
  const stop = call.world.kv.listen((event) => {
    if (event.kind !== 'released' || event.nodeId !== open.nodeId) return
    if (event.shareId !== open.shareId) return
    isReleased = true
    wake()
  })
  const closed = refuse('RANGE_NOT_LOCKED')
  onClose.add(closed)
  try {
    call.goAsync(refuse('CANCELLED'))
    for (;;) {
      if (refusal !== undefined) throw refusal
      if (isReleased) {
        isReleased = false
        if (await attempt()) return
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    stop()
    onClose.delete(closed)
  }
}
