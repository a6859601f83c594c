// A race in words for people who have never heard of it, as steps that are numbered in the picture too.
import type { JournalEntry, Race } from '../../../control/api.ts'
import type { Versions } from './versions.ts'

export type Step = { readonly entry: JournalEntry; readonly text: string }

export function stepsOf({ kind, entries }: Race, versions: Versions): readonly Step[] {
  return entries.map((entry, at) => ({
    entry,
    text: LOSSES.has(kind) ? lossText(entries, at, versions) : plainText(entry),
  }))
}

const LOSSES: ReadonlySet<Race['kind']> = new Set(['lost update', 'check then act'])

function lossText(entries: readonly JournalEntry[], at: number, versions: Versions): string {
  const [known, other, last] = entries
  const entry = entries[at]
  if (entry === undefined || known === undefined || other === undefined || last === undefined)
    return ''
  const [seen, made] = [versions.seenBy(entry), versions.madeBy(entry)]
  const [mine, theirs] = [last.client.name, other.client.name]
  const based = versions.madeBy(known) ?? versions.seenBy(known)
  if (entry === known) {
    if (known.errorCode !== undefined) return `${mine} looks, and there is nothing.`
    return made === undefined ? `${mine} reads${version(seen)}.` : `${mine} writes${version(made)}.`
  }
  if (entry === other) {
    if (made === undefined) return `${theirs} deletes it. ${mine} does not know.`
    return `${theirs} writes${version(made)}. ${mine} does not know.`
  }
  const from =
    based === undefined
      ? 'still believes that there is nothing'
      : `still works with${version(based)}`
  const verb = made === undefined ? 'deletes the object' : `writes${version(made)}`
  return `${mine} ${from} and ${verb}. What ${theirs} wrote is gone, and nobody was told: every request succeeded.`
}

function version(number: number | undefined): string {
  return number === undefined ? ' it' : ` version ${number}`
}

function plainText({ client, operation, errorCode }: JournalEntry): string {
  return `${client.name}: ${operation}${errorCode === undefined ? '' : `, refused with ${errorCode}`}.`
}

/** What the explanation of the server says behind the story. */
export function remedyOf({ explanation }: Race): string {
  const at = explanation.search(
    /(?<=[.] )(Send |Acquire |Create it |Use |Renew |Ask |Open |If the |Create File |A little )/,
  )
  return at < 0 ? explanation : explanation.slice(at)
}

/** One request in words. */
export function inWords(entry: JournalEntry, versions: Versions | undefined): string {
  const { client, operation, status, errorCode, conditions, refusedBy, winner } = entry
  const parts = [
    `${client.name}: ${operation}, ${errorCode ?? (status === 0 ? 'no answer' : status)}.`,
  ]
  const [seen, made] = [versions?.seenBy(entry), versions?.madeBy(entry)]
  if (seen !== undefined) parts.push(`It met version ${seen}.`)
  if (made !== undefined) parts.push(`It made version ${made}.`)
  const sent = Object.entries(conditions ?? {}).map(([name, value]) => {
    const number = versions?.numberOf(value)
    return `${name}: ${number === undefined ? value : `version ${number}`}`
  })
  if (sent.length > 0) parts.push(`Its condition${sent.length > 1 ? 's' : ''}: ${sent.join(', ')}.`)
  else if (made !== undefined) parts.push('It had no condition.')
  if (refusedBy !== undefined) parts.push(`Refused by ${refusedBy}.`)
  if (winner !== undefined) parts.push(`It lost to ${winner.client}: ${winner.operation}.`)
  return parts.join(' ')
}
