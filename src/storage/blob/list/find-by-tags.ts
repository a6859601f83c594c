// Find Blobs by Tags in an account or in a container.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { findBlob } from '../blob.ts'
import {
  getContainer,
  nameOfContainer,
  requireContainer,
  type ContainerAddress,
  type ContainerName,
} from '../container/container.ts'
import { splitContainer, type TagConjunction } from '../../shared/tag-filter.ts'
import { decodeFindMarker, findBlobsByTags, type FoundPage, type LoadTagged } from './tag-index.ts'
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
  return yield* findBlobsByTags(tx, { ...find, containerId: container.id }, loadTagged(tx, nowMs))
}

export function* findInContainer(
  tx: ReadTx,
  address: ContainerAddress,
  request: FindRequest,
  nowMs: number,
): Step<FoundPage> {
  const { account } = address
  const { id: containerId } = yield* requireContainer(tx, address)
  return yield* findBlobsByTags(tx, { ...request, account, containerId }, loadTagged(tx, nowMs))
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
) {
  if (!names.has(containerId)) names.set(containerId, yield* nameOfContainer(tx, containerId))
  const found = names.get(containerId)
  if (found === undefined) return undefined
  const { account, name: container } = found
  const { stored } = yield* findBlob(tx, { account, container, blob }, nowMs)
  return stored && { container, tags: stored.blob.tags ?? NO_TAGS }
}
