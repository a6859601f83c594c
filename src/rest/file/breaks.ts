// SMB clients have to flush their caches of a file before REST reads or writes it. An operation that finds such a cache
// changes nothing; the client is asked to release its cache, and then the operation is retried.
import type { Request } from '../../http/door/operation.ts'
import { requireValue, type Attempted } from '../../kv/kv.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { askHolders, isBreaks, type BreaksNeeded } from '../../storage/file/open/rest-access.ts'
import type { FileService } from './service.ts'

/** How long the service waits for a client ("Manage file locks in Azure Files"). */
const WAIT_MS_MAX = 30_000

type Breaking = Pick<FileService, 'kv' | 'after'>

/** Retries `attempt` until no client's cache is in its way, or the deadline has passed. */
export async function afterBreaks<T>(
  service: Breaking,
  request: Request,
  attempt: () => Promise<Attempted<T>>,
): Promise<T> {
  return requireValue(await attemptAfterBreaks(service, request, attempt))
}

/** The same, for an attempt that may also yield another need. */
export async function attemptAfterBreaks<T>(
  service: Breaking,
  request: Request,
  attempt: () => Promise<Attempted<T>>,
): Promise<Attempted<T>> {
  // Few operations find a cache in their way, so the timer starts only then.
  let deadline: Deadline | undefined
  try {
    for (;;) {
      const attempted = await attempt()
      if ('value' in attempted || !isBreaks(attempted.need)) return attempted
      deadline ??= startDeadline(service, waitMsOf(request))
      await breakAndWait(service, attempted.need, deadline)
      if (deadline.isOver()) throw new StorageError('ClientCacheFlushDelay')
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

/** Listens before it asks the client, so as not to miss an early answer. */
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
