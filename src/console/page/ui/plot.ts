// A live plot of some lines over time (uPlot, on a canvas). The numbers are in the page as text as well.
import uPlot from 'uplot'
import { html, useEffect, useRef, type VNode } from '../library.ts'
import { isDark } from '../theme.ts'

export type Series = {
  readonly title: string
  /** The name of a color of style/base.css, such as `--accent`. */
  readonly color: string
  readonly values: readonly (number | undefined)[]
}

type PlotProps = {
  readonly label: string
  /** Seconds since 1970, one for each value. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly height?: number
}

export function Plot(props: PlotProps): VNode {
  const { label, times, series, height = 150 } = props
  const place = useRef<HTMLElement | null>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const dark = isDark()
  const titles = series.map(({ title }) => title).join()
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const made = new uPlot(optionsOf(props, element, height), [[]], element)
    plot.current = made
    const fit = (): void => made.setSize({ width: element.clientWidth, height })
    const observer = new ResizeObserver(fit)
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [dark, titles, height])
  useEffect(() => {
    const lines = series.map(({ values }) => values.map((value) => value ?? null))
    plot.current?.setData([[...times], ...lines])
  }, [times, series, dark])
  return html`<div
    class="plot"
    role="img"
    aria-label=${label}
    ref=${place}
    style=${{ height: `${height}px` }}
  ></div>`
}

/** Before there are values, they are null. */
function xRange(min: number | null, max: number | null): [number, number] {
  const to = max ?? Date.now() / 1_000
  return [Math.min(min ?? to, to - SHOWN_SECONDS), to]
}

/** At least: a plot that has just begun is not stretched. */
const SHOWN_SECONDS = 30

function optionsOf(
  { series, format }: PlotProps,
  element: HTMLElement,
  height: number,
): uPlot.Options {
  const color = (name: string): string => resolved(element, name)
  const axis = { stroke: color('--muted'), font: '11px system-ui, sans-serif' }
  const grid = { stroke: color('--line'), width: 1 }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 5 } },
    scales: { x: { range: (_plot, min, max) => xRange(min, max) }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, grid: { show: false }, ticks: { show: false }, size: 22, space: 70, incrs: [5, 10, 30, 60, 120], values: (_plot, at) => at.map(clockText) },
      { ...axis, grid, ticks: { show: false }, size: 52, values: (_plot, at) => at.map(format) },
    ],
    series: [
      {},
      ...series.map(({ title, color: name }) => ({
        label: title,
        stroke: color(name),
        fill: `color-mix(in srgb, ${color(name)} 12%, transparent)`,
        width: 1.5,
        points: { show: false },
      })),
    ],
  } // prettier-ignore
}

/** A canvas knows no variables, nor the colors that depend on the theme. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function clockText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19)
}
