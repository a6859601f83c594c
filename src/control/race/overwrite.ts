// Writes without a condition that destroyed what another client had written since the writer last looked.
import { changedNotes, isConditional, type ClientAct } from './act.ts'
import { destruction, effectOf } from './effect.ts'
import type { RaceContext } from './finding.ts'
import { orderOf, type ObjectChange } from './history.ts'
import type { Known } from './knowledge.ts'
import type { Note } from '../object.ts'

export type Overwrite = {
  readonly known: Known
  readonly other: ObjectChange
  readonly note: Note
  /**
   * - other properties: both changes are there.
   * - blind: neither has ever read the object, so what they write can't depend on what was there.
   */
  readonly harmlessAs: 'other properties' | 'blind' | undefined
}

export function* overwritesOf(context: RaceContext, act: ClientAct): Generator<Overwrite> {
  if (effectOf(act.entry) === undefined || isConditional(act.entry)) return
  for (const note of changedNotes(act.entry)) {
    const known = context.knowledge.before(act, note)
    const found = known && newestDestroyed(context, { act, note, known })
    if (known === undefined || found === undefined) continue
    if (note.before !== undefined && context.knowledge.hasRead(act, note)) continue
    yield { ...found, known, note }
  }
}

type Writing = { readonly act: ClientAct; readonly note: Note; readonly known: Known }

function newestDestroyed(
  { history, knowledge }: RaceContext,
  writing: Writing,
): Pick<Overwrite, 'other' | 'harmlessAs'> | undefined {
  const { act, note, known } = writing
  let harmless: Pick<Overwrite, 'other' | 'harmlessAs'> | undefined
  const isBlind = !known.isRead && !knowledge.hasEverRead(act, note)
  const isBlindTo = (other: ObjectChange): boolean =>
    !isConditional(other.act.entry) && !knowledge.hasEverRead(other.act, other.note)
  for (const other of history.between(note.key, known.order, orderOf(note))) {
    if (other.act.client === act.client) {
      if (effectOf(other.act.entry)?.isPartial === true) continue
      break
    }
    if (!isWorthSaying(writing, other)) continue
    // One program may have sent both over two connections, unless each of them has read before it wrote.
    const mayBeSame = !act.isNamed && !other.act.isNamed
    if (mayBeSame && !knowledge.hasRead(other.act, other.note)) continue
    const result = destruction(
      { entry: act.entry, note },
      { entry: other.act.entry, note: other.note },
    )
    if (result === 'yes')
      return { other, harmlessAs: isBlind && isBlindTo(other) ? 'blind' : undefined }
    if (result === 'harmless') harmless ??= { other, harmlessAs: 'other properties' }
  }
  return harmless
}

/**
 * Whoever deletes an object, or makes it again after a deletion, may not care what it was; only a client that has read it
 * shows that it does. A client that found nothing knows only of what came later.
 */
function isWorthSaying({ act, note, known }: Writing, other: ObjectChange): boolean {
  if (known.isAbsent) return note.before !== undefined && other.act.entry.id > known.act.entry.id
  const isDeletion = note.after === undefined || other.note.after === undefined
  return !isDeletion || (known.isRead && act.isNamed)
}
