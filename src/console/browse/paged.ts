// A list in pages: the next page is loaded when somebody scrolls to the end of the last one.
import { messageOf } from '../page/api/call.ts'
import {
  html,
  signal,
  useEffect,
  useMemo,
  type ReadonlySignal,
  type VNode,
} from '../page/library.ts'
import { entries } from '../page/live/journal.ts'
import { isRead } from '../page/pages/journal/filter.ts'
import { runId } from '../page/live/connection.ts'
import { Button } from '../page/ui/button.ts'
import { Empty, Failure, Loading } from '../page/ui/states.ts'

export type PageOf<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined }

export type PagedState<Row> = {
  readonly rows: readonly Row[]
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly isLoaded: boolean
  readonly failure: string | undefined
  /** Something has changed that the list does not show. */
  readonly isStale: boolean
}

export type Paged<Row> = {
  readonly state: ReadonlySignal<PagedState<Row>>
  more(): void
  reload(): Promise<void>
  /** Loads again if that shows no less than before, and otherwise says that it may be done. */
  changed(): void
  stop(): void
}

type Load<Row> = (marker: string | undefined, signal: AbortSignal) => Promise<PageOf<Row>>

/** A hook; another `key` is another list. */
export function usePaged<Row>(key: string, load: Load<Row>): Paged<Row> {
  const run = runId.value
  const paged = useMemo(() => pagedOf(load), [key, run])
  useEffect(() => {
    void paged.reload()
    return () => paged.stop()
  }, [paged])
  return paged
}

const FRESH = {
  hasMore: false,
  isLoading: true,
  isLoaded: false,
  failure: undefined,
  isStale: false,
}

function pagedOf<Row>(load: Load<Row>): Paged<Row> {
  const state = signal<PagedState<Row>>({ ...FRESH, rows: [] })
  let rows: readonly Row[] = []
  let marker: string | undefined
  let pageCount = 0
  let running: AbortController | undefined
  const next = async (from: string | undefined): Promise<void> => {
    running?.abort()
    const own = (running = new AbortController())
    state.value = { ...state.peek(), isLoading: true }
    try {
      const page = await load(from, own.signal)
      if (from === undefined) [rows, pageCount] = [[], 0]
      // A new array: a component whose properties are the same is not shown again.
      rows = [...rows, ...page.rows]
      marker = page.next
      pageCount += 1
      state.value = {
        ...FRESH,
        rows,
        hasMore: marker !== undefined,
        isLoading: false,
        isLoaded: true,
      }
    } catch (error) {
      if (!own.signal.aborted)
        state.value = { ...state.peek(), isLoading: false, failure: messageOf(error) }
    } finally {
      if (running === own) running = undefined
    }
  }
  return {
    state,
    more: () => {
      if (running === undefined && marker !== undefined) void next(marker)
    },
    reload: () => next(undefined),
    changed: () => {
      if (pageCount > 1) state.value = { ...state.peek(), isStale: true }
      else if (running === undefined) void next(undefined)
    },
    stop: () => running?.abort(),
  }
}

const SETTLE_MS = 250

/** A hook: calls back when a request of anybody has changed something at or below the resource. */
export function useChanges(resource: string, changed: () => void): void {
  useEffect(() => {
    let lastId = entries.peek().at(-1)?.id ?? 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = entries.subscribe((all) => {
      const isNews = all.some(
        (entry) =>
          entry.id > lastId &&
          entry.errorCode === undefined &&
          (entry.resource === resource || entry.resource.startsWith(`${resource}/`)) &&
          !isRead(entry.operation),
      )
      lastId = all.at(-1)?.id ?? lastId
      if (isNews) timer ??= setTimeout(() => ((timer = undefined), changed()), SETTLE_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [resource, changed])
}

type ShownProps<Row> = {
  readonly paged: Paged<Row>
  readonly empty: VNode | string
  readonly children: (rows: readonly Row[]) => unknown
}

/** The list, or what there is to say instead of it. */
export function PagedView<Row>({ paged, empty, children }: ShownProps<Row>): VNode {
  const { rows, isLoaded, failure, isStale } = paged.state.value
  return html`
    ${failure !== undefined && html`<${Failure}>${failure} <${Button} onClick=${() => paged.reload()}>Try again<//><//>`}
    ${isStale && html`<p class="stale" role="status">Something has changed. <${Button} icon="refresh" onClick=${() => paged.reload()}>Load again<//></p>`}
    ${rows.length > 0 && children(rows)}
    ${rows.length === 0 && failure === undefined && (isLoaded ? (typeof empty === 'string' ? html`<${Empty} icon="folder" title=${empty} />` : empty) : html`<${Loading} />`)}
  `
}
