// Waits until other clients give up what they cache of a file, or a lock.
import type { SmbCall } from '../call.ts'
import { SmbError } from '../smb-error.ts'

/** After this time the break of an unresponsive client is forced ([MS-SMB2] 3.3.2.1: 35 seconds). */
export const BREAK_MS_MAX = 35_000

type Place = { readonly shareId: number; readonly nodeId: number }
type MustWait = Place & { readonly kind: 'wait' }

/**
 * Runs `attempt` until it need not wait: again after each release on the node that it waits for. It listens before each
 * attempt, so that it misses no release. `isReplayable`: the client repeats the request on another channel if it loses
 * this one.
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
  /** Resolves at a release of this node since the last `forget`, or after the timeout. */
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
    released.add(placeKey(event))
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
        if (!isCancelled && !released.has(placeKey(place))) return released.clear()
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

/** The connection is closed, but the session has another channel. */
function hasOtherChannel({ connection, session }: SmbCall): boolean {
  if (!connection.isClosed || session === undefined) return false
  return [...session.channels.keys()].some((each) => each !== connection && !each.isClosed)
}

function isMustWait(outcome: { readonly kind: string }): outcome is MustWait {
  return outcome.kind === 'wait'
}

function placeKey({ shareId, nodeId }: Place): string {
  return `${shareId}:${nodeId}`
}
