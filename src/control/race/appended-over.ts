// Lost update by appends: what is appended to a file of Data Lake Storage and not flushed yet has no version. Another client
// that appends at the same position replaces it, nobody is refused, and the first one flushes what it has not written.
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

type Pending = { readonly act: ClientAct; readonly span: ByteSpan; replacedBy?: ClientAct }

export function detectAppendedOver({ report }: RaceContext): Detector {
  /** By file: what was appended and not flushed by its client. */
  const pending = new Map<string, Pending[]>()
  return (act) => {
    const { entry } = act
    if (entry.service !== 'dfs' || !entry.writes || entry.errorCode !== undefined) return
    const key = mainNote(entry)?.key
    if (key === undefined) return
    const all = pending.get(key) ?? []
    const isAppend = entry.operation === 'Append Data'
    if (isAppend) all.push(appendedBy(act, all))
    if (isAppend && queryField(entry, 'flush')?.toLowerCase() !== 'true') {
      pending.set(key, all)
      return
    }
    if (!isAppend && entry.operation !== 'Flush Data') {
      if (ENDS.has(entry.operation)) pending.delete(key)
      return
    }
    const lost = all.find((each) => each.act.client === act.client && each.replacedBy !== undefined)
    if (lost?.replacedBy !== undefined) report(findingOf(lost, lost.replacedBy, act))
    pending.set(key, all.filter((each) => each.act.client !== act.client)) // prettier-ignore
  }
}

const ENDS: ReadonlySet<string> = new Set(['Create Path', 'Delete Path'])

/** Connections without names may be those of one program, which tries again. */
function appendedBy(act: ClientAct, others: readonly Pending[]): Pending {
  const span = spanOf(act)
  for (const other of others) {
    const isOther = other.act.client !== act.client && other.act.isNamed && act.isNamed
    const overlaps = span.first <= other.span.last && other.span.first <= span.last
    if (isOther && overlaps) other.replacedBy ??= act
  }
  return { act, span }
}

function spanOf({ entry }: ClientAct): ByteSpan {
  const first = Number(queryField(entry, 'position') ?? 0)
  const length =
    headerOfEntry(entry, 'x-ms-structured-content-length') ?? headerOfEntry(entry, 'content-length')
  return { first, last: first + Number(length ?? 0) - 1 }
}

function findingOf({ act: mine, span }: Pending, other: ClientAct, flush: ClientAct) {
  const path = resourceOfAct(flush)
  return {
    kind: 'lost update',
    resource: path,
    explanation:
      `${quoted(mine)} appended bytes ${span.first} to ${span.last} of ${path} (${when(mine)}). Before they were flushed, ` +
      `${quoted(other)} appended at the same position (${when(other)}), which replaced them. Then ${quoted(mine)} ` +
      `flushed (${when(flush)}), so what it had appended is lost, and nobody was refused. Append and flush in one ` +
      'request (flush=true): the second client then gets 400 InvalidAppendPosition. Or hold a lease on the file from ' +
      'the first append to the flush.',
    clients: clientsOf([mine, other]),
    acts: [mine, other, flush],
  } as const
}
