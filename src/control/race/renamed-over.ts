// Lost update by renames: in a hierarchical account a rename puts another file at a path, so the versions of the path are those
// of several files. A client read one of them, another renamed its own over it, and the first wrote without a condition.
import { isConditional, type ClientAct } from './act.ts'
import { effectOf } from './effect.ts'
import { mainNote, type Entry } from '../entry.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'

/** What a client has last seen at a path. */
type Contact = { readonly act: ClientAct; readonly key: string }

export function detectRenamedOver({ report }: RaceContext): Detector {
  /** By path and client. */
  const contacts = new Map<string, Contact>()
  /** By path: the last rename to it. */
  const renames = new Map<string, ClientAct>()
  return (act) => {
    const { entry } = act
    if (!act.isNamed || entry.errorCode !== undefined || !isOfPath(entry)) return
    const path = resourceOfAct(act)
    const own = `${path} ${act.client}`
    const [known, rename] = [contacts.get(own), renames.get(path)]
    const isLost = known !== undefined && rename !== undefined && overwrites(act, known, rename)
    if (isLost) report(findingOf(act, known, rename))
    const key = keyAfter(entry)
    if (key === undefined) contacts.delete(own)
    else contacts.set(own, { act, key })
    if (entry.operation === RENAME) renames.set(path, act)
  }
}

const RENAME = 'Rename Path'

function isOfPath({ service, path }: Entry): boolean {
  return (service === 'dfs' || service === 'blob') && path.length > 1
}

function overwrites(act: ClientAct, known: Contact, rename: ClientAct): boolean {
  const { entry } = act
  if (rename.client === act.client || rename.entry.id < known.act.entry.id) return false
  const effect = entry.writes ? effectOf(entry) : undefined
  if (effect === undefined || effect.isAppended === true || isConditional(entry)) return false
  const key = keyBefore(entry)
  return key !== undefined && key !== known.key
}

/** The file that was at the path. */
function keyBefore(entry: Entry): string | undefined {
  const replaced = entry.operation === RENAME ? replacedNote(entry) : mainNote(entry)
  return replaced?.before === undefined ? undefined : replaced.key
}

/** The file that is at the path now. */
function keyAfter(entry: Entry): string | undefined {
  if (entry.operation !== RENAME) {
    const main = mainNote(entry)
    return main?.after === undefined ? undefined : main.key
  }
  return entry.notes.find(({ kind, isWritten, after }) => kind === 'blob' && isWritten && after)
    ?.key
}

function replacedNote({ notes }: Entry) {
  return notes.find(
    ({ kind, isWritten, before, after }) => kind === 'blob' && isWritten && before && !after,
  )
}

function findingOf(act: ClientAct, { act: known }: Contact, rename: ClientAct) {
  const [mine, theirs] = [quoted(act), quoted(rename)]
  const path = resourceOfAct(act)
  return {
    kind: 'lost update',
    resource: path,
    explanation:
      `${mine} ${known.entry.writes ? 'wrote' : 'read'} ${path} (${when(known)}). ` +
      `${theirs} renamed another file to it (${when(rename)}). Then ${mine} replaced that without a condition ` +
      `(${when(act)}), so what ${theirs} did is lost. Send If-Match with the ETag that was read; a rename takes it, ` +
      'too, for its destination. On 412 read again and repeat.',
    clients: clientsOf([act, rename]),
    acts: [known, rename, act],
  } as const
}
