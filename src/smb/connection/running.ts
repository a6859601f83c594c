// Requests that are under way on a connection, so that CANCEL finds them ([MS-SMB2] 3.3.5.16): by their AsyncId
// once the client was told to wait, by their MessageId at any time, even before they begin to wait.
import type { Smb2Header } from '../wire/header.ts'

export type RunningRequest = {
  readonly messageId: bigint
  /** There when the client has been told to wait. */
  asyncId: bigint | undefined
  isCancelled: boolean
  /** There while it waits. */
  cancel: (() => void) | undefined
}

export type RunningRequests = {
  begin(messageId: bigint): RunningRequest
  end(request: RunningRequest): void
  /** It waits now; one that was cancelled before is not kept waiting. Whether the client is still to be told. */
  wait(request: RunningRequest, cancel: () => void): boolean
  /** Gives it the AsyncId that its client is told. */
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
        // Not at once: who calls has not begun to wait yet.
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
