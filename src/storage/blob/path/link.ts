// Puts paths into directories and takes them out again.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import type { AccessControl } from '../access/acl.ts'
import { blobKey, pathEntriesRange, pathEntryKey } from '../keys.ts'
import type { Blob, StoredBlob } from '../record.ts'
import { accessInside, getDirectoryAccess, storedAccess, type Creation } from './access.ts'
import type { Located, Tree } from './locate.ts'
import { FOLDER_MARK, newPathId, rootIdOf, type PathEntry, type PathState } from './path-state.ts'
import type { Metadata } from '../../shared/metadata.ts'

/** The directory that a new path belongs into. */
export type ParentPath = { readonly id: string; readonly access: AccessControl }

/** Makes the parents that a new path lacks. */
export function* linkParents(
  tx: Tx,
  { spaceId, rootId, names, directoryIds }: Located,
  { access: _ofPath, ...creation }: Creation,
  moment: Moment,
): Step<ParentPath> {
  let parentId = directoryIds.at(-1) ?? rootId
  let access = yield* getDirectoryAccess(tx, spaceId, parentId)
  for (let depth = directoryIds.length - 1; depth < names.length - 1; depth += 1) {
    const id = newPathId(moment.stamp, depth + 1)
    access = accessInside(access, true, creation)
    const path = pathState({ id, parentId, name: names[depth] ?? '', isDirectory: true }, access)
    putPathEntry(tx, spaceId, path)
    tx.put(blobKey(spaceId, id), encodeRecord(newDirectory(path, moment)))
    parentId = id
  }
  return { id: parentId, access }
}

/** Makes the entry of a new path and the parents that it lacks. The caller stores the record of the path. */
export function* linkPath(
  tx: Tx,
  located: Located,
  { isDirectory, ...creation }: Creation & { readonly isDirectory: boolean },
  moment: Moment,
): Step<PathState> {
  const parent = yield* linkParents(tx, located, creation, moment)
  const own = accessInside(parent.access, isDirectory, creation)
  const id = newPathId(moment.stamp, 0)
  const name = located.names.at(-1) ?? ''
  const path = pathState({ id, parentId: parent.id, name, isDirectory }, own)
  putPathEntry(tx, located.spaceId, path)
  return path
}

function pathState(
  { isDirectory, ...place }: Omit<PathState, 'isDirectory'> & { readonly isDirectory: boolean },
  access: AccessControl,
): PathState {
  return { ...place, ...(isDirectory && { isDirectory }), ...storedAccess(access, isDirectory) }
}

/** A directory is an empty blob. */
export function newDirectory(path: PathState, { stamp, nowMs }: Moment): Blob {
  return {
    type: 'BlockBlob',
    stamp,
    createdMs: nowMs,
    modifiedMs: nowMs,
    headers: {},
    metadata: withFolderMark([]),
    lengthBytes: 0,
    inline: true,
    path,
  }
}

/** The root has no record until it is changed. Then it is that of the container, whose times it has. */
export function rootDirectory({
  id,
  stamp,
  modifiedMs,
}: Pick<Blob, 'stamp' | 'modifiedMs'> & { readonly id: number }): StoredBlob {
  const path: PathState = { id: rootIdOf(id), parentId: '', name: '', isDirectory: true }
  return { blob: newDirectory(path, { stamp, nowMs: modifiedMs }), bytes: NO_BYTES }
}

const NO_BYTES = new Uint8Array(0)

export function withFolderMark(metadata: Metadata): Metadata {
  return [...metadata.filter(([name]) => name.toLowerCase() !== FOLDER_MARK), [FOLDER_MARK, 'true']]
}

export function hasFolderMark(metadata: Metadata): boolean {
  return metadata.some(([name, value]) => {
    return name.toLowerCase() === FOLDER_MARK && value.toLowerCase() === 'true'
  })
}

export function putPathEntry(
  tx: Tx,
  spaceId: number,
  { id, parentId, name, isDirectory }: PathState,
): void {
  const entry: PathEntry = isDirectory === true ? { id, isDirectory } : { id }
  tx.put(pathEntryKey(spaceId, parentId, name), encodeRecord(entry))
}

export function deletePathEntry(tx: Tx, spaceId: number, { parentId, name }: PathState): void {
  tx.delete(pathEntryKey(spaceId, parentId, name))
}

export function* isEmptyPath(
  tx: ReadTx,
  { spaceId }: Pick<Tree, 'spaceId'>,
  { id, isDirectory }: PathEntry,
): Step<boolean> {
  if (isDirectory !== true) return true
  return (yield* tx.scanKeys({ ...pathEntriesRange(spaceId, id), countMax: 1 })).length === 0
}
