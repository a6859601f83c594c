// Lost update by appends: what is appended to a file of Data Lake Storage and not flushed yet has no version. Another client
// that appends at the same position replaces it, nobody is refused, and the first one flushes what it has not written.
// The same happens to whoever appends at a position that another client has flushed already.
import { headerOfEntry, queryField, type ByteSpan, type ClientAct } from './act.ts'
import { mainNote } from '../entry.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'

type Pending = {
  readonly act: ClientAct
  readonly span: ByteSpan
  /** The position was part of the file already. */
  readonly cameAfter: ClientAct | undefined
  replacedBy?: ClientAct
}

/** How far a client has flushed a file. */
type Flushed = { readonly act: ClientAct; readonly to: number }

export function detectAppendedOver({ report }: RaceContext): Detector {
  /** By file: what was appended and not flushed by its client. */
  const pending = new Map<string, Pending[]>()
  const flushed = new Map<string, Flushed>()
  return (act) => {
    const { entry } = act
    if (entry.service !== 'dfs' || !entry.writes || entry.errorCode !== undefined) return
    const key = mainNote(entry)?.key
    if (key === undefined) return
    const all = pending.get(key) ?? []
    const isAppend = entry.operation === 'Append Data'
    if (isAppend) all.push(appendedBy(act, all, flushed.get(key)))
    if (isAppend && queryField(entry, 'flush')?.toLowerCase() !== 'true') {
      pending.set(key, all)
      return
    }
    if (!isAppend && entry.operation !== 'Flush Data') {
      if (ENDS.has(entry.operation)) {
        pending.delete(key)
        flushed.delete(key)
      }
      return
    }
    const own = all.filter((each) => each.act.client === act.client)
    const replaced = own.find(({ replacedBy }) => replacedBy !== undefined)
    if (replaced?.replacedBy !== undefined)
      report(replacedFinding(replaced, replaced.replacedBy, act))
    const late = own.find(({ cameAfter }) => cameAfter !== undefined)
    if (late?.cameAfter !== undefined) report(lateFinding(late, late.cameAfter, act))
    flushed.set(key, { act, to: isAppend ? spanOf(act).last + 1 : positionOf(act) })
    pending.set(key, all.filter((each) => each.act.client !== act.client)) // prettier-ignore
  }
}

const ENDS: ReadonlySet<string> = new Set(['Create Path', 'Delete Path'])

/** Connections without names may be those of one program, which tries again. */
function appendedBy(
  act: ClientAct,
  others: readonly Pending[],
  flushed: Flushed | undefined,
): Pending {
  const span = spanOf(act)
  const isOther = (other: ClientAct) => other.client !== act.client && other.isNamed && act.isNamed
  for (const other of others) {
    const overlaps = span.first <= other.span.last && other.span.first <= span.last
    if (isOther(other.act) && overlaps) other.replacedBy ??= act
  }
  const isLate = flushed !== undefined && span.first < flushed.to && isOther(flushed.act)
  return { act, span, cameAfter: isLate ? flushed.act : undefined }
}

function positionOf({ entry }: ClientAct): number {
  return Number(queryField(entry, 'position') ?? 0)
}

function spanOf(act: ClientAct): ByteSpan {
  const { entry } = act
  const first = positionOf(act)
  const length =
    headerOfEntry(entry, 'x-ms-structured-content-length') ?? headerOfEntry(entry, 'content-length')
  return { first, last: first + Number(length ?? 0) - 1 }
}

const ADVICE =
  'Append and flush in one request (flush=true): the second client then gets 400 InvalidFlushPosition. Or send If-Match with ' +
  'the flush, or hold a lease on the file from the first append to the flush.'

function replacedFinding(pending: Pending, other: ClientAct, flush: ClientAct) {
  const mine = quoted(pending.act)
  const explanation =
    `${appendedText(pending, flush)}. Before they were flushed, ${quoted(other)} appended at the same position ` +
    `(${when(other)}), which replaced them. Then ${mine} flushed (${when(flush)}), so what it had appended is lost, ` +
    `and nobody was refused. ${ADVICE}`
  return findingOf([pending.act, other, flush], explanation)
}

function lateFinding(pending: Pending, other: ClientAct, flush: ClientAct) {
  const mine = quoted(pending.act)
  const explanation =
    `${appendedText(pending, flush)}, a place up to which ${quoted(other)} had flushed the file before ` +
    `(${when(other)}). When ${mine} flushed (${when(flush)}), they were dropped, so what it had appended is lost, ` +
    `and nobody was refused. ${ADVICE}`
  return findingOf([other, pending.act, flush], explanation)
}

function appendedText({ act, span }: Pending, flush: ClientAct): string {
  const bytes = `bytes ${span.first} to ${span.last} of ${resourceOfAct(flush)}`
  return `${quoted(act)} appended ${bytes} (${when(act)})`
}

/** The acts in their order; the last one is the flush of the client that has lost. */
function findingOf(acts: readonly [ClientAct, ClientAct, ClientAct], explanation: string) {
  const [one, other, flush] = acts
  const [resource, clients] = [resourceOfAct(flush), clientsOf([one, other])]
  return { kind: 'lost update', resource, explanation, clients, acts } as const
}
