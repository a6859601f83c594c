// What people and programs see of an entry of the journal.
import { leaseState } from '../storage/shared/lease.ts'
import { clientName, type ClientSource } from './client.ts'
import {
  conditionsOf,
  mainNote,
  objectName,
  resourceOf,
  stateETag,
  type Entry,
  type JournalEntry,
  type JournalObject,
} from './entry.ts'
import type { Note, ObjectKind } from './object.ts'
import { isConflict, refusedBy } from './refusal.ts'

export function viewOf(entry: Entry, by: readonly ClientSource[]): JournalEntry {
  const { headers, address, identity, notes, lostTo, errorCode } = entry
  const note = mainNote(entry)
  const [userAgent, clientRequestId] = [headers['user-agent'], headers['x-ms-client-request-id']]
  const conditions = conditionsOf(entry)
  const refused = refusedBy(entry)
  const objects = notes.filter(({ kind }) => kind === note?.kind)
  return {
    id: entry.id,
    time: new Date(entry.startedMs).toISOString(),
    durationMs: Math.round(entry.durationMs * 1_000) / 1_000,
    service: entry.service,
    operation: entry.operation,
    resource: resourceOf(entry),
    client: {
      name: clientName(entry, by),
      address,
      ...(userAgent !== undefined && { userAgent }),
      ...(typeof clientRequestId === 'string' && { requestId: clientRequestId }),
      identity,
    },
    requestId: entry.requestId,
    status: entry.status,
    ...(errorCode !== undefined && { errorCode }),
    isConflict: isConflict(entry),
    ...(conditions !== undefined && { conditions }),
    ...(note !== undefined && etagsOf(note)),
    ...(note !== undefined && leasesOf(note, entry)),
    ...(refused !== undefined && { refusedBy: refused }),
    ...(lostTo !== undefined && { lostTo }),
    ...(objects.length > 1 && { objects: objects.map(objectOf) }),
  }
}

function leasesOf({ before, after, isWritten }: Note, { startedMs }: Entry) {
  const was = before?.lease && leaseState(before.lease, startedMs)
  const is = isWritten ? leaseState(after?.lease, startedMs) : undefined
  return {
    ...(was !== undefined && { leaseBefore: was }),
    ...(is !== undefined && (was !== undefined || is !== 'available') && { leaseAfter: is }),
  }
}

/** Kinds whose versions clients see. */
const HAS_ETAG: ReadonlySet<ObjectKind> = new Set([
  'blob',
  'container',
  'entity',
  'message',
  'file',
  'share',
])

function etagsOf({
  kind,
  before,
  after,
  isWritten,
}: Note): Pick<JournalEntry, 'etagBefore' | 'etagAfter'> {
  if (!HAS_ETAG.has(kind)) return {}
  return {
    ...(before !== undefined && { etagBefore: stateETag(kind, before) }),
    ...(isWritten && after !== undefined && { etagAfter: stateETag(kind, after) }),
  }
}

function objectOf(note: Note): JournalObject {
  return { kind: note.kind, name: objectName(note), isWritten: note.isWritten, ...etagsOf(note) }
}
