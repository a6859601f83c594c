// All changes of each object, in the order of its versions. Entries are in the order in which requests ended, which need
// not be the order in which they changed an object.
import { changedNotes, type ClientAct } from './act.ts'
import type { Note } from '../object.ts'

export type ObjectChange = {
  readonly act: ClientAct
  readonly note: Note
  /** Versions grow with each change. A deletion comes half a version after the one that it deletes. */
  readonly order: number
}

export type History = {
  /** The changes after one order and before another, newest first. */
  between(key: string, after: number, before: number): Iterable<ObjectChange>
  /** The change that made this version. */
  at(key: string, order: number): ObjectChange | undefined
}

/** So many changes are looked at between what a client knows and what it writes. */
const CHANGES_MAX = 100

const NONE: readonly ObjectChange[] = []

export function historyOf(acts: Iterable<ClientAct>): History {
  const changes = collectChanges(acts)
  const of = (key: string): readonly ObjectChange[] => changes.get(key) ?? NONE
  return {
    *between(key, after, before) {
      const own = of(key)
      let at = firstFrom(own, before) - 1
      for (let count = 0; count < CHANGES_MAX; count += 1, at -= 1) {
        const change = own[at]
        if (change === undefined || change.order <= after) return
        yield change
      }
    },
    at(key, order) {
      const own = of(key)
      const change = own[firstFrom(own, order)]
      return change?.order === order ? change : undefined
    },
  }
}

function collectChanges(acts: Iterable<ClientAct>): ReadonlyMap<string, readonly ObjectChange[]> {
  const changes = new Map<string, ObjectChange[]>()
  for (const act of acts) {
    for (const note of changedNotes(act.entry)) {
      const own = changes.get(note.key)
      const change = { act, note, order: orderOf(note) }
      if (own === undefined) changes.set(note.key, [change])
      else own.push(change)
    }
  }
  for (const own of changes.values()) own.sort((a, b) => a.order - b.order)
  return changes
}

export function orderOf({ before, after }: Note): number {
  return after?.version ?? (before?.version ?? 0) + 0.5
}

/** The index of the first change that has this order or a greater one. */
function firstFrom(changes: readonly ObjectChange[], order: number): number {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((changes[middle]?.order ?? 0) < order) low = middle + 1
    else high = middle
  }
  return low
}
