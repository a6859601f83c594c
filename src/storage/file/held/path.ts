// The path of a file by its id, for people.
import { decodeRecord } from '../../../kv/record.ts'
import { keyAfter, type ReadTx, type Step } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { entriesRange } from '../keys.ts'
import type { ShareView } from '../share/snapshot-view.ts'
import { pathBelow } from '../tree/directory-path.ts'
import type { FileHint } from '../tree/file-lease.ts'
import { getDirectoryEntry, ROOT_ID, type FileEntry, type FileNode } from '../tree/node.ts'

const ENTRIES_PER_SCAN = 1_000
const ENTRIES_MAX = 10_000

/** A file whose name is not found is shown by its id: it has been renamed, and its directory is large. */
export function* pathOfNode(
  tx: ReadTx,
  view: ShareView,
  node: Pick<FileNode, 'nodeId' | 'parentId'>,
  hint: Partial<FileHint>,
): Step<readonly string[]> {
  const { nodeId, parentId } = node
  const { directoryId, name } = (yield* hinted(tx, view, nodeId, hint)) ?? {
    directoryId: parentId,
    name: (yield* nameIn(tx, view.shareId, node)) ?? `(file ${nodeId})`,
  }
  const directories = yield* pathBelow(tx, view, directoryId, ROOT_ID, new Map())
  return [...(directories ?? [`(directory ${directoryId})`]), name]
}

function* hinted(
  tx: ReadTx,
  view: ShareView,
  nodeId: number,
  { directoryId, name }: Partial<FileHint>,
): Step<FileHint | undefined> {
  if (directoryId === undefined || name === undefined) return undefined
  const entry = yield* getDirectoryEntry(tx, view, directoryId, name)
  return entry?.nodeId === nodeId ? { directoryId, name: entry.name } : undefined
}

function* nameIn(
  tx: ReadTx,
  shareId: number,
  { nodeId, parentId }: Pick<FileNode, 'nodeId' | 'parentId'>,
): Step<string | undefined> {
  let { from, to } = entriesRange(shareId, parentId)
  for (let count = 0; count < ENTRIES_MAX; count += ENTRIES_PER_SCAN) {
    const entries = yield* tx.scan({ from, to, countMax: ENTRIES_PER_SCAN })
    for (const { value } of entries) {
      const entry = decodeRecord<FileEntry>(value)
      if (entry.nodeId === nodeId) return entry.name
    }
    const last = entries.at(-1)
    if (last === undefined || entries.length < ENTRIES_PER_SCAN) return undefined
    from = keyAfter(last.key)
    yield* giveWay()
  }
  return undefined
}
