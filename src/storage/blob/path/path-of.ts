// The names of what indexes know by the key of its record: in a flat container they are in the key, in a hierarchical one they
// are found from the bottom up.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { getContainer, nameOfContainer, type ContainerName } from '../container/container.ts'
import { blobKey, containerNameKey } from '../keys.ts'
import type { Blob } from '../record.ts'
import { containerIdOfRoot, splitUncommittedName, type PathState } from './path-state.ts'

export type BlobName = {
  readonly account: string
  readonly container: string
  readonly blob: string
}

/** Undefined if no path leads to it: it is deleted, below a deleted directory, or in a deleted container. */
export function* nameOfBlob(
  tx: ReadTx,
  containerId: number,
  name: string,
): Step<BlobName | undefined> {
  const record = yield* tx.getFields<Blob>(blobKey(containerId, name))
  if (record?.path !== undefined) return yield* nameOfPath(tx, containerId, record.path)
  const uncommitted = splitUncommittedName(name)
  if (record === undefined && uncommitted !== undefined) {
    const { rootId, path } = uncommitted
    const found = yield* containerOfRoot(tx, rootId, containerId)
    if (found !== undefined) return { ...found, blob: path }
  }
  const found = yield* nameOfContainer(tx, containerId)
  return found && { account: found.account, container: found.name, blob: name }
}

function* nameOfPath(tx: ReadTx, spaceId: number, path: PathState): Step<BlobName | undefined> {
  const names: string[] = []
  let state: PathState | undefined = path
  while (state !== undefined && state.isDeleted !== true && state.name !== '') {
    names.unshift(state.name)
    const { parentId }: PathState = state
    const found = yield* containerOfRoot(tx, parentId, spaceId)
    if (found !== undefined) return { ...found, blob: names.join('/') }
    state = (yield* tx.getFields<Blob>(blobKey(spaceId, parentId)))?.path
  }
  const found = state?.name === '' ? yield* containerOfRoot(tx, state.id, spaceId) : undefined
  return found && { ...found, blob: '' }
}

/** Undefined if the directory isn't the root of a container that exists. */
function* containerOfRoot(
  tx: ReadTx,
  rootId: string,
  spaceId: number,
): Step<Omit<BlobName, 'blob'> | undefined> {
  const id = containerIdOfRoot(rootId)
  if (id === undefined) return undefined
  const name = yield* tx.getFields<ContainerName>(containerNameKey(id))
  if (name === undefined) return undefined
  const container = yield* getContainer(tx, { account: name.account, container: name.name })
  if (container?.id !== id || container.spaceId !== spaceId) return undefined
  return { account: name.account, container: name.name }
}
