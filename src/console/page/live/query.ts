// An answer of the API that a page shows and keeps current: asked for when the page appears, again every so often, and
// whenever the server has been started again.
import { get, messageOf, type Query } from '../api/call.ts'
import { isTokenNeeded } from '../api/token.ts'
import { signal, useEffect, useMemo, type ReadonlySignal } from '../library.ts'
import { runId } from './connection.ts'

export type Answer<T> = {
  /** undefined: nothing has come yet. */
  readonly value: T | undefined
  /** Why the last question failed; `value` is then what was known before. */
  readonly failure: string | undefined
  /** `performance.now()` when the value came. */
  readonly atMs: number
}

export type LiveAnswer<T> = {
  readonly answer: ReadonlySignal<Answer<T>>
  /** Asks now, such as after a change. */
  refresh(): Promise<void>
}

type Asking = {
  /** Left out: asked only once. */
  readonly everyMs?: number
  readonly query?: Query
}

/** A hook. `path` is below /api/; undefined: nothing is asked. */
export function useAnswer<T>(
  path: string | undefined,
  { everyMs, query = {} }: Asking = {},
): LiveAnswer<T> {
  const key = `${path} ${JSON.stringify(query)}`
  const live = useMemo(() => liveAnswer<T>(path, query), [key])
  const run = runId.value
  useEffect(() => {
    void live.refresh()
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (!document.hidden && !isTokenNeeded.value) void live.refresh()
    }, everyMs)
    return () => clearInterval(timer)
  }, [key, everyMs, run])
  useEffect(() => () => live.stop(), [key])
  return live
}

function liveAnswer<T>(path: string | undefined, query: Query) {
  const answer = signal<Answer<T>>({ value: undefined, failure: undefined, atMs: 0 })
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const ask = async (): Promise<void> => {
    if (path === undefined) return
    try {
      const value = await get<T>(path, query, stopping.signal)
      answer.value = { value, failure: undefined, atMs: performance.now() }
    } catch (error) {
      if (!stopping.signal.aborted) answer.value = { ...answer.peek(), failure: messageOf(error) }
    }
  }
  return {
    answer,
    refresh: () => (running ??= ask().finally(() => (running = undefined))),
    stop: () => stopping.abort(),
  }
}
