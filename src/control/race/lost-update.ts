// Lost update: a client read an object, another changed it, and the first wrote what it had made from the old state.
import type { ClientAct } from './act.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import { overwritesOf, type Overwrite } from './overwrite.ts'
import type { ObjectKind } from '../object.ts'

export function detectLostUpdates(context: RaceContext): Detector {
  return (act) => {
    for (const overwrite of overwritesOf(context, act)) {
      if (overwrite.known.isAbsent) continue
      const acts = [overwrite.known.act, overwrite.other.act, act]
      context.report({
        kind: 'lost update',
        isHarmless: overwrite.harmlessAs !== undefined,
        resource: resourceOfAct(act),
        explanation: explain(overwrite, act),
        clients: clientsOf([act, overwrite.other.act]),
        acts,
      })
    }
  }
}

function explain({ known, other, note, harmlessAs }: Overwrite, act: ClientAct): string {
  const [mine, theirs] = [quoted(act), quoted(other.act)]
  const start =
    `${mine} ${known.isRead ? 'read' : 'wrote'} ${resourceOfAct(act)} (${when(known.act)}). ` +
    `${theirs} ${other.note.after === undefined ? 'deleted' : 'changed'} it (${when(other.act)}). `
  if (harmlessAs === 'other properties') {
    return (
      start +
      `Then ${mine} changed other properties of it without a condition (${when(act)}). ` +
      'Both changes are kept. If the properties depend on each other, send If-Match with the ETag that was read.'
    )
  }
  if (harmlessAs === 'blind') {
    return (
      start +
      `Then ${mine} overwrote it without a condition (${when(act)}). Neither has ever read it, so the last writer ` +
      'wins. That is right as long as what they write does not depend on what was there.'
    )
  }
  const isDeleted = note.after === undefined && !act.entry.operation.startsWith('Rename')
  const verb = isDeleted ? 'deleted' : 'overwrote'
  return (
    start +
    `Then ${mine} ${verb} it without a condition on what it had read (${when(act)}), ` +
    `so what ${theirs} did is lost. ${remedyFor(note.kind)}`
  )
}

function remedyFor(kind: ObjectKind): string {
  return kind === 'file' || kind === 'share'
    ? 'Acquire a lease before reading, send its id (x-ms-lease-id) with the write, and release it afterwards; ' +
        'or open the file over SMB with a share mode that denies others to write.'
    : 'Send If-Match with the ETag that was read; on 412 read again and repeat. ' +
        'Or acquire a lease before reading, where there are leases.'
}
