// What went wrong between clients, as far as the journal shows it.
import type { Race } from '../../../control/api.ts'
import { html, type VNode } from '../library.ts'
import { races, racesFailure } from '../live/races.ts'
import { isJournalLoaded, journalFailure } from '../live/journal.ts'
import { changeQuery, place } from '../router.ts'
import { Check } from '../ui/field.ts'
import { plural } from '../ui/format.ts'
import { Empty, Failure, Loading } from '../ui/states.ts'
import { RaceCard } from './races/race-card.ts'

export function RacesPage(): VNode {
  const showsHarmless = place.value.query.get('harmless') === 'true'
  const all = races.value
  const failure = racesFailure.value ?? journalFailure.value
  const found = (all ?? []).filter(({ isHarmless }) => showsHarmless || !isHarmless)
  const harmlessCount = (all ?? []).filter(({ isHarmless }) => isHarmless).length
  return html`
    <div class="page-head">
      <h1>Races</h1>
      ${harmlessCount > 0 && html`<${Check} label=${`Show ${plural(harmlessCount, 'harmless one')}`} isChecked=${showsHarmless} onChange=${(is: boolean) => changeQuery({ harmless: is ? 'true' : undefined })} />`}
    </div>
    ${failure !== undefined && html`<${Failure}>${failure}<//>`}
    ${journalFailure.value === undefined && html`<div aria-live="polite">${list(all, found)}</div>`}
  `
}

const SHOWN_MAX = 50
/** The others only have a link. */
const PICTURES_MAX = 5

function list(all: readonly Race[] | undefined, found: readonly Race[]): VNode {
  if (all === undefined && !isJournalLoaded.value)
    return html`<${Loading} what="Looking for races" />`
  if (found.length === 0)
    return html`<${Empty} icon="races" title="No races"
      >Nothing in the journal shows that one client has destroyed what another did. Name your
      clients with the header <code>x-lazuli-client</code>, and more is found.<//
    >`
  const newest = found.slice(-SHOWN_MAX).reverse()
  return html`
    ${newest.map((race, at) => html`<${RaceCard} race=${race} hasPicture=${at < PICTURES_MAX} key=${`${race.kind} ${race.entries.at(-1)?.id}`} />`)}
    ${found.length > newest.length && html`<p class="muted">${plural(found.length - newest.length, 'earlier race')} not shown.</p>`}
  `
}
