// Find Blobs by Tags in an account or in a container.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { isBlobExpired } from '../blob.ts'
import {
  getContainer,
  nameOfContainer,
  requireContainer,
  type Container,
  type ContainerAddress,
  type ContainerName,
} from '../container/container.ts'
import { splitContainer, type TagConjunction } from '../../shared/tag-filter.ts'
import { blobKey } from '../keys.ts'
import { nameOfBlob } from '../path/path-of.ts'
import type { Blob } from '../record.ts'
import {
  decodeFindMarker,
  findBlobsByTags,
  type FoundPage,
  type LoadedBlob,
  type LoadTagged,
} from './tag-index.ts'
import { NO_TAGS } from '../../shared/tags.ts'

type FindRequest = {
  readonly where: TagConjunction
  readonly start: ReturnType<typeof decodeFindMarker> | undefined
  readonly countMax: number
}

const NOTHING: FoundPage = { items: [], next: undefined }

/** In all containers, or in the one that the filter names. A container that doesn't exist has no blobs. */
export function* findInAccount(
  tx: ReadTx,
  account: string,
  request: FindRequest,
  nowMs: number,
): Step<FoundPage> {
  const { container: name, where } = splitContainer(request.where)
  const find = { ...request, account, where }
  if (name === undefined) return yield* findBlobsByTags(tx, find, loadTagged(tx, nowMs))
  const container = yield* getContainer(tx, { account, container: name })
  if (container === undefined) return NOTHING
  return yield* findIn(tx, container, find, loadTagged(tx, nowMs))
}

export function* findInContainer(
  tx: ReadTx,
  address: ContainerAddress,
  request: FindRequest,
  nowMs: number,
): Step<FoundPage> {
  const { account } = address
  const container = yield* requireContainer(tx, address)
  return yield* findIn(tx, container, { ...request, account }, loadTagged(tx, nowMs))
}

/** The paths of a hierarchical container are indexed with those of the other containers in its space. */
function findIn(
  tx: ReadTx,
  { id, spaceId }: Container,
  find: FindRequest & { readonly account: string },
  load: LoadTagged,
): Step<FoundPage> {
  if (spaceId === undefined) return findBlobsByTags(tx, { ...find, containerId: id }, load)
  return findBlobsByTags(tx, { ...find, containerId: spaceId }, (containerId, blob) =>
    onlyOf(tx, id, load(containerId, blob)),
  )
}

function* onlyOf(
  tx: ReadTx,
  id: number,
  loading: Step<LoadedBlob | undefined>,
): Step<LoadedBlob | undefined> {
  const found = yield* loading
  const container = found && (yield* nameOfContainer(tx, id))
  return container?.name === found?.container ? found : undefined
}

/** The index stores ids of containers; each name is looked up once. */
function loadTagged(tx: ReadTx, nowMs: number): LoadTagged {
  const names = new Map<number, ContainerName | undefined>()
  return (containerId, blob) => taggedBlob(tx, names, { containerId, blob }, nowMs)
}

function* taggedBlob(
  tx: ReadTx,
  names: Map<number, ContainerName | undefined>,
  { containerId, blob }: { readonly containerId: number; readonly blob: string },
  nowMs: number,
): Step<LoadedBlob | undefined> {
  if (!names.has(containerId)) names.set(containerId, yield* nameOfContainer(tx, containerId))
  const record = yield* tx.getFields<Blob>(blobKey(containerId, blob))
  if (record === undefined || isBlobExpired(record, nowMs)) return undefined
  const tags = record.tags ?? NO_TAGS
  if (record.path !== undefined) {
    const found = yield* nameOfBlob(tx, containerId, blob)
    return found && { container: found.container, name: found.blob, tags }
  }
  const container = names.get(containerId)?.name
  return container === undefined ? undefined : { container, tags }
}
