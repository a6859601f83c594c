// Handles: the opens of SMB clients as List Handles shows them and Force Close Handles ends them. They are in
// the order of their keys, file by file; which of them lie below a directory is read off the files' parents,
// so a rename on the way does not hide them.
import { keyAfter, type KeyRange, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import { closeOpen } from './close-open.ts'
import { openKey, opensRange } from '../keys.ts'
import { getNode, ROOT_ID, type Existing } from '../tree/node.ts'
import type { FileOpen, FileTx } from './open.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** The handle after which the next page begins. */
export type HandlePosition = { readonly nodeId: number; readonly openId: number }

export type HandleQuery = {
  /** Those of what is below the directory, too. */
  readonly isRecursive: boolean
  readonly after?: HandlePosition
  readonly countMax: number
}

export type HandlePage = { readonly opens: readonly FileOpen[]; readonly next?: HandlePosition }

const SCAN_COUNT = 1_000

type Target = Pick<Existing, 'view' | 'node'>

/** Handles on a snapshot are those of the snapshot only, and the others those of the share as it is. */
export function* listHandles(tx: ReadTx, target: Target, query: HandleQuery): Step<HandlePage> {
  const { view } = target
  const known = placesBelow(target.node.nodeId)
  const opens: FileOpen[] = []
  let { from, to } = rangeOf(target, query)
  for (;;) {
    const entries = yield* tx.scan({ from, to, countMax: SCAN_COUNT })
    for (const { key, value } of entries) {
      from = keyAfter(key)
      const open = decodeRecord<FileOpen>(value)
      if (open.snapshot !== view.snapshot) continue
      if (query.isRecursive && !(yield* isBelow(tx, view, open.nodeId, known))) continue
      const last = opens.at(-1)
      if (last !== undefined && opens.length === query.countMax) {
        return { opens, next: { nodeId: last.nodeId, openId: last.openId } }
      }
      opens.push(open)
    }
    if (entries.length < SCAN_COUNT) return { opens }
  }
}

function rangeOf({ view, node }: Target, { isRecursive, after }: HandleQuery): KeyRange {
  const { shareId } = view
  const range = isRecursive ? opensRange(shareId) : opensRange(shareId, node.nodeId)
  if (after === undefined) return range
  return { from: keyAfter(openKey(shareId, after.nodeId, after.openId)), to: range.to }
}

/** Which nodes are the directory or lie below it, as far as is known. */
type Places = Map<number, boolean>

function placesBelow(directoryId: number): Places {
  return new Map([
    [ROOT_ID, false],
    [directoryId, true],
  ])
}

/** What was found is remembered for its neighbours. */
function* isBelow(tx: ReadTx, view: ShareView, nodeId: number, known: Places): Step<boolean> {
  const way: number[] = []
  let at: number | undefined = nodeId
  while (at !== undefined && !known.has(at)) {
    way.push(at)
    at = (yield* getNode(tx, view, at))?.parentId
  }
  const answer = at !== undefined && known.get(at) === true
  for (const each of way) known.set(each, answer)
  return answer
}

export type ClosedHandles = { readonly closedCount: number; readonly next?: HandlePosition }

/** One page of them. Clients are told by the event, and what they had cached is lost. */
export function* closeHandles(
  tx: FileTx,
  target: Pick<Existing, 'share' | 'view' | 'node'>,
  query: HandleQuery & { readonly openId?: number },
  moment: Moment,
): Step<ClosedHandles> {
  const { openId, ...page } = query
  const all = openId === undefined ? page : { ...page, countMax: Infinity }
  const { opens, next } = yield* listHandles(tx, target, all)
  const closing = openId === undefined ? opens : opens.filter((open) => open.openId === openId)
  for (const open of closing) {
    tx.announce({ kind: 'close', open })
    yield* closeOpen(tx, target.share, open, moment)
  }
  return { closedCount: closing.length, ...(next && { next }) }
}
