// The requests in progress on a connection, where CANCEL finds them ([MS-SMB2] 3.3.5.16): by AsyncId after an interim
// response, by MessageId at any time, even before they start to wait.
import type { Smb2Header } from '../wire/header.ts'

export type RunningRequest = {
  readonly messageId: bigint
  /** Set once there was an interim response. */
  asyncId: bigint | undefined
  isCancelled: boolean
  /** Set while it waits. */
  cancel: (() => void) | undefined
}

export type RunningRequests = {
  begin(messageId: bigint): RunningRequest
  end(request: RunningRequest): void
  /** Starts a wait, or cancels it at once if the request was cancelled before. Whether an interim response is due. */
  wait(request: RunningRequest, cancel: () => void): boolean
  /** Assigns the AsyncId of the interim response. */
  goAsync(request: RunningRequest): bigint
  cancel(named: Pick<Smb2Header, 'asyncId' | 'messageId'>): void
  cancelAll(): void
}

export function createRunningRequests(): RunningRequests {
  const running = new Map<bigint, RunningRequest>()
  const byAsyncId = new Map<bigint, RunningRequest>()
  let nextAsyncId = 1n
  const cancel = (request: RunningRequest | undefined): void => {
    if (request === undefined) return
    request.isCancelled = true
    request.cancel?.()
  }
  return {
    begin(messageId) {
      const request = { messageId, asyncId: undefined, isCancelled: false, cancel: undefined }
      running.set(messageId, request)
      return request
    },
    end({ messageId, asyncId }) {
      running.delete(messageId)
      if (asyncId !== undefined) byAsyncId.delete(asyncId)
    },
    wait(request, then) {
      request.cancel = then
      if (request.isCancelled) {
        // Deferred: the caller has not started to wait yet.
        queueMicrotask(then)
        return false
      }
      return request.asyncId === undefined
    },
    goAsync(request) {
      const asyncId = nextAsyncId++
      request.asyncId = asyncId
      byAsyncId.set(asyncId, request)
      return asyncId
    },
    cancel({ asyncId, messageId }) {
      cancel(asyncId === undefined ? running.get(messageId) : byAsyncId.get(asyncId))
    },
    cancelAll() {
      for (const request of running.values()) cancel(request)
    },
  }
}
