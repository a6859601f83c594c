// Waiting for other clients: until what they cache of a file, or a lock that they hold, is given up.
import type { SmbCall } from '../call.ts'
import { SmbError } from '../smb-error.ts'

/** A lost client's break is forced after this time ([MS-SMB2] 3.3.2.1: 35 seconds). */
export const BREAK_MS_MAX = 35_000

type Place = { readonly shareId: number; readonly nodeId: number }
type MustWait = Place & { readonly kind: 'wait' }

/**
 * Runs `attempt` again at each release on the node that it has to wait for, until it need not. It listens before
 * it asks, so that no release comes too early. `isReplayable`: the client asks again on another channel, should
 * it lose this one.
 */
export async function retryOnRelease<T extends { readonly kind: string }>(
  call: SmbCall,
  waitMsMax: number,
  attempt: (hasWaited: boolean) => Promise<T | MustWait>,
  isReplayable = false,
): Promise<T> {
  const releases = listenForReleases(call)
  try {
    for (let hasWaited = false; ; hasWaited = true) {
      releases.forget()
      const outcome = await attempt(hasWaited)
      if (!isMustWait(outcome)) return outcome
      call.goAsync(() => {
        if (!isReplayable || !hasOtherChannel(call)) releases.cancel()
      })
      await releases.next(outcome, waitMsMax)
    }
  } finally {
    releases.stop()
  }
}

type Releases = {
  forget(): void
  /** Of this node, since the last `forget`; or when the time is over. */
  next(place: Place, waitMsMax: number): Promise<void>
  cancel(): void
  stop(): void
}

function listenForReleases({ world }: SmbCall): Releases {
  const released = new Set<string>()
  let isCancelled = false
  let wake = (): void => {}
  const stop = world.kv.listen((event) => {
    if (event.kind !== 'released') return
    released.add(nameOf(event))
    wake()
  })
  const forget = (): void => {
    wake = () => {}
    released.clear()
  }
  const next = async (place: Place, waitMsMax: number): Promise<void> => {
    await new Promise<void>((resolve) => {
      const cancelTimer = world.after(waitMsMax, resolve)
      wake = () => {
        if (!isCancelled && !released.has(nameOf(place))) return released.clear()
        cancelTimer()
        resolve()
      }
      wake()
    })
    if (isCancelled) throw new SmbError('CANCELLED')
  }
  const cancel = (): void => {
    isCancelled = true
    wake()
  }
  return { forget, next, cancel, stop }
}

/** The connection is lost, but the session is not. */
function hasOtherChannel({ connection, session }: SmbCall): boolean {
  if (!connection.isClosed || session === undefined) return false
  return [...session.channels.keys()].some((each) => each !== connection && !each.isClosed)
}

function isMustWait(outcome: { readonly kind: string }): outcome is MustWait {
  return outcome.kind === 'wait'
}

function nameOf({ shareId, nodeId }: Place): string {
  return `${shareId}:${nodeId}`
}
