// The picture: the object's versions on top, and a lane for each client below. Names of the lanes stay in view while the rest
// scrolls. Everything in it can be reached with the keyboard, and is in the table below as text.
import type { JournalEntry, Race } from '../../../control/api.ts'
import type { Period, Timeline } from '../../../control/timeline.ts'
import {
  html,
  signal,
  useEffect,
  useMemo,
  useRef,
  type ReadonlySignal,
  type VNode,
} from '../library.ts'
import { linkTo } from '../router.ts'
import { toneOf } from '../ui/badge.ts'
import { duration, timeOfDay } from '../ui/format.ts'
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
  /** The entry that is marked, and shown first. */
  readonly selected?: number | undefined
  /** Gets what the mouse or the focus is on, in words. */
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
  const leftPx = useMemo(() => signal(0), [])
  const top = versions === undefined ? 0 : VERSIONS
  const heights = lanes.map(heightOf)
  const tops = heights.map(
    (_, at) => top + heights.slice(0, at).reduce((sum, each) => sum + each, 0),
  )
  const height = (tops.at(-1) ?? top) + (heights.at(-1) ?? 0)
  const width = Math.ceil(scale.length * unitPx)
  const drawing: Drawing = { ...props, scale, marks, leftPx }
  const first = selected ?? races.at(-1)?.entries[0]?.id
  const onScroll = useScroll(
    scroller,
    timeline.entries,
    first,
    (entry) => scale.of(entry).from * unitPx,
  )
  return html`<div class="timeline">
    <div class="lane-names" aria-hidden="true">
      ${versions && html`<div class="lane-name object" style=${{ height: `${VERSIONS}px` }}>Versions</div>`}
      ${lanes.map(({ client }, at) => html`<div class="lane-name" title=${client} style=${{ height: `${heights[at]}px` }}>${client}</div>`)}
    </div>
    <div
      class="lanes"
      tabindex="0"
      role="region"
      aria-label="The timeline"
      ref=${scroller}
      onScroll=${() => {
        onScroll()
        leftPx.value = scroller.current?.scrollLeft ?? 0
      }}
    >
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
  /** What is left of here is out of view: texts of long bands stay in view. */
  readonly leftPx: ReadonlySignal<number>
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

const SHOWN_BEFORE_PX = 24

/** Shows one entry, or the end. At the end, it follows new entries; elsewhere it stays where it is. */
function useScroll(
  scroller: { readonly current: HTMLElement | null },
  entries: readonly JournalEntry[],
  first: number | undefined,
  leftOf: (entry: JournalEntry) => number,
): () => void {
  const isAtEnd = useRef(true)
  useEffect(() => {
    const element = scroller.current
    const entry = entries.find(({ id }) => id === first)
    if (element === null || entry === undefined) return
    element.scrollLeft = leftOf(entry) - SHOWN_BEFORE_PX
    isAtEnd.current = false
  }, [first])
  useEffect(() => {
    const element = scroller.current
    if (element !== null && isAtEnd.current) element.scrollLeft = element.scrollWidth
  }, [entries.at(-1)?.id])
  return () => {
    const element = scroller.current
    if (element === null) return
    isAtEnd.current = element.scrollLeft + element.clientWidth >= element.scrollWidth - 2
  }
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
  const { versions, timeline, scale, unitPx, leftPx, onPoint } = drawing
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
      const words = `Version ${number}, ETag ${etag}${isLost ? ': overwritten by a client that had not seen it.' : '.'}`
      return html`<g
        class=${`version${tintOf(number)}${isLost ? ' lost' : ''}`}
        ...${pointing(words, onPoint)}
      >
        <rect x=${x} y="8" width=${w} height="26" rx="5" />
        <${BandText} text=${label} x=${x} end=${x + w} y="26" leftPx=${leftPx} />
      </g>`
    })}
  </g>`
}

function pointing(words: string, onPoint: PictureProps['onPoint']) {
  const [enter, leave] = [() => onPoint(words), () => onPoint(undefined)]
  return { onMouseEnter: enter, onMouseLeave: leave, onFocus: enter, onBlur: leave }
}

type BandTextProps = {
  readonly text: string
  readonly x: number
  readonly end: number
  readonly y: number
  readonly leftPx: ReadonlySignal<number>
}

/** Left in its band, as far as that is in view; nothing where there is no room. */
function BandText({ text, x, end, y, leftPx }: BandTextProps): VNode | undefined {
  const from = Math.max(x, leftPx.value)
  const hasRoom = end - from > text.length * LETTER + 12
  return hasRoom ? html`<text x=${from + 7} y=${y}>${text}</text>` : undefined
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
    ${lane.bands.map((band) => html`<${BandView} band=${band} y=${barsEnd + band.row * BAND} drawing=${drawing} />`)}
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
  // The texts are not in the link: its name says more, in other words.
  return html`<g class=${`bar ${kind}`}>
    <a href=${linkTo(`journal/${entry.id}`)} aria-label=${words} ...${pointing(words, onPoint)}>
      <rect x=${x} y=${y} width=${width} height="26" rx="5" />
      ${entry.isConflict && html`<path class="cross" d=${`M${x + width - 3} ${y - 3}l7 7m0 -7l-7 7`} />`}
    </a>
    <g class="bar-texts" aria-hidden="true">
      ${mark && html`<circle cx=${x + 14} cy=${y + 13} r="9" /><text class="step" x=${x + 14} y=${y + 17}>${mark.step}</text>`}
      ${text !== '' && html`<text x=${x + (mark === undefined ? 7 : 28)} y=${y + 17}>${text}</text>`}
    </g>
  </g>`
}

/** From the longest to the shortest. */
function barTexts(entry: JournalEntry, versions: Versions | undefined): readonly string[] {
  const { operation } = entry
  const about = aboutOf(entry, versions)
  const verb = operation.split(' ')[0] ?? ''
  // Nobody doubts that it is a blob.
  const short = operation.replace(/ (Blob|File|Container|Share|Queue|Table|Directory)\b/, '')
  const whole = [operation, short, verb].map((text) => `${text} ${about}`.trim())
  return [...whole, about, verb].filter((text) => text !== '')
}

function aboutOf(entry: JournalEntry, versions: Versions | undefined): string {
  if (entry.errorCode !== undefined) return String(entry.status)
  const [seen, made] = [versions?.seenBy(entry), versions?.madeBy(entry)]
  if (made !== undefined) return `→ v${made}`
  return seen === undefined ? '' : `v${seen}`
}

function fitted(texts: readonly string[], width: number): string {
  return texts.find((text) => text.length * LETTER <= width) ?? ''
}

const KINDS = { lease: 'lease', message: 'invisible', open: 'open', lock: 'locked' } as const

const HOLDINGS = {
  lease: 'has a lease on', message: 'has got a message of', open: 'has opened', lock: 'has locked a range of',
} as const // prettier-ignore

type BandProps = { readonly band: Band; readonly y: number; readonly drawing: Drawing }

function BandView({ band, y, drawing }: BandProps): VNode {
  const { period, from, to } = band
  const { unitPx, leftPx, onPoint } = drawing
  const x = from * unitPx
  const width = Math.max(3, (to - from) * unitPx)
  return html`<g class=${`band ${period.kind}`} ...${pointing(periodInWords(period), onPoint)}>
    <rect x=${x} y=${y} width=${width} height="16" rx="3" />
    <${BandText} text=${KINDS[period.kind]} x=${x} end=${x + width} y=${y + 12} leftPx=${leftPx} />
  </g>`
}

function periodInWords({ kind, client, object, from, to, endedBy }: Period): string {
  const until = to === undefined ? 'until its client ends it' : `until ${timeOfDay(to)}`
  const ended = endedBy === undefined ? '' : `, ended by ${endedBy}`
  return `${client} ${HOLDINGS[kind]} ${object} from ${timeOfDay(from)} ${until}${ended}.`
}
