// The answers of the API, as schemas: they are part of its description, and a test checks real answers with them.
import {
  RACE_KINDS,
  type BarrierState,
  type ClockState,
  type FaultState,
  type HeldLease,
  type HeldLock,
  type HeldOpen,
  type InvisibleMessage,
  type PendingCopy,
  type Race,
  type ResetResult,
  type SnapshotState,
} from '../../../control/api.ts'
import type { JournalEntry, JournalObject } from '../../../control/entry.ts'
import type { BackupState } from './parts.ts'
import type { Period, Timeline } from '../../../control/timeline.ts'
import { barrierFields, faultFields } from './rules.ts'
import {
  about,
  answer,
  anyText,
  choice,
  either,
  flag,
  integer,
  list,
  mapOf,
  number,
  optional,
  type Schema,
} from './schema.ts'

const count = integer(0)
const optionalText = optional(anyText)
const resource = about(anyText, '/account/container/blob')
const secondsLeft = number(-Number.MAX_SAFE_INTEGER)

const leaseStateName = choice(['available', 'leased', 'expired', 'breaking', 'broken'])

const journalObject: Schema<JournalObject> = answer({
  kind: choice([
    'container', 'blob', 'queue', 'message', 'table', 'entity', 'share', 'file', 'open', 'lock', 'deletion',
  ]), // prettier-ignore
  name: anyText,
  etagBefore: optionalText,
  etagAfter: optionalText,
  isWritten: flag,
})

const entryFields = {
  id: integer(1),
  time: about(anyText, "When it began, by the server's clock."),
  durationMs: number(0),
  service: choice(['blob', 'queue', 'table', 'file', 'dfs', 'smb']),
  operation: anyText,
  resource,
  client: answer({
    name: about(anyText, 'What counts as one client; see the setting clientBy.'),
    address: anyText,
    userAgent: optionalText,
    requestId: optionalText,
    identity: anyText,
  }),
  requestId: anyText,
  status: about(either(count, anyText), 'Of HTTP, or the name of an NTSTATUS.'),
  errorCode: optionalText,
  isConflict: flag,
  conditions: optional(mapOf(anyText)),
  etagBefore: optionalText,
  etagAfter: optionalText,
  leaseBefore: optional(leaseStateName),
  leaseAfter: optional(leaseStateName),
  refusedBy: optional(anyText, 'The condition or lock that refused it.'),
  lostTo: optional(integer(1), 'The entry of the write, lease, open or get that stood in its way.'),
  winner: optional(answer({ client: anyText, operation: anyText, beforeMs: number(0) })),
  objects: optional(list(journalObject)),
}

export const journalEntry: Schema<JournalEntry> = answer(entryFields)

/** One entry, with the request as its client sent it. */
export const journalDetail = answer({
  ...entryFields,
  sent: optional(
    answer({ method: anyText, target: anyText, headers: mapOf(anyText) }),
    'Without signatures, tokens and keys. Missing over SMB.',
  ),
})

const period: Schema<Period> = answer({
  kind: choice(['lease', 'message', 'open', 'lock']),
  object: anyText,
  client: anyText,
  entry: about(integer(1), 'The entry with which it began.'),
  from: anyText,
  to: optional(anyText, 'When it ended, or will end by itself. Missing: it goes on.'),
  endedBy: optional(choice(['its client', 'another client']), 'Missing: nobody ended it.'),
})

export const timeline: Schema<Timeline> = answer({
  entries: about(list(journalEntry), 'Oldest first.'),
  periods: about(
    list(period),
    'When a client had a lease, an invisible message, an open file or a locked range.',
  ),
})

export const journalPage = answer({
  entries: about(list(journalEntry), 'Oldest first.'),
  lastId: about(count, 'The number of the newest entry, whether it is in the list or not.'),
  droppedCount: about(count, 'How many of the oldest entries are no longer in memory.'),
})

const holder = {
  entry: optional(integer(1), 'The entry of the journal with which it began.'),
  client: optionalText,
  address: optionalText,
  since: optionalText,
}

const heldLease: Schema<HeldLease> = answer({
  ...holder,
  kind: choice(['container', 'blob', 'share', 'file']),
  resource,
  leaseId: anyText,
  state: choice(['leased', 'breaking']),
  secondsLeft: optional(secondsLeft, 'Missing: it never expires.'),
})

const invisibleMessage: Schema<InvisibleMessage> = answer({
  ...holder,
  account: anyText,
  queue: anyText,
  messageId: anyText,
  dequeueCount: count,
  insertedAt: anyText,
  visibleAt: anyText,
  secondsLeft,
  popReceipt: anyText,
})

const heldOpen: Schema<HeldOpen> = answer({
  ...holder,
  id: anyText,
  resource,
  isDirectory: flag,
  user: anyText,
  address: anyText,
  access: list(anyText),
  shares: about(list(anyText), 'What it lets others do meanwhile.'),
  caches: about(list(anyText), 'What it may cache.'),
  isPersistent: flag,
  isDeletePending: flag,
})

const heldLock: Schema<HeldLock> = answer({
  ...holder,
  openId: anyText,
  resource,
  offset: about(anyText, 'Decimal.'),
  length: about(anyText, 'Decimal.'),
  isExclusive: flag,
})

const pendingCopy: Schema<PendingCopy> = answer({
  ...holder,
  kind: choice(['blob', 'file']),
  resource,
  copyId: anyText,
  source: anyText,
  copiedBytes: count,
  totalBytes: optional(count),
})

const uncommittedBlocks = answer({
  ...holder,
  resource,
  blockCount: count,
  bytes: optional(count),
  expiresAt: about(anyText, 'When they are discarded.'),
})

const race: Schema<Race> = answer({
  kind: choice(RACE_KINDS),
  isHarmless: flag,
  resource,
  explanation: anyText,
  clients: list(anyText),
  entries: list(journalEntry),
})

export const clockState: Schema<ClockState> = answer({
  now: anyText,
  isHeld: flag,
  offsetMs: about(number(-Number.MAX_SAFE_INTEGER), "How far it is from the machine's clock."),
})

const heldRequest = answer({
  client: anyText,
  operation: anyText,
  path: anyText,
  clientRequestId: optionalText,
})

export const barrierState: Schema<BarrierState> = answer({
  ...barrierFields,
  id: anyText,
  held: about(list(heldRequest), 'The requests that wait, in the order in which they came.'),
  releasedCount: count,
  passedCount: about(count, 'Requests that it would have held, had there been room.'),
})

export const faultState: Schema<FaultState> = answer({
  ...faultFields,
  id: anyText,
  seed: count,
  matchedCount: count,
  struckCount: count,
})

export const snapshotState: Schema<SnapshotState> = answer({
  name: anyText,
  time: anyText,
  recordCount: count,
})

export const backupState: Schema<BackupState> = answer({
  state: choice(['none', 'running', 'done', 'failed']),
  place: optionalText,
  phase: about(optionalText, 'What it is doing.'),
  done: optional(number(0), 'How much of it is done: records, or bytes of content.'),
  total: optional(number(0)),
  message: about(optionalText, 'What was backed up, or why it failed.'),
})

export const leaseList = answer({ leases: list(heldLease) })
export const messageList = answer({ messages: list(invisibleMessage) })
export const openList = answer({ opens: list(heldOpen) })
export const lockList = answer({ locks: list(heldLock) })
export const copyList = answer({ copies: list(pendingCopy) })
export const uncommittedList = answer({ uncommitted: list(uncommittedBlocks) })
export const raceTest = answer({
  text: about(
    anyText,
    'A program of TypeScript that brings the race about in a server of its own.',
  ),
})
export const raceList = answer({ races: list(race) })
export const barrierList = answer({ barriers: list(barrierState) })
export const faultList = answer({ faults: list(faultState) })
export const snapshotList = answer({ snapshots: list(snapshotState) })
export const resetResult: Schema<ResetResult> = answer({
  removedCount: about(count, 'Of containers, queues, tables and shares.'),
})
export const done = answer({})
