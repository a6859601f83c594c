// A lost race, side by side: what was there when the editor was opened, what is written here, and what somebody else has written
// meanwhile. Nothing is overwritten unless somebody says so.
import { html, type VNode } from '../../page/library.ts'
import { entries } from '../../page/live/journal.ts'
import { Badge } from '../../page/ui/badge.ts'
import { ActionButton, Button } from '../../page/ui/button.ts'
import { Dialog } from '../../page/ui/dialog.ts'
import type { Area } from '../storage.ts'
import { applied, byName, changesBetween, isSame, type Entity, type Property } from './entity.ts'
import { insert, replace } from './entity-requests.ts'

export type Race = {
  readonly before: Entity
  readonly mine: readonly Property[]
  /** undefined: the entity has been deleted. */
  readonly theirs: Entity | undefined
}

type RaceProps = {
  readonly area: Area
  readonly table: string
  readonly race: Race
  onReload(theirs: Entity): void
  onDone(): void
  onClose(): void
}

export function RaceDialog({ area, table, race, onReload, onDone, onClose }: RaceProps): VNode {
  const { before, mine, theirs } = race
  const overwrite = (): Promise<void> => replace(area, table, before, mine, '*').then(onDone)
  const again = (): Promise<void> => insert(area, table, before, mine).then(onDone)
  return html`<${Dialog} title="Somebody else was faster" isWide=${true} onClose=${onClose}>
    <p>
      Since you opened it,
      ${theirs === undefined ? 'the entity was deleted' : 'the entity was changed'} by
      <strong>${winner(race)}</strong>. Your change was not written.
    </p>
    <${Versions} race=${race} />
    <footer>
      <${Button} onClick=${onClose}>Cancel<//>
      ${
        theirs === undefined
          ? html`<${ActionButton} kind="danger" run=${again}>Insert it again<//>`
          : html`<${Button} icon="refresh" onClick=${() => onReload(theirs)}>Take theirs<//>
              <${ActionButton} kind="danger" run=${overwrite}>Overwrite theirs<//>
              <${MergeButton}
                area=${area}
                table=${table}
                race=${race}
                theirs=${theirs}
                onDone=${onDone}
              />`
      }
    </footer>
  <//>`
}

type MergeProps = Pick<RaceProps, 'area' | 'table' | 'race' | 'onDone'> & {
  readonly theirs: Entity
}

/** Their state with the changes made here; a race that is lost again says so. */
function MergeButton({ area, table, race, theirs, onDone }: MergeProps): VNode {
  const changes = changesBetween(race.before.properties, race.mine)
  const merged = applied(theirs.properties, changes)
  const merge = (): Promise<void> => replace(area, table, theirs, merged, theirs.etag).then(onDone)
  return html`<${ActionButton} kind="primary" run=${merge}>Merge: theirs, with my changes<//>`
}

/** Who has written last, as far as the journal tells: it knows to whom the request with this ETag has lost. */
function winner({ before }: Race): string {
  const lost = entries.value.findLast(
    ({ conditions, winner: other }) =>
      other !== undefined && conditions?.['if-match'] === before.etag,
  )
  return lost?.winner?.client ?? 'another client'
}

function Versions({ race: { before, mine, theirs } }: { readonly race: Race }): VNode {
  const [old, own, other] = [
    byName(before.properties),
    byName(mine),
    byName(theirs?.properties ?? []),
  ]
  const names = [...new Set([...old.keys(), ...other.keys(), ...own.keys()])]
  const cell = (property: Property | undefined, isChanged: boolean): VNode =>
    html`<td class=${isChanged ? 'changed' : ''}>
      ${property === undefined ? html`<span class="muted">removed</span>` : html`<span class="value">${property.value}</span> <span class="muted">${property.type}</span>`}
      ${isChanged && html` <${Badge} tone="warn">changed<//>`}
    </td>`
  return html`<div class="versions" tabindex="0" role="region" aria-label="The versions">
    <table>
      <thead>
        <tr>
          <th scope="col">Property</th>
          <th scope="col">Before</th>
          <th scope="col">Yours</th>
          <th scope="col">Theirs, now</th>
        </tr>
      </thead>
      <tbody>
        ${names.map((name) => {
          const was = old.get(name)
          return html`<tr>
            <th scope="row">${name}</th>
            <td>${was?.value ?? html`<span class="muted">–</span>`}</td>
            ${cell(own.get(name), !isSame(was, own.get(name)))}
            ${theirs === undefined ? html`<td><span class="muted">deleted</span></td>` : cell(other.get(name), !isSame(was, other.get(name)))}
          </tr>`
        })}
      </tbody>
    </table>
  </div>`
}
