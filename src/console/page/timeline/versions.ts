// The states that one object had, one after another, and which of them each request saw and made.
import type { JournalEntry, Race } from '../../../control/api.ts'

export type Version = {
  /** 1, 2, 3 … in the picture. */
  readonly number: number
  readonly etag: string
  /** The entry that made it; left out: it was there before. */
  readonly by?: number
  /** Nobody has seen what it changed in the versions behind it. */
  readonly isLost: boolean
}

export type Versions = {
  readonly list: readonly Version[]
  numberOf(etag: string): number | undefined
  /** The number of the version that a request met. */
  seenBy(entry: JournalEntry): number | undefined
  /** The number of the version that a request made. */
  madeBy(entry: JournalEntry): number | undefined
}

/** Only for the entries of one object. */
export function versionsOf(entries: readonly JournalEntry[], races: readonly Race[]): Versions {
  const lost = new Set(races.filter(isLoss).map(({ entries: all }) => all.at(-2)?.id))
  const numbers = new Map<string, number>()
  const list: Version[] = []
  const add = (etag: string, by?: number): void => {
    if (numbers.has(etag)) return
    numbers.set(etag, list.length + 1)
    const made = by === undefined ? {} : { by }
    list.push({ number: list.length + 1, etag, isLost: lost.has(by ?? -1), ...made })
  }
  for (const { id, etagBefore, etagAfter, errorCode } of entries) {
    if (etagBefore !== undefined) add(etagBefore)
    if (etagAfter !== undefined && errorCode === undefined) add(etagAfter, id)
  }
  return {
    list,
    numberOf: (etag) => numbers.get(etag),
    seenBy: ({ etagBefore }) => (etagBefore === undefined ? undefined : numbers.get(etagBefore)),
    madeBy({ etagBefore, etagAfter, errorCode }) {
      if (etagAfter === undefined || etagAfter === etagBefore || errorCode !== undefined)
        return undefined
      return numbers.get(etagAfter)
    },
  }
}

/** Only for a single object: the versions of several have nothing to do with each other. */
export function versionsWithin(
  resource: string,
  entries: readonly JournalEntry[],
  races: readonly Race[],
): Versions | undefined {
  if (entries.some((entry) => entry.resource !== resource)) return undefined
  const versions = versionsOf(entries, races)
  return versions.list.length === 0 ? undefined : versions
}

/** Races in which the last entry destroys what the one before it has made. */
export function isLoss({ kind, isHarmless }: Race): boolean {
  return !isHarmless && (kind === 'lost update' || kind === 'check then act')
}
