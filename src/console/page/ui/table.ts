// A table of any length: only the rows in view, and some around them, are in the page. All rows have the same height.
import { html, useEffect, useLayoutEffect, useRef, useState, type VNode } from '../library.ts'
import { isNarrow } from '../screen.ts'

export type Column<Row> = {
  /** Empty: buttons. */
  readonly title: string
  /** As in grid-template-columns, such as `8em` or `minmax(6em, 2fr)`. */
  readonly width: string
  readonly isNumber?: boolean
  /** If there is no room, its beginning is cut, not its end. */
  readonly isPath?: boolean
  /** Left out in narrow windows. */
  readonly isExtra?: boolean
  cell(row: Row): unknown
}

type TableProps<Row> = {
  /** What the table lists, for screen readers. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  keyOf(row: Row): string | number
  /** More classes of a row. */
  classOf?(row: Row): string
  /** Called when the end of the list comes into view: load more. */
  readonly onEnd?: () => void
  /** New rows are at the end, and the table follows them while it is scrolled there. */
  readonly followsEnd?: boolean
  /** By default, the table is as high as its rows, but no higher than this part of the window. */
  readonly height?: string
}

const ROW_PX = 34
const AROUND = 12

type View = { readonly first: number; readonly count: number }

export function Table<Row>(props: TableProps<Row>): VNode {
  const { label, rows, keyOf, classOf, height } = props
  const columns = isNarrow.value
    ? props.columns.filter(({ isExtra }) => isExtra !== true)
    : props.columns
  const [body, view] = useView(props)
  const first = Math.max(0, Math.min(view.first, rows.length) - AROUND)
  const seen = rows.slice(first, view.first + view.count + AROUND)
  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') }
  const cellClass = ({ isNumber, isPath }: Column<Row>): string =>
    isNumber === true ? 'number' : isPath === true ? 'path' : ''
  return html`<div class="table" role="table" aria-label=${label} aria-rowcount=${rows.length + 1}>
    <div role="rowgroup" class="table-head">
      <div role="row" aria-rowindex="1" style=${template}>
        ${columns.map((column) => html`<div role="columnheader" class=${cellClass(column)}>${column.title || html`<span class="visually-hidden">Actions</span>`}</div>`)}
      </div>
    </div>
    <div role="rowgroup" class="table-body" tabindex="0" ref=${body} style=${{ maxHeight: height }}>
      <div role="presentation" class="table-rows" style=${{ height: `${rows.length * ROW_PX}px` }}>
        ${seen.map((row, at) => {
          const style = { ...template, transform: `translateY(${(first + at) * ROW_PX}px)` }
          return html`<div
            role="row"
            key=${keyOf(row)}
            class=${classOf?.(row) ?? ''}
            aria-rowindex=${first + at + 2}
            style=${style}
          >
            ${columns.map((column) => html`<div role="cell" class=${cellClass(column)}>${column.cell(row)}</div>`)}
          </div>`
        })}
      </div>
    </div>
  </div>`
}

/** Which rows are in view. */
function useView<Row>({ rows, onEnd, followsEnd }: TableProps<Row>) {
  const body = useRef<HTMLElement | null>(null)
  const [view, setView] = useState<View>({ first: 0, count: 40 })
  const isAtEnd = useRef(true)
  const measure = (): void => {
    const element = body.current
    if (element === null) return
    const { scrollTop, clientHeight, scrollHeight } = element
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - ROW_PX
    const next = { first: Math.floor(scrollTop / ROW_PX), count: Math.ceil(clientHeight / ROW_PX) }
    setView((known) => (known.first === next.first && known.count === next.count ? known : next))
    if (isAtEnd.current) onEnd?.()
  }
  const latest = useRef(measure)
  latest.current = measure
  useEffect(() => {
    const element = body.current
    if (element === null) return undefined
    const onScroll = (): void => latest.current()
    const observer = new ResizeObserver(onScroll)
    observer.observe(element)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [])
  useLayoutEffect(() => {
    const element = body.current
    if (followsEnd === true && isAtEnd.current && element !== null)
      element.scrollTop = element.scrollHeight
    measure()
  }, [rows.length, rows.at(-1)])
  return [body, view] as const
}
