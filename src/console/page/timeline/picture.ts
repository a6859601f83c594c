// The picture: the object's versions on top, and a lane for each client below. Names of the lanes stay in view while the rest
// scrolls. Everything in it can be reached with the keyboard, and is in the table below as text.
import type { JournalEntry, Race } from '../../../control/api.ts'
import type { Timeline } from '../../../control/timeline.ts'
import { html, useEffect, useMemo, useRef, type VNode } from '../library.ts'
import { linkTo } from '../router.ts'
import { toneOf } from '../ui/badge.ts'
import { duration } from '../ui/format.ts'
import { lanesOf, type Band, type Bar, type Lane } from './lanes.ts'
import { scaleOf, type Scale, type ScaleKind } from './scale.ts'
import { inWords } from './story.ts'
import type { Versions } from './versions.ts'

export type PictureProps = {
  readonly timeline: Timeline
  /** undefined: the picture is about several objects. */
  readonly versions: Versions | undefined
  readonly races: readonly Race[]
  readonly scaleKind: ScaleKind
  /** Pixels of a unit. */
  readonly unitPx: number
  /** The entry that is shown first. */
  readonly selected: number | undefined
  readonly onPoint: (text: string | undefined) => void
}

const ROW = 30
const BAND = 20
const PAD = 10
const VERSIONS = 44

export function Picture(props: PictureProps): VNode {
  const { timeline, versions, races, scaleKind, unitPx, selected } = props
  const scale = useMemo(() => scaleOf(scaleKind, timeline.entries), [timeline, scaleKind])
  const lanes = useMemo(() => lanesOf(timeline.entries, timeline.periods, scale), [timeline, scale])
  const marks = useMemo(() => marksOf(races), [races])
  const scroller = useRef<HTMLElement | null>(null)
  const top = versions === undefined ? 0 : VERSIONS
  const heights = lanes.map(heightOf)
  const tops = heights.map(
    (_, at) => top + heights.slice(0, at).reduce((sum, each) => sum + each, 0),
  )
  const height = (tops.at(-1) ?? top) + (heights.at(-1) ?? 0)
  const width = Math.ceil(scale.length * unitPx)
  const drawing: Drawing = { ...props, scale, marks }
  useScroll(scroller, timeline.entries, selected, (entry) => scale.of(entry).from * unitPx)
  return html`<div class="timeline">
    <div class="lane-names" aria-hidden="true">
      ${versions && html`<div class="lane-name object" style=${{ height: `${VERSIONS}px` }}>Versions</div>`}
      ${lanes.map(({ client }, at) => html`<div class="lane-name" title=${client} style=${{ height: `${heights[at]}px` }}>${client}</div>`)}
    </div>
    <div class="lanes" tabindex="0" role="region" aria-label="The timeline" ref=${scroller}>
      <svg
        width=${width}
        height=${height}
        viewBox=${`0 0 ${width} ${height}`}
        role="group"
        aria-label="Requests of each client"
      >
        ${patterns()}
        ${lanes.map((_, at) => html`<rect class=${at % 2 === 0 ? 'lane' : 'lane odd'} x="0" y=${tops[at]} width=${width} height=${heights[at]} />`)}
        ${scale.pauses.map(({ at, ms }) => html`<g class="pause"><line x1=${at * unitPx} x2=${at * unitPx} y1="0" y2=${height} /><text x=${at * unitPx} y=${height - 4}>${duration(ms)} later</text></g>`)}
        ${versions && html`<${VersionBands} drawing=${drawing} width=${width} />`}
        ${lanes.map((lane, at) => html`<${LaneView} key=${lane.client} lane=${lane} y=${tops[at]} drawing=${drawing} />`)}
      </svg>
    </div>
  </div>`
}

type Drawing = PictureProps & {
  readonly scale: Scale
  /** Entries that are part of a race: their step, and whether they went wrong or were lost. */
  readonly marks: ReadonlyMap<number, Mark>
}

type Mark = { readonly step: number; readonly kind: 'known' | 'lost' | 'wrong' }

function marksOf(races: readonly Race[]): ReadonlyMap<number, Mark> {
  const marks = new Map<number, Mark>()
  for (const { entries } of races) {
    for (const [at, { id }] of entries.entries()) {
      const kind =
        at === entries.length - 1 ? 'wrong' : at === entries.length - 2 ? 'lost' : 'known'
      marks.set(id, { step: at + 1, kind })
    }
  }
  return marks
}

function heightOf({ barRows, bandRows }: Lane): number {
  return PAD * 2 + Math.max(1, barRows) * ROW + bandRows * BAND
}

/** Shows the end, or the selected entry. */
function useScroll(
  scroller: { readonly current: HTMLElement | null },
  entries: readonly JournalEntry[],
  selected: number | undefined,
  leftOf: (entry: JournalEntry) => number,
): void {
  const last = entries.at(-1)?.id
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const entry = entries.find(({ id }) => id === selected)
    element.scrollLeft =
      entry === undefined ? element.scrollWidth : leftOf(entry) - element.clientWidth / 3
  }, [selected, last])
}

function patterns(): VNode {
  return html`<defs>
    <pattern
      id="lost"
      width="8"
      height="8"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect width="8" height="8" class="lost-ground" /><rect
        width="3"
        height="8"
        class="lost-stripe"
      />
    </pattern>
  </defs>`
}

const TINTS = 5

function tintOf(number: number | undefined): string {
  return number === undefined ? '' : ` tint-${number % TINTS}`
}

function VersionBands({
  drawing,
  width,
}: {
  readonly drawing: Drawing
  readonly width: number
}): VNode {
  const { versions, timeline, scale, unitPx } = drawing
  const list = versions?.list ?? []
  const byId = new Map(timeline.entries.map((entry) => [entry.id, entry]))
  const from = list.map(({ by }) => {
    const entry = by === undefined ? undefined : byId.get(by)
    return entry === undefined ? 0 : scale.of(entry).to * unitPx
  })
  return html`<g class="versions">
    ${list.map(({ number, isLost, etag }, at) => {
      const x = from[at] ?? 0
      const end = from[at + 1] ?? width
      const w = Math.max(2, end - x - 2)
      const label = isLost ? `v${number} lost` : `v${number}`
      return html`<g class=${`version${tintOf(number)}${isLost ? ' lost' : ''}`}>
        <title>
          ${`Version ${number}, ETag ${etag}${isLost ? ': overwritten by a client that had not seen it' : ''}`}
        </title>
        <rect x=${x} y="8" width=${w} height="26" rx="5" />
        ${w > label.length * 8 && html`<text x=${x + 8} y="26">${label}</text>`}
      </g>`
    })}
  </g>`
}

function LaneView({
  lane,
  y,
  drawing,
}: {
  readonly lane: Lane
  readonly y: number
  readonly drawing: Drawing
}): VNode {
  const barsEnd = y + PAD + Math.max(1, lane.barRows) * ROW
  return html`<g>
    ${lane.bands.map((band) => html`<${BandView} band=${band} y=${barsEnd + band.row * BAND} unitPx=${drawing.unitPx} />`)}
    <${StaleKnowledge} lane=${lane} y=${y + PAD} drawing=${drawing} />
    ${lane.bars.map((bar) => html`<${BarView} key=${bar.entry.id} bar=${bar} y=${y + PAD + bar.row * ROW} drawing=${drawing} />`)}
  </g>`
}

/** From what a client has read to what it overwrites: it works with an old version. */
function StaleKnowledge({
  lane,
  y,
  drawing,
}: {
  readonly lane: Lane
  readonly y: number
  readonly drawing: Drawing
}): VNode {
  const { races, versions, unitPx } = drawing
  const known = races.flatMap(({ entries }) => {
    const [first, last] = [entries[0], entries.at(-1)]
    const from = lane.bars.find(({ entry }) => entry.id === first?.id)
    const to = lane.bars.find(({ entry }) => entry.id === last?.id)
    return from === undefined || to === undefined || from === to ? [] : [{ from, to }]
  })
  return html`<g class="stale">
    ${known.map(({ from, to }) => {
      const number = versions && (versions.madeBy(from.entry) ?? versions.seenBy(from.entry))
      const [x, end] = [from.to * unitPx, to.from * unitPx]
      const text = number === undefined ? '' : `still has v${number}`
      return html`<g class=${tintOf(number).trim()}>
        <rect x=${x} y=${y + 7} width=${Math.max(0, end - x)} height="12" />
        ${end - x > text.length * 6.5 && html`<text x=${(x + end) / 2} y=${y + 17}>${text}</text>`}
      </g>`
    })}
  </g>`
}

const LETTER = 6.7

function BarView({
  bar,
  y,
  drawing,
}: {
  readonly bar: Bar
  readonly y: number
  readonly drawing: Drawing
}): VNode {
  const { entry, from, to } = bar
  const { versions, unitPx, marks, selected, onPoint } = drawing
  const mark = marks.get(entry.id)
  const words = inWords(entry, versions)
  const x = from * unitPx
  const width = Math.max(5, (to - from) * unitPx)
  const room = width - (mark === undefined ? 12 : 32)
  const text = fitted(barTexts(entry, versions), room)
  const kind = `${toneOf(entry)}${mark === undefined ? '' : ` ${mark.kind}`}${entry.id === selected ? ' selected' : ''}`
  return html`<a
    class=${`bar ${kind}`}
    href=${linkTo(`journal/${entry.id}`)}
    aria-label=${words}
    onMouseEnter=${() => onPoint(words)}
    onMouseLeave=${() => onPoint(undefined)}
    onFocus=${() => onPoint(words)}
    onBlur=${() => onPoint(undefined)}
  >
    <rect x=${x} y=${y} width=${width} height="26" rx="5" />
    ${mark && html`<circle cx=${x + 14} cy=${y + 13} r="9" /><text class="step" x=${x + 14} y=${y + 17}>${mark.step}</text>`}
    ${text !== '' && html`<text x=${x + (mark === undefined ? 7 : 28)} y=${y + 17}>${text}</text>`}
    ${entry.isConflict && html`<path class="cross" d=${`M${x + width - 3} ${y - 3}l7 7m0 -7l-7 7`} />`}
  </a>`
}

/** From the longest to the shortest. */
function barTexts(entry: JournalEntry, versions: Versions | undefined): readonly string[] {
  const { operation, errorCode, status } = entry
  const [seen, made] = [versions?.seenBy(entry), versions?.madeBy(entry)]
  const about =
    errorCode !== undefined
      ? String(status)
      : made !== undefined
        ? `→ v${made}`
        : seen === undefined
          ? ''
          : `v${seen}`
  return [`${operation} ${about}`.trim(), about, operation.split(' ')[0] ?? '']
}

function fitted(texts: readonly string[], width: number): string {
  return texts.find((text) => text.length * LETTER <= width) ?? ''
}

const KINDS = { lease: 'lease', message: 'invisible', open: 'open', lock: 'locked' } as const

function BandView({
  band,
  y,
  unitPx,
}: {
  readonly band: Band
  readonly y: number
  readonly unitPx: number
}): VNode {
  const { period, from, to } = band
  const x = from * unitPx
  const width = Math.max(3, (to - from) * unitPx)
  const text = KINDS[period.kind]
  const until =
    period.to === undefined ? 'until its client ends it' : `until ${period.to.slice(11, 23)}`
  return html`<g class=${`band ${period.kind}`}>
    <title>
      ${`${text}: ${period.object}, from ${period.from.slice(11, 23)} ${until}${period.endedBy === undefined ? '' : `, ended by ${period.endedBy}`}`}
    </title>
    <rect x=${x} y=${y} width=${width} height="16" rx="3" />
    ${width > text.length * LETTER + 10 && html`<text x=${x + 6} y=${y + 12}>${text}</text>`}
  </g>`
}
