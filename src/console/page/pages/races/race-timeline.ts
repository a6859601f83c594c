// The part of a resource's timeline in which a race happened, for a picture within the card of the race.
import type { Race } from '../../../../control/api.ts'
import type { Timeline } from '../../../../control/timeline.ts'
import { html, useState, type VNode } from '../../library.ts'
import { useAnswer } from '../../live/query.ts'
import { Picture } from '../../timeline/picture.ts'
import { endMs, startMs } from '../../timeline/scale.ts'
import type { Versions } from '../../timeline/versions.ts'

const COUNT_MAX = 1_000
/** Requests before and behind it. */
const AROUND = 1

/** A hook. undefined: it is not loaded yet, or the journal no longer has the requests. */
export function useTimelineAround(race: Race, isAsked: boolean): Timeline | undefined {
  const query = { resource: race.resource, countMax: COUNT_MAX }
  const { answer } = useAnswer<Timeline>(isAsked ? 'timeline' : undefined, { query })
  const whole = answer.value.value
  return whole && around(whole, race)
}

function around({ entries, periods }: Timeline, race: Race): Timeline | undefined {
  const [first, last] = [race.entries[0]?.id, race.entries.at(-1)?.id]
  const from = entries.findIndex(({ id }) => id === first)
  const to = entries.findIndex(({ id }) => id === last)
  if (from < 0 || to < 0) return undefined
  const own = entries.slice(Math.max(0, from - AROUND), to + AROUND + 1)
  const startedMs = Math.min(...own.map(startMs))
  const endedMs = Math.max(...own.map(endMs))
  const seen = periods.filter((period) => {
    const isBefore = period.to !== undefined && Date.parse(period.to) < startedMs
    return !isBefore && Date.parse(period.from) <= endedMs
  })
  return { entries: own, periods: seen }
}

type RaceTimelineProps = {
  readonly race: Race
  readonly timeline: Timeline
  readonly versions: Versions | undefined
}

const UNIT_PX = 130

export function RaceTimeline({ race, timeline, versions }: RaceTimelineProps): VNode {
  const [pointed, setPointed] = useState<string | undefined>(undefined)
  return html`<${Picture}
      timeline=${timeline}
      versions=${versions}
      races=${[race]}
      scaleKind="order"
      unitPx=${UNIT_PX}
      onPoint=${setPointed}
    />
    <p class="pointed" aria-live="polite">
      ${pointed ?? 'Point at a request, or reach it with the Tab key, to read what it did.'}
    </p>`
}
