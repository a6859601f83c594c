// Torn read: a client put together what belongs to different states: ranges of one object from two versions, or a list and
// an object that was deleted after it.
import { isConditional, changedNotes, sentRange, type ByteSpan, type ClientAct } from './act.ts'
import { changesBytes } from './effect.ts'
import { mainNote } from '../entry.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import type { ObjectChange } from './history.ts'

type RangedRead = { readonly act: ClientAct; readonly version: number; readonly span: ByteSpan }

const READS: ReadonlySet<string> = new Set(['Get Blob', 'Get File', 'Read Path'])

export function detectTornReads(context: RaceContext): Detector {
  /** By object, client and last byte. */
  const reads = new Map<string, RangedRead>()
  return (act) => {
    const read = rangedRead(act)
    if (read === undefined) return
    const { key, span } = read
    const before = reads.get(`${key} ${span.first - 1} ${act.client}`)
    reads.set(`${key} ${span.last} ${act.client}`, read)
    if (before === undefined || before.version === read.version || isConditional(act.entry)) return
    const change = tearing(context, key, [before, read])
    if (change === undefined) return
    context.report({
      kind: 'torn read',
      resource: resourceOfAct(act),
      explanation:
        `${quoted(act)} read bytes ${bytes(before.span)} of ${resourceOfAct(act)} (${when(before.act)}). ` +
        `${quoted(change.act)} changed it (${when(change.act)}). Then ${quoted(act)} went on with bytes ` +
        `${bytes(span)} (${when(act)}), so it has parts of two states. ${remedyFor(act)}`,
      clients: clientsOf([act, change.act]),
      acts: [before.act, change.act, act],
    })
  }
}

function remedyFor({ entry }: ClientAct): string {
  return entry.service === 'file'
    ? 'Compare the ETags of the answers and begin again if they differ, or read a share snapshot.'
    : 'Send If-Match with the ETag of the first answer and begin again on 412, or read a snapshot.'
}

function rangedRead(act: ClientAct): (RangedRead & { readonly key: string }) | undefined {
  const { entry } = act
  if (!READS.has(entry.operation) || entry.status !== 206) return undefined
  const [note, span] = [mainNote(entry), sentRange(entry)]
  if (note?.before === undefined || span === undefined) return undefined
  return { act, key: note.key, span, version: note.before.version }
}

/** The newest change by another client that changed bytes of one of the two ranges. */
function tearing(
  { history }: RaceContext,
  key: string,
  [a, b]: readonly [RangedRead, RangedRead],
): ObjectChange | undefined {
  const [from, to] = [Math.min(a.version, b.version), Math.max(a.version, b.version)]
  for (const change of history.between(key, from, to + 0.25)) {
    if (change.act.client === b.act.client) continue
    if (changesBytes({ entry: change.act.entry, note: change.note }, [a.span, b.span]))
      return change
  }
  return undefined
}

function bytes({ first, last }: ByteSpan): string {
  return last === Infinity ? `from ${first}` : `${first} to ${last}`
}

const LISTS: ReadonlySet<string> = new Set(['List Blobs', 'List Paths', 'Query Entities'])

/** Nothing is lost, since the client gets 404; but a program that does not expect it fails. */
export function detectStaleLists(context: RaceContext): Detector {
  /** By object and client: the last list that it was in. */
  const lists = new Map<string, ClientAct>()
  /** By object. */
  const deletions = new Map<string, ClientAct>()
  return (act) => {
    const { entry } = act
    if (LISTS.has(entry.operation))
      for (const { key } of entry.notes) lists.set(`${key} ${act.client}`, act)
    for (const { key, after } of changedNotes(entry))
      if (after === undefined) deletions.set(key, act)
    if (entry.status !== 404 || entry.writes || !act.isNamed) return
    const key = mainNote(entry)?.key
    const [list, deletion] = [lists.get(`${key} ${act.client}`), deletions.get(key ?? '')]
    if (key === undefined || list === undefined || deletion === undefined) return
    if (deletion.client === act.client || deletion.entry.id < list.entry.id) return
    lists.delete(`${key} ${act.client}`)
    context.report({
      kind: 'torn read',
      isHarmless: true,
      resource: resourceOfAct(act),
      explanation:
        `${quoted(act)} found ${resourceOfAct(act)} in a list (${when(list)}). ${quoted(deletion)} deleted it ` +
        `(${when(deletion)}). Then ${quoted(act)} read it and got 404 (${when(act)}). A list is as old as its ` +
        'answer: expect 404 for anything in it, or acquire leases that keep others from deleting.',
      clients: clientsOf([act, deletion]),
      acts: [list, deletion, act],
    })
  }
}
