// The timeline of one resource: who did what when, who held it, and who lost.
import type { JournalEntry, Race } from '../../../control/api.ts'
import type { Timeline } from '../../../control/timeline.ts'
import { html, useEffect, useMemo, useState, type VNode } from '../library.ts'
import { entries as journalEntries, isJournalLoaded, journalFailure } from '../live/journal.ts'
import { useAnswer } from '../live/query.ts'
import { races as allRaces } from '../live/races.ts'
import { changeQuery, goTo, linkTo, place } from '../router.ts'
import { Picture } from '../timeline/picture.ts'
import { SCALES, type ScaleKind } from '../timeline/scale.ts'
import { inWords } from '../timeline/story.ts'
import { versionsWithin, type Versions } from '../timeline/versions.ts'
import { StatusBadge } from '../ui/badge.ts'
import { Button } from '../ui/button.ts'
import { Field } from '../ui/field.ts'
import { plural, timeOfDay } from '../ui/format.ts'
import { ResourceLink } from '../ui/resource.ts'
import { Empty, Failure, Loading, shown } from '../ui/states.ts'
import { Table, type Column } from '../ui/table.ts'
import { isWithin } from './journal/filter.ts'
import { RaceCard } from './races/race-card.ts'

export function TimelinePage(): VNode {
  const resource = place.value.query.get('resource') ?? ''
  return html`
    <div class="page-head"><h1>Timeline</h1></div>
    <${Chooser} resource=${resource} key=${resource} />
    ${resource === '' ? html`<${Suggestions} />` : html`<${OfResource} resource=${resource} key=${resource} />`}
  `
}

const PROPOSED_MAX = 200

function Chooser({ resource }: { readonly resource: string }): VNode {
  const [text, setText] = useState(resource)
  const known = [...new Set(journalEntries.value.map((entry) => entry.resource))].slice(
    -PROPOSED_MAX,
  )
  const submit = (event: Event): void => {
    event.preventDefault()
    goTo('timeline', { resource: text })
  }
  return html`<form class="chooser" role="search" aria-label="Choose a resource" onSubmit=${submit}>
    <${Field}
      label="Resource"
      hasHiddenLabel
      placeholder="/account/container/blob"
      value=${text}
      onChange=${setText}
      proposals=${known}
    />
    <${Button} type="submit" kind="primary">Show<//>
  </form>`
}

type Busy = {
  readonly resource: string
  readonly count: number
  readonly clients: number
  readonly conflicts: number
  readonly races: number
}

const SUGGESTED_MAX = 30

/** What several clients have used, first of all what they have fought for. */
function Suggestions(): VNode {
  const busy = useMemo(
    () => busiest(journalEntries.value, allRaces.value ?? []),
    [journalEntries.value, allRaces.value],
  )
  if (journalFailure.value !== undefined) return html`<${Failure}>${journalFailure.value}<//>`
  if (!isJournalLoaded.value) return html`<${Loading} what="Loading the journal" />`
  if (busy.length === 0)
    return html`<${Empty} icon="timeline" title="No requests yet"
      >As soon as clients send requests, the resources that they use are listed here.<//
    >`
  return html`<section class="card" aria-labelledby="busy">
    <h2 id="busy">Busy resources</h2>
    <ul class="plain busy">
      ${busy.map(
        ({ resource, count, clients, conflicts, races }) =>
          html`<li key=${resource}>
            <${ResourceLink} resource=${resource} />
            <span class="muted">${plural(clients, 'client')}, ${plural(count, 'request')}</span>
            ${conflicts > 0 && html`<span class="badge warn">${plural(conflicts, 'conflict')}</span>`}
            ${races > 0 && html`<span class="badge bad">${plural(races, 'race')}</span>`}
          </li>`,
      )}
    </ul>
  </section>`
}

function busiest(entries: readonly JournalEntry[], races: readonly Race[]): readonly Busy[] {
  const byResource = Map.groupBy(entries, ({ resource }) => resource)
  return [...byResource]
    .map(([resource, own]) => ({
      resource,
      count: own.length,
      clients: new Set(own.map(({ client }) => client.name)).size,
      conflicts: own.filter(({ isConflict }) => isConflict).length,
      races: races.filter((race) => !race.isHarmless && race.resource === resource).length,
    }))
    .sort((a, b) => b.races - a.races || b.conflicts - a.conflicts || b.clients - a.clients || b.count - a.count)
    .slice(0, SUGGESTED_MAX)
} // prettier-ignore

const COUNT_MAX = 200

function OfResource({ resource }: { readonly resource: string }): VNode {
  const { answer, refresh } = useAnswer<Timeline>('timeline', {
    query: { resource, countMax: COUNT_MAX },
  })
  const newest = journalEntries.value.findLast((entry) => isWithin(entry.resource, resource))?.id
  useEffect(() => void refresh(), [newest])
  const own = (allRaces.value ?? []).filter(
    (race) => !race.isHarmless && isWithin(race.resource, resource),
  )
  return html`${shown(answer.value, (timeline) =>
    timeline.entries.length === 0
      ? html`<${Empty} icon="timeline" title="No requests to this resource"
          >The journal has none, or no longer. They appear here as soon as there are some.<//
        >`
      : html`<${View} resource=${resource} timeline=${timeline} races=${own} />`,
  )}`
}

type ViewProps = {
  readonly resource: string
  readonly timeline: Timeline
  readonly races: readonly Race[]
}

const UNITS = [40, 60, 90, 130, 190, 280, 420] as const
const UNIT_AT_FIRST = 3
const STORIES_MAX = 3

function View({ resource, timeline, races }: ViewProps): VNode {
  const [zoom, setZoom] = useState(UNIT_AT_FIRST)
  const [pointed, setPointed] = useState<string | undefined>(undefined)
  const { query } = place.value
  const scaleKind: ScaleKind = query.get('scale') === 'time' ? 'time' : 'order'
  const selected = Number(query.get('entry') ?? '') || undefined
  const shownIds = new Set(timeline.entries.map(({ id }) => id))
  const seen = races.filter(({ entries }) => entries.every(({ id }) => shownIds.has(id)))
  const versions = useMemo(
    () => versionsWithin(resource, timeline.entries, seen),
    [timeline, seen.length],
  )
  return html`
    ${seen.slice(-STORIES_MAX).map((race) => html`<${RaceCard} race=${race} versions=${versions} key=${race.entries.at(-1)?.id} isHere />`)}
    <section class="card picture" aria-labelledby="picture-title">
      <header class="between">
        <h2 id="picture-title">${plural(timeline.entries.length, 'request')}</h2>
        <div class="actions">
          <${Field}
            label="Scale"
            hasHiddenLabel
            value=${scaleKind}
            choices=${SCALES.map((value) => ({ value, title: SCALE_TITLES[value] }))}
            onChange=${(scale: string) => changeQuery({ scale })}
          />
          <${Button}
            icon="minus"
            label="Zoom out"
            isDisabled=${zoom === 0}
            onClick=${() => setZoom(zoom - 1)}
          />
          <${Button}
            icon="plus"
            label="Zoom in"
            isDisabled=${zoom === UNITS.length - 1}
            onClick=${() => setZoom(zoom + 1)}
          />
        </div>
      </header>
      <${Picture}
        timeline=${timeline}
        versions=${versions}
        races=${seen}
        scaleKind=${scaleKind}
        unitPx=${UNITS[zoom]}
        selected=${selected}
        onPoint=${setPointed}
      />
      <p class="pointed" aria-live="polite">
        ${pointed ?? 'Point at a request, or reach it with the Tab key, to read what it did.'}
      </p>
    </section>
    <${Rows} entries=${timeline.entries} versions=${versions} />
  `
}

const SCALE_TITLES: Readonly<Record<ScaleKind, string>> = { order: 'Order', time: 'Time' }

function Rows({
  entries,
  versions,
}: {
  readonly entries: readonly JournalEntry[]
  readonly versions: Versions | undefined
}): VNode {
  const columns = useMemo<readonly Column<JournalEntry>[]>(() => [
    { title: 'Time', width: '7rem', isExtra: true, cell: ({ time }) => html`<time datetime=${time}>${timeOfDay(time)}</time>` },
    { title: '#', width: '3.2rem', isNumber: true, cell: ({ id }) => html`<a href=${linkTo(`journal/${id}`)}>${id}</a>` },
    { title: 'Client', width: 'minmax(4rem, 0.8fr)', cell: ({ client }) => client.name },
    { title: 'Operation', width: 'minmax(6rem, 1.2fr)', cell: ({ operation }) => operation },
    { title: 'Status', width: 'minmax(5.4rem, 0.8fr)', cell: (entry) => html`<${StatusBadge} outcome=${entry} />` },
    { title: 'In words', width: 'minmax(8rem, 4fr)', isExtra: true, cell: (entry) => {
      const words = inWords(entry, versions)
      const text = words.slice(words.indexOf('. ') + 2)
      return html`<span title=${text}>${words.includes('. ') ? text : ''}</span>`
    } },
  ], [versions]) // prettier-ignore
  return html`<${Table}
    label="The same requests as a table"
    rows=${entries}
    columns=${columns}
    keyOf=${({ id }: JournalEntry) => id}
    classOf=${({ isConflict }: JournalEntry) => (isConflict ? 'conflict' : '')}
    height="24rem"
    followsEnd
  />`
}
