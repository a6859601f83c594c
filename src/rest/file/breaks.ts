// What SMB clients cache of a file has to be flushed before REST reads or writes it: an operation that finds such
// a cache is not done, the client is asked to give it up, and the operation is tried again when it has.
import type { Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { BreaksNeeded, askHolders } from '../../storage/file/open/rest-access.ts'
import type { FileService } from './service.ts'

/** The service waits no longer than this for a client ("Manage file locks in Azure Files"). */
const WAIT_MS_MAX = 30_000

type Breaking = Pick<FileService, 'kv' | 'after'>

/** Runs `attempt` until no client's cache is in its way, or the time is over. */
export async function afterBreaks<T>(
  service: Breaking,
  request: Request,
  attempt: () => Promise<T>,
): Promise<T> {
  // Few operations find a cache in their way; only then does the time begin to matter.
  let deadline: Deadline | undefined
  try {
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof BreaksNeeded)) throw error
        deadline ??= startDeadline(service, waitMsOf(request))
        await breakAndWait(service, error, deadline)
        if (deadline.isOver()) throw new StorageError('ClientCacheFlushDelay')
      }
    }
  } finally {
    deadline?.end()
  }
}

function waitMsOf({ query }: Request): number {
  const seconds = Number(query.get('timeout') ?? Number.NaN)
  return seconds > 0 ? Math.min(seconds * 1_000, WAIT_MS_MAX) : WAIT_MS_MAX
}

type Deadline = { isOver(): boolean; reached: Promise<void>; end(): void }

function startDeadline(service: Breaking, waitMs: number): Deadline {
  let over = false
  let cancel = (): void => {}
  const reached = new Promise<void>((resolve) => {
    cancel = service.after(waitMs, () => {
      over = true
      resolve()
    })
  })
  return { isOver: () => over, reached, end: () => cancel() }
}

/** Listens before it asks, so that no answer comes too early. */
async function breakAndWait(
  { kv }: Breaking,
  needed: BreaksNeeded,
  deadline: Deadline,
): Promise<void> {
  const { shareId, nodeId } = needed
  let stop = (): void => {}
  const released = new Promise<void>((resolve) => {
    stop = kv.listen((event) => {
      if (event.kind !== 'released') return
      if (event.shareId === shareId && event.nodeId === nodeId) resolve()
    })
  })
  try {
    const isHeld = await kv.write((tx) => askHolders(tx, needed))
    if (isHeld) await Promise.race([released, deadline.reached])
  } finally {
    stop()
  }
}
