// Get and Set Blob Tags, and Find Blobs by Tags in an account or a container.
import { decodeConditions } from '../../http/header.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { decodeTagsXml, encodeFilterBlobsXml, encodeTagsXml } from '../../http/tags-xml.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { findBlob } from '../../storage/blob/blob.ts'
import { getBlobTags, setBlobTags } from '../../storage/blob/change.ts'
import {
  getContainer,
  nameOfContainer,
  requireContainer,
  type ContainerName,
} from '../../storage/blob/container.ts'
import { parseWhere, splitContainer, type TagConjunction } from '../../storage/blob/tag-filter.ts'
import {
  decodeFindMarker,
  encodeFindMarker,
  findBlobsByTags,
  type FoundPage,
  type LoadTagged,
} from '../../storage/blob/tag-index.ts'
import { NO_TAGS } from '../../storage/blob/tags.ts'
import { checkNoConditions } from '../../storage/condition.ts'
import { StorageError } from '../../storage/error.ts'
import { checkHashes, crc64Of, decodeHashes, md5Of } from '../body-hashes.ts'
import { decodeMaxResults, listEchoXml } from '../list-query.ts'
import { guardWith, withTags, type RequestGuard } from './header.ts'
import { blobAddressAt, containerAddress, levelOf, type BlobCall } from './service.ts'

/** Ten of the longest tags need a tenth of it. */
export const TAGS_BYTES_MAX = 64 * 1024

const XML = ['Content-Type', 'application/xml']

/** A read: a leased blob's tags need no id, whatever the page says (azure-sdk-for-java, setTagsLease). */
export async function runGetBlobTags({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddressAt(request), tagsGuard(request, 'read')]
  const { nowMs } = service.moment()
  const tags = await service.kv.read((tx) => getBlobTags(tx, address, guard, nowMs))
  return { status: 200, headers: XML, body: encodeTagsXml(tags) }
}

/** Of the current blob, and since 2020-08-04 of a snapshot too. */
export async function runSetBlobTags({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddressAt(request), tagsGuard(request, 'write')]
  const hashes = decodeHashes(request)
  const body = await request.body.read(TAGS_BYTES_MAX)
  checkHashes(hashes, { md5: md5Of(body), crc64: crc64Of(body) })
  const tags = decodeTagsXml(body)
  const moment = service.moment()
  await service.kv.write((tx) => setBlobTags(tx, address, guard, tags, moment))
  return { status: 204, headers: [] }
}

/** The four conditions have names of their own here; the plain ones are not for tags. */
function tagsGuard(request: Request, use: 'read' | 'write'): RequestGuard {
  const { headers } = request
  checkNoConditions(decodeConditions(headers))
  const own = decodeConditions(headers, 'x-ms-blob-')
  return guardWith(request, withTags(own, headers['x-ms-if-tags'], 'x-ms-if-tags'), use)
}

export async function runFindBlobsByTags({ request, service }: BlobCall): Promise<Answer> {
  const scope = levelOf(request) === 'service' ? 'account' : 'container'
  const text = request.query.get('where')
  if (text === undefined) {
    throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: 'where' })
  }
  const marker = request.query.get('marker')
  const asked = {
    where: parseWhere(text, scope),
    start: marker ? decodeFindMarker(marker) : undefined,
    countMax: decodeMaxResults(request),
  }
  const { nowMs } = service.moment()
  const found = await service.kv.read((tx) =>
    scope === 'account'
      ? findInAccount(tx, request.account, asked, nowMs)
      : findInContainer(tx, request, asked, nowMs),
  )
  const { endpoint, version } = request
  const nextMarker = found.next && encodeFindMarker(found.next)
  const echo = listEchoXml(request)
  const page = { endpoint, where: text, blobs: found.items, nextMarker, version, echo }
  return { status: 200, headers: XML, body: encodeFilterBlobsXml(page) }
}

type Asked = {
  readonly where: TagConjunction
  readonly start: ReturnType<typeof decodeFindMarker> | undefined
  readonly countMax: number
}

const NOTHING: FoundPage = { items: [], next: undefined }

/** In all containers, or in the one that the filter names; one that isn't there has no blobs. */
function* findInAccount(tx: ReadTx, account: string, asked: Asked, nowMs: number): Step<FoundPage> {
  const { container: name, where } = splitContainer(asked.where)
  const find = { ...asked, account, where }
  if (name === undefined) return yield* findBlobsByTags(tx, find, loadTagged(tx, nowMs))
  const container = yield* getContainer(tx, { account, container: name })
  if (container === undefined) return NOTHING
  return yield* findBlobsByTags(tx, { ...find, containerId: container.id }, loadTagged(tx, nowMs))
}

function* findInContainer(
  tx: ReadTx,
  request: Request,
  asked: Asked,
  nowMs: number,
): Step<FoundPage> {
  const { account } = request
  const { id: containerId } = yield* requireContainer(tx, containerAddress(request))
  return yield* findBlobsByTags(tx, { ...asked, account, containerId }, loadTagged(tx, nowMs))
}

/** The index knows containers by id; each one's name is looked up once. */
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
