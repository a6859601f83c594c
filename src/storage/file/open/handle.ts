// List Handles and Force Close Handles: the opens of SMB clients, in the order of their keys, file by file. Whether a
// file is below a directory follows from its parents, so a renamed directory on the way does not hide handles.
import { keyAfter, type KeyRange, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import { closeOpen } from './close-open.ts'
import { openKey, opensRange } from '../keys.ts'
import { getNode, ROOT_ID, type Existing } from '../tree/node.ts'
import type { FileOpen, FileTx } from './open.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** The last handle of a page; the next page starts after it. */
export type HandlePosition = { readonly nodeId: number; readonly openId: number }

export type HandleQuery = {
  /** Includes everything below the directory. */
  readonly isRecursive: boolean
  readonly after?: HandlePosition
  readonly countMax: number
}

export type HandlePage = { readonly opens: readonly FileOpen[]; readonly next?: HandlePosition }

const SCAN_COUNT = 1_000

type Target = Pick<Existing, 'view' | 'node'>

/** Lists the handles of one view only: of the current share or of a snapshot. */
export function* listHandles(tx: ReadTx, target: Target, query: HandleQuery): Step<HandlePage> {
  const { view } = target
  const cache = newBelowCache(target.node.nodeId)
  const opens: FileOpen[] = []
  let { from, to } = rangeOf(target, query)
  for (;;) {
    const entries = yield* tx.scan({ from, to, countMax: SCAN_COUNT })
    for (const { key, value } of entries) {
      from = keyAfter(key)
      const open = decodeRecord<FileOpen>(value)
      if (open.snapshot !== view.snapshot) continue
      if (query.isRecursive && !(yield* isBelow(tx, view, open.nodeId, cache))) continue
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

/** Cache: whether a node is the directory or below it. */
type BelowCache = Map<number, boolean>

function newBelowCache(directoryId: number): BelowCache {
  return new Map([
    [ROOT_ID, false],
    [directoryId, true],
  ])
}

/** Caches the result for all directories on the way up. */
function* isBelow(tx: ReadTx, view: ShareView, nodeId: number, cache: BelowCache): Step<boolean> {
  const visited: number[] = []
  let at: number | undefined = nodeId
  while (at !== undefined && !cache.has(at)) {
    visited.push(at)
    at = (yield* getNode(tx, view, at))?.parentId
  }
  const result = at !== undefined && cache.get(at) === true
  for (const each of visited) cache.set(each, result)
  return result
}

export type ClosedHandles = { readonly closedCount: number; readonly next?: HandlePosition }

/** Closes one page of handles. The event informs the clients; they lose unwritten cached data. */
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
