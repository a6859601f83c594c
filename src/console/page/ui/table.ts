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

/** Browsers limit the height of an element: Chromium to 33 million pixels, Firefox to 17 million. */
const HEIGHT_MAX_PX = 10_000_000

/** `shiftPx`: of a list that is longer than an element can be, scrolling moves more than it shows. */
type View = { readonly first: number; readonly count: number; readonly shiftPx: number }

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
      <div role="presentation" class="table-rows" style=${{ height: `${heightOf(rows.length)}px` }}>
        ${seen.map((row, at) => {
          const style = {
            ...template,
            transform: `translateY(${(first + at) * ROW_PX + view.shiftPx}px)`,
          }
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

function isSame(a: View, b: View): boolean {
  return a.first === b.first && a.count === b.count && a.shiftPx === b.shiftPx
}

function heightOf(rowCount: number): number {
  return Math.min(rowCount * ROW_PX, HEIGHT_MAX_PX)
}

/** How far the rows move for each pixel that somebody scrolls. */
function paceOf(rowCount: number, { clientHeight }: HTMLElement): number {
  const room = heightOf(rowCount) - clientHeight
  return room > 0 ? (rowCount * ROW_PX - clientHeight) / room : 1
}

function viewOf(rowCount: number, element: HTMLElement): View {
  const topPx = element.scrollTop * paceOf(rowCount, element)
  const count = Math.ceil(element.clientHeight / ROW_PX)
  return { first: Math.floor(topPx / ROW_PX), count, shiftPx: element.scrollTop - topPx }
}

/** Which rows are in view. */
function useView<Row>({ rows, onEnd, followsEnd }: TableProps<Row>) {
  const body = useRef<HTMLElement | null>(null)
  const [view, setView] = useState<View>({ first: 0, count: 40, shiftPx: 0 })
  const isAtEnd = useRef(true)
  const measure = (): void => {
    const element = body.current
    if (element === null) return
    const { scrollTop, clientHeight, scrollHeight } = element
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - ROW_PX
    const next = viewOf(rows.length, element)
    setView((known) => (isSame(known, next) ? known : next))
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
    if (element === null) return
    if (followsEnd === true && isAtEnd.current) element.scrollTop = element.scrollHeight
    // The same rows stay in view, though there are others behind them now.
    else if (heightOf(rows.length) === HEIGHT_MAX_PX)
      element.scrollTop = (element.scrollTop - view.shiftPx) / paceOf(rows.length, element)
    measure()
  }, [rows.length, rows.at(-1)])
  return [body, view] as const
}
