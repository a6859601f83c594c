// A scan of a directory, which a handle continues from one QUERY_DIRECTORY to the next. Its position is a name, so it
// neither skips nor repeats entries that stay while others are added, renamed and deleted. It costs what it returns,
// however large the directory is.
import { setImmediate } from 'node:timers/promises'
import { foldName } from '../../storage/file/tree/file-name.ts'
import { listEntries } from '../../storage/file/tree/list.ts'
import { getNode, type FileNode } from '../../storage/file/tree/node.ts'
import type { FileOpen } from '../../storage/file/open/open.ts'
import { requireOpened, type OpenedNode } from '../../storage/file/open/opened-node.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import type { DiskTree, SmbWorld, FileHandle } from '../world.ts'
import { fileFactsOf, fileIdOf } from './file-facts.ts'
import type { DirectoryEntry } from '../wire/information/directory-entry.ts'
import { compilePattern, type NameMatcher } from '../wire/information/wildcard.ts'

/** `.` and `..` come first, then the names after `behind`. */
export type ScanPosition = { readonly dots: number; readonly behind: string | undefined }

export type DirectoryScan = {
  pattern: string
  matches: NameMatcher
  /** The start of all matching names. */
  prefix: string
  position: ScanPosition
  /** Whether it has found an entry: at the end the status is NO_MORE_FILES, otherwise NO_SUCH_FILE. */
  hasFound: boolean
}

const START: ScanPosition = { dots: 0, behind: undefined }

export function startScan(pattern: string): DirectoryScan {
  const prefix = /^[^*?<>"]*/.exec(pattern)?.[0] ?? ''
  return {
    pattern,
    matches: compilePattern(pattern, foldName),
    prefix,
    position: START,
    hasFound: false,
  }
}

export function restartScan(scan: DirectoryScan): void {
  scan.position = START
  scan.hasFound = false
}

/** An entry, and the position after it. */
export type Scanned = { readonly entry: DirectoryEntry; readonly position: ScanPosition }

export type ScanPage = {
  readonly found: readonly Scanned[]
  /** Where to continue if all entries are used; undefined at the end. */
  readonly next: ScanPosition | undefined
}

/** The next matching entries, about `countMax`. An empty page need not be the last. */
export async function scanPage(
  { kv }: Pick<SmbWorld, 'kv'>,
  tree: Pick<DiskTree, 'account' | 'share'>,
  { open }: Pick<FileHandle, 'open'>,
  scan: DirectoryScan,
  from: ScanPosition,
  countMax: number,
): Promise<ScanPage> {
  // A long scan that finds little lets other requests run in between.
  if (from.behind !== undefined) await setImmediate()
  return await kv.read((tx) => pageOf(tx, { tree, open }, scan, from, countMax))
}

const DOTS = ['.', '..']

type Directory = {
  readonly tree: Pick<DiskTree, 'account' | 'share'>
  readonly open: FileOpen
}

function* pageOf(
  tx: ReadTx,
  { tree, open }: Directory,
  scan: DirectoryScan,
  from: ScanPosition,
  countMax: number,
): Step<ScanPage> {
  const opened = yield* requireOpened(tx, tree, open)
  const dots = yield* dotEntries(tx, opened, scan, from)
  const { view, node } = opened
  const { items, next } = yield* listEntries(tx, view, node.nodeId, {
    countMax,
    prefix: scan.prefix,
    withDeletePending: true,
    ...(from.behind !== undefined && { from: from.behind }),
  })
  const found = dots
  for (const { entry, node: each } of items) {
    // The longest pattern takes milliseconds for a long name.
    yield* giveWay()
    if (!scan.matches(entry.name)) continue
    const position = { dots: DOTS.length, behind: foldName(entry.name) }
    found.push({ entry: entryOf(view.shareId, entry.name, each), position })
  }
  const after = next === undefined ? undefined : { dots: DOTS.length, behind: next }
  return { found, next: after }
}

/** The directory itself and its parent. The root is its own parent. */
function* dotEntries(
  tx: ReadTx,
  { view, node }: OpenedNode,
  { matches }: DirectoryScan,
  { dots }: ScanPosition,
): Step<Scanned[]> {
  const found: Scanned[] = []
  for (const [index, name] of DOTS.entries()) {
    if (index < dots || !matches(name)) continue
    const directory = index === 0 ? node : yield* getNode(tx, view, node.parentId)
    const entry = entryOf(view.shareId, name, directory ?? node)
    found.push({ entry, position: { dots: index + 1, behind: undefined } })
  }
  return found
}

function entryOf(shareId: number, name: string, node: FileNode): DirectoryEntry {
  return { ...fileFactsOf(node), name, fileId: fileIdOf(shareId, node) }
}
