// Message handled twice: a message became visible again before its receiver had deleted it, another receiver got it, and
// the first one came back with a receipt that was no longer valid. Receipts contain the version that they are for.
import { queryField, type ClientAct } from './act.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  seconds,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import type { ObjectChange } from './history.ts'
import { decodePopReceipt } from '../../storage/queue/pop-receipt.ts'

export function detectMessagesTwice(context: RaceContext): Detector {
  const reported = new Set<ObjectChange>()
  return (act) => {
    const got = staleGet(context, act)
    const again = got && nextGet(context, got)
    if (got === undefined || again === undefined || reported.has(again)) return
    reported.add(again)
    context.report({
      kind: 'message handled twice',
      resource: resourceOfAct(act),
      explanation: explain(got, again, act),
      clients: clientsOf([got.act, again.act]),
      acts: [got.act, again.act, act],
    })
  }
}

const STALE: ReadonlySet<string> = new Set(['MessageNotFound', 'PopReceiptMismatch'])

/** The get or update from which the receipt is that was refused. */
function staleGet({ history }: RaceContext, { entry }: ClientAct): ObjectChange | undefined {
  if (!STALE.has(entry.errorCode ?? '')) return undefined
  const receipt = decodePopReceipt(queryField(entry, 'popreceipt') ?? '')
  const message = entry.notes.find(({ kind }) => kind === 'message')
  if (receipt === undefined || message === undefined) return undefined
  return history.at(message.key, receipt.sequence)
}

function nextGet({ history }: RaceContext, got: ObjectChange): ObjectChange | undefined {
  let first: ObjectChange | undefined
  for (const change of history.between(got.note.key, got.order, Infinity)) {
    if (change.act.entry.operation === GET) first = change
  }
  return first
}

const GET = 'Get Messages'
const TIMEOUT_SECONDS = 30

function explain({ act: got }: ObjectChange, { act: again }: ObjectChange, act: ClientAct): string {
  const timeoutSeconds = Number(queryField(got.entry, 'visibilitytimeout') ?? TIMEOUT_SECONDS)
  const took = act.entry.startedMs - got.entry.startedMs
  const other = again.client === got.client ? 'the same client' : quoted(again)
  return (
    `${quoted(got)} received a message of ${resourceOfAct(got)} (${when(got)}) and made it invisible for ` +
    `${timeoutSeconds} s. It came back after ${seconds(took)} (${when(act)}); meanwhile the message was ` +
    `visible again and ${other} received it (${when(again)}), so it was handled twice. ` +
    'Ask for a visibility timeout that is longer than the work, or extend it with Update Message before half of it ' +
    'is over; and make the work harmless to repeat.'
  )
}
