// A watch on a directory. It starts with the first CHANGE_NOTIFY on a handle and ends with the handle. Changes by all
// clients, including REST, arrive as events of the store; those that match stay in the buffer until a request takes
// them.
import { NOTIFY, nameFilter } from '../../storage/file/tree/change-event.ts'
import { pathBelow, type KnownDirectories } from '../../storage/file/tree/directory-path.ts'
import { isDeletePending, type FileEvent } from '../../storage/file/open/open.ts'
import type { SmbWorld, FileHandle } from '../world.ts'
import { createNotifyBuffer, type NotifyBuffer } from './notify-buffer.ts'
import { SmbError } from '../smb-error.ts'
import { NOTIFY_ACTION, type Change } from '../wire/file/change-notify.ts'
import type { NtStatusName } from '../wire/status.ts'

export type WatchTerms = {
  /** FILE_NOTIFY_CHANGE_* */
  readonly filter: number
  readonly watchTree: boolean
  readonly lengthMax: number
}

/** A request that waits for a change. */
type Waiting = {
  readonly outputMaxBytes: number
  resolve(changes: Buffer): void
  reject(error: SmbError): void
}

type WatchWorld = Pick<SmbWorld, 'kv' | 'logFault'>
type WatchedHandle = Pick<FileHandle, 'open' | 'commandState' | 'onClose'>

export type Watch = {
  readonly terms: WatchTerms
  readonly buffer: NotifyBuffer
  readonly waiting: Set<Waiting>
}

type ChangeEvent = Extract<FileEvent, { kind: 'change' }>

const STATE_KEY = 'watch'

/** The watch of the handle, with the terms of the first request. */
export function watchOf(world: WatchWorld, handle: WatchedHandle, terms: WatchTerms): Watch {
  const existing = handle.commandState.get(STATE_KEY) as Watch | undefined
  if (existing !== undefined) return existing
  const watch: Watch = { terms, buffer: createNotifyBuffer(terms.lengthMax), waiting: new Set() }
  handle.commandState.set(STATE_KEY, watch)
  const stop = listen(world, handle, watch)
  handle.onClose.add(() => {
    stop()
    endWaiting(watch, 'NOTIFY_CLEANUP')
  })
  return watch
}

/** The buffered changes, or the next ones. */
export function nextChanges(
  watch: Watch,
  outputMaxBytes: number,
  goAsync: (cancel: () => void) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { outputMaxBytes, resolve, reject }
    watch.waiting.add(waiting)
    answerWaiting(watch)
    if (!watch.waiting.has(waiting)) return
    goAsync(() => {
      watch.waiting.delete(waiting)
      reject(new SmbError('CANCELLED'))
    })
  })
}

/** Requests are answered in order, each with all changes so far. */
function answerWaiting({ buffer, waiting }: Watch): void {
  for (const each of waiting) {
    if (buffer.isEmpty) return
    waiting.delete(each)
    const changes = buffer.take(each.outputMaxBytes)
    if (changes === undefined) each.reject(new SmbError('NOTIFY_ENUM_DIR'))
    else each.resolve(changes)
  }
}

function endWaiting({ waiting }: Watch, status: NtStatusName): void {
  const all = [...waiting]
  waiting.clear()
  for (const { reject } of all) reject(new SmbError(status))
}

/** The directory may have been marked for deletion before the watch started. */
export function endIfDeletePending(world: WatchWorld, { open }: WatchedHandle, watch: Watch): void {
  world.kv
    .read((tx) => isDeletePending(tx, open.shareId, open.nodeId))
    .then((isPending) => isPending && endWaiting(watch, 'DELETE_PENDING'))
    .catch((error: unknown) => world.logFault(error))
}

function listen(world: WatchWorld, { open }: WatchedHandle, watch: Watch): () => void {
  const { shareId, nodeId } = open
  const known: KnownDirectories = new Map()
  // Locating a change takes a read, but changes must be reported in order.
  let last: Promise<void> | undefined
  const take = (changes: readonly Change[]): void => {
    for (const change of changes) watch.buffer.add(change)
    answerWaiting(watch)
  }
  return world.kv.listen((event) => {
    if (event.kind === 'deletePending') {
      const isThis = event.shareId === shareId && event.nodeId === nodeId
      if (isThis) endWaiting(watch, 'DELETE_PENDING')
      return
    }
    if (event.kind !== 'change' || event.shareId !== shareId) return
    if (!isWanted(event, watch.terms)) return
    const isDirect = event.directoryId === nodeId && event.from === undefined
    if (last === undefined && isDirect) return take(changesOf(event, watch.terms, '', undefined))
    if (!watch.terms.watchTree && !touches(event, nodeId)) return
    const turn = (last ?? Promise.resolve())
      .then(() => locate(world, open.nodeId, event, watch.terms, known))
      .then(take)
      .catch((error: unknown) => world.logFault(error))
      .finally(() => {
        if (last === turn) last = undefined
      })
    last = turn
  })
}

function touches({ directoryId, from }: ChangeEvent, nodeId: number): boolean {
  return directoryId === nodeId || from?.directoryId === nodeId
}

/** A watch without names reports a renamed file as a change of attributes or creation time. */
const RENAMED_FILTER = NOTIFY.attributes | NOTIFY.creation

function isWanted({ filter, action, isDirectory, name }: ChangeEvent, terms: WatchTerms): boolean {
  // The root is not in any directory.
  if (name === '') return false
  const isRenamedFile = action === 'renamed' && !isDirectory
  return ((filter | (isRenamedFile ? RENAMED_FILTER : 0)) & terms.filter) !== 0
}

/** undefined: outside the watched directory, or below its subdirectories when the tree is not watched. */
type Prefix = string | undefined

async function locate(
  world: WatchWorld,
  watchedId: number,
  event: ChangeEvent,
  terms: WatchTerms,
  known: KnownDirectories,
): Promise<readonly Change[]> {
  const view = { shareId: event.shareId, lastSnapshot: 0 }
  const prefixOf = async (directoryId: number): Promise<Prefix> => {
    if (directoryId === watchedId) return ''
    if (!terms.watchTree) return undefined
    const names = await world.kv.read((tx) => pathBelow(tx, view, directoryId, watchedId, known))
    return names?.map((name) => `${name}\\`).join('')
  }
  const from = event.from && (await prefixOf(event.from.directoryId))
  return changesOf(event, terms, await prefixOf(event.directoryId), from)
}

/** The records of one event. A rename within a directory has two, a move between directories one at each end. */
function changesOf(
  event: ChangeEvent,
  terms: WatchTerms,
  prefix: Prefix,
  fromPrefix: Prefix,
): readonly Change[] {
  const { action, name, from, directoryId } = event
  if (action !== 'renamed') return record(NOTIFY_ACTION[action], prefix, name)
  const kind = event.isDirectory ? 'directory' : 'file'
  if ((nameFilter({ kind }) & terms.filter) === 0) {
    return record(NOTIFY_ACTION.modified, prefix, name)
  }
  const isWithin = from?.directoryId === directoryId
  return [
    ...record(
      isWithin ? NOTIFY_ACTION.oldName : NOTIFY_ACTION.removed,
      fromPrefix,
      from?.name ?? '',
    ),
    ...record(isWithin ? NOTIFY_ACTION.newName : NOTIFY_ACTION.added, prefix, name),
  ]
}

function record(action: number, prefix: Prefix, name: string): readonly Change[] {
  return prefix === undefined ? [] : [{ action, name: `${prefix}${name}` }]
}
