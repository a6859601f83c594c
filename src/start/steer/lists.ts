// The answers of the API as tables.
import type { BarrierState, FaultState, Match } from '../../control/api.ts'
import {
  barrierList,
  barrierState,
  clockState,
  copyList,
  faultList,
  faultState,
  journalPage,
  leaseList,
  lockList,
  messageList,
  openList,
  raceList,
  resetResult,
  snapshotList,
  snapshotState,
  uncommittedList,
} from '../admin/api/answers.ts'
import type { Schema } from '../admin/api/schema.ts'
import { printableText, tableLines, wrapText, type TextColumn } from '../text-table.ts'
import { entryLines, journalTitle, spanText } from './journal-text.ts'
import { colored, type Screen } from './screen.ts'

/** Decodes an answer, and shows it. */
export type Shown = (value: unknown, screen: Screen) => readonly string[]

function show<T>(schema: Schema<T>, lines: (value: T, screen: Screen) => readonly string[]): Shown {
  return (value, screen) => lines(schema.decode(value, ''), screen)
}

function table<Row>(none: string, columns: readonly TextColumn<Row>[]) {
  return (rows: readonly Row[], screen: Screen): readonly string[] => {
    if (rows.length === 0) return [none]
    const [titles = '', ...lines] = tableLines(columns, rows, screen.width)
    return [colored(titles, 'bold', screen), ...lines]
  }
}

type Held = { readonly entry?: number; readonly client?: string; readonly address?: string }

function holderText({ client, address, entry }: Held): string {
  const name = client ?? address ?? '-'
  return entry === undefined ? name : `${name} (#${entry})`
}

function leftText(seconds: number | undefined): string {
  if (seconds === undefined) return 'never ends'
  return seconds <= 0 ? 'over' : spanText(seconds * 1_000)
}

function sinceText({ since }: { readonly since?: string }): string {
  return since === undefined ? '-' : timeText(since)
}

function timeText(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z')
}

export const showJournal = show(journalPage, ({ entries }, screen) =>
  entries.length === 0
    ? ['no entries']
    : [journalTitle(screen), ...entries.flatMap((entry) => entryLines(entry, screen))],
)

// prettier-ignore
export const showLeases = show(leaseList, ({ leases }, screen) => table<(typeof leases)[number]>('nothing is leased', [
  ['KIND', ({ kind }) => kind],
  ['RESOURCE', ({ resource }) => resource, 40],
  ['STATE', ({ state }) => state],
  ['LEFT', ({ secondsLeft }) => leftText(secondsLeft)],
  ['HOLDER', holderText, 24],
  ['SINCE', sinceText],
])(leases, screen))

// prettier-ignore
export const showMessages = show(messageList, ({ messages }, screen) => table<(typeof messages)[number]>('no message is invisible', [
  ['QUEUE', ({ account, queue }) => `/${account}/${queue}`, 32],
  ['MESSAGE', ({ messageId }) => messageId],
  ['LEFT', ({ secondsLeft }) => leftText(secondsLeft)],
  ['GOT', ({ dequeueCount }) => `${dequeueCount} ×`],
  ['HOLDER', holderText, 24],
])(messages, screen))

// prettier-ignore
export const showOpens = show(openList, ({ opens }, screen) => table<(typeof opens)[number]>('nothing is open over SMB', [
  ['ID', ({ id }) => id, 20],
  ['RESOURCE', ({ resource, isDirectory }) => (isDirectory ? `${resource}/` : resource), 36],
  ['USER', ({ user, address }) => `${user} at ${address}`, 24],
  ['ACCESS', ({ access }) => access.join(',') || '-'],
  ['SHARES', ({ shares }) => shares.join(',') || 'nothing'],
  ['CACHES', ({ caches }) => caches.join(',') || '-'],
])(opens, screen))

// prettier-ignore
export const showLocks = show(lockList, ({ locks }, screen) => table<(typeof locks)[number]>('nothing is locked', [
  ['RESOURCE', ({ resource }) => resource, 40],
  ['OFFSET', ({ offset }) => offset],
  ['LENGTH', ({ length }) => length],
  ['KIND', ({ isExclusive }) => (isExclusive ? 'exclusive' : 'shared')],
  ['OPEN', ({ openId }) => openId, 20],
  ['HOLDER', holderText, 24],
])(locks, screen))

// prettier-ignore
export const showCopies = show(copyList, ({ copies }, screen) => table<(typeof copies)[number]>('nothing is being copied', [
  ['RESOURCE', ({ resource }) => resource, 40],
  ['BYTES', ({ copiedBytes, totalBytes }) => `${copiedBytes} of ${totalBytes ?? '?'}`],
  ['SOURCE', ({ source }) => source, 40],
  ['SINCE', sinceText],
])(copies, screen))

// prettier-ignore
export const showUncommitted = show(uncommittedList, ({ uncommitted }, screen) => table<(typeof uncommitted)[number]>('there are no uncommitted blocks', [
  ['RESOURCE', ({ resource }) => resource, 40],
  ['BLOCKS', ({ blockCount }) => String(blockCount)],
  ['BYTES', ({ bytes }) => String(bytes ?? '?')],
  ['EXPIRES', ({ expiresAt }) => timeText(expiresAt)],
  ['HOLDER', holderText, 24],
])(uncommitted, screen))

export const showRaces = show(raceList, ({ races }, screen) =>
  races.length === 0
    ? ['no races']
    : races.flatMap(({ kind, isHarmless, resource, explanation }) => [
        `${colored(kind, isHarmless ? 'yellow' : 'red', screen)}${isHarmless ? ' (harmless)' : ''}: ${printableText(resource)}`,
        ...wrapText(explanation, Math.min(96, screen.width - 4)).map((line) => `    ${line}`),
      ]),
)

export const showReset = show(resetResult, ({ removedCount }) => [
  `containers, queues, tables and shares removed: ${removedCount}`,
])

export const showClock = show(clockState, ({ now, isHeld, offsetMs }) => [
  `${now}, ${isHeld ? 'held' : 'running'}, ${offsetText(offsetMs)}`,
])

function offsetText(offsetMs: number): string {
  if (Math.abs(offsetMs) < 1) return "as the machine's clock"
  return `${spanText(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} the machine's clock`
}

function matchText(match: Match = {}): string {
  const text = Object.entries(match).map(([name, value]) => `${name}=${String(value)}`)
  return text.join(' ') || 'anything'
}

// prettier-ignore
const barrierTable = table<BarrierState>('no barriers', [
  ['ID', ({ id }) => id],
  ['AT', ({ at }) => at],
  ['MATCH', ({ match }) => matchText(match), 48],
  ['HELD', ({ held }) => held.map(({ client, operation }) => `${client}: ${operation}`).join(', ') || '-', 40],
  ['RELEASED', ({ releasedCount }) => String(releasedCount)],
])

// prettier-ignore
const faultTable = table<FaultState>('no faults', [
  ['ID', ({ id }) => id],
  ['MATCH', ({ match }) => matchText(match), 48],
  ['EFFECT', ({ effect }) => JSON.stringify(effect), 40],
  ['MATCHED', ({ matchedCount }) => String(matchedCount)],
  ['STRUCK', ({ struckCount }) => String(struckCount)],
])

export const showBarriers = show(barrierList, ({ barriers }, screen) =>
  barrierTable(barriers, screen),
)
export const showBarrier = show(barrierState, (barrier, screen) => barrierTable([barrier], screen))
export const showFaults = show(faultList, ({ faults }, screen) => faultTable(faults, screen))
export const showFault = show(faultState, (fault, screen) => faultTable([fault], screen))

type Snapshot = { readonly name: string; readonly time: string; readonly recordCount: number }

// prettier-ignore
const snapshotTable = table<Snapshot>('no snapshots', [
  ['NAME', ({ name }) => name],
  ['TIME', ({ time }) => timeText(time)],
  ['RECORDS', ({ recordCount }) => String(recordCount)],
])

export const showSnapshots = show(snapshotList, ({ snapshots }, screen) =>
  snapshotTable(snapshots, screen),
)
export const showSnapshot = show(snapshotState, (snapshot, screen) =>
  snapshotTable([snapshot], screen),
)
