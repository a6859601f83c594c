// List Containers and List Blobs: decodes the query and encodes the page as XML or, for List Blobs, as Apache Arrow if
// the client accepts it.
import { setImmediate } from 'node:timers/promises'
import { hasPermission } from '../../../auth/authorize.ts'
import { inTurns } from '../../../kv/turn.ts'
import type { Identity } from '../../../auth/identity.ts'
import { optionalHeader } from '../../../http/protocol/header.ts'
import { droppedHeaders, itemAt } from '../../../http/door/header-versions.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { createTextWriter } from '../../../http/protocol/text-writer.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import { XML_DECLARATION, xmlEscapeAttribute, xmlOptional } from '../../../http/protocol/xml.ts'
import { listContainers } from '../../../storage/blob/container/container-list.ts'
import type { BlobPage, ListBlobs } from '../../../storage/blob/list/list-page.ts'
import { invalidQuery, StorageError } from '../../../storage/shared/error.ts'
import {
  decodeInclude,
  decodeMaxResults,
  listEchoXml,
  serviceEndpointXml,
} from '../../shared/list-query.ts'
import {
  decodeBlobMarker,
  decodeContainerMarker,
  encodeBlobMarker,
  encodeContainerMarker,
  NAME_LENGTH_MAX,
} from './list-marker.ts'
import { blobItemXml, containerXml } from './list-xml.ts'
import { containerAddress, type BlobCall } from '../service.ts'
import { listBlobPage } from '../../../storage/blob/list/list.ts'

const CONTAINER_INCLUDES = new Set(['metadata', 'deleted', 'system'])
const BLOB_INCLUDES = new Set([
  'copy', 'deleted', 'deletedwithversions', 'immutabilitypolicy', 'legalhold', 'metadata',
  'permissions',
  'snapshots', 'tags', 'uncommittedblobs', 'versions',
]) // prettier-ignore

export async function runListContainers({ request, service }: BlobCall): Promise<Answer> {
  const { query, account } = request
  const include = decodeInclude(request, CONTAINER_INCLUDES)
  const list = {
    prefix: bounded(query.get('prefix') ?? ''),
    after: decodeContainerMarker(request),
    countMax: decodeMaxResults(request),
    isDeletedIncluded: include.has('deleted'),
    isSystemIncluded: include.has('system'),
  }
  const { nowMs } = service.moment()
  const page = await service.kv.read((tx) => listContainers(tx, account, list, nowMs))
  let items = ''
  const dropped = droppedHeaders('List Containers', request.version)
  for (const item of page.items) items += itemAt(containerXml(item, include, nowMs), dropped)
  return xmlAnswer(
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}">` +
      `${echo(request)}<Containers>${items}</Containers>` +
      `${nextMarkerXml(encodeContainerMarker(page.next))}</EnumerationResults>`,
  )
}

/** Soft-deleted files and directories of a hierarchical namespace, with the ids with which Undelete restores them. */
function showsDeletedOnly({ request: { query, account }, service }: BlobCall): boolean {
  const showOnly = query.get('showonly')
  if (showOnly === undefined || showOnly === '') return false
  if (service.accounts.get(account)?.isHierarchical !== true) {
    throw invalidQuery('showonly', showOnly, 'it needs a hierarchical namespace')
  }
  if (showOnly.toLowerCase() !== 'deleted') throw invalidQuery('showonly', showOnly)
  return true
}

const LONG_PAGE_COUNT = 1_000

export async function runListBlobs(call: BlobCall): Promise<Answer> {
  const { request, identity, service } = call
  const showsOnlyDeleted = showsDeletedOnly(call)
  const include = decodeInclude(request, BLOB_INCLUDES)
  checkTagsPermission(include, identity)
  const isArrow = acceptsArrow(request)
  const list = { ...decodeListBlobs(request, include, isArrow), showsOnlyDeleted }
  const [address, { nowMs }] = [containerAddress(request), service.moment()]
  const page = await service.kv.read((tx) => listBlobPage(tx, address, list, nowMs))
  // Encoding a long page takes about as long as reading it; let other requests run first.
  if (page.items.length > LONG_PAGE_COUNT) await setImmediate()
  return isArrow ? arrowAnswer(page, include, nowMs) : xmlPage(request, page, include, nowMs)
}

async function xmlPage(
  request: Request,
  page: BlobPage,
  include: ReadonlySet<string>,
  nowMs: number,
): Promise<Answer> {
  const xml = createTextWriter(page.items.length * ITEM_BYTES_LIKELY + 1_024)
  const { container } = containerAddress(request)
  xml.add(
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}" ` +
      `ContainerName="${xmlEscapeAttribute(container)}">${echo(request)}<Blobs>`,
  )
  const dropped = droppedHeaders('List Blobs', request.version)
  await inTurns(page.items, (item) => {
    xml.add(itemAt(blobItemXml(item, include, nowMs), dropped))
  })
  xml.add(`</Blobs>${nextMarkerXml(encodeBlobMarker(page.next))}</EnumerationResults>`)
  return xmlAnswer(xml.bytes())
}

const ARROW = 'application/vnd.apache.arrow.stream'

/** Older versions answer with XML, which every client that accepts Arrow accepts too. */
function acceptsArrow({ headers, version }: Request): boolean {
  if (!isAtLeast(version, '2026-10-06')) return false
  const accept = optionalHeader(headers, 'accept') ?? ''
  return accept.split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === ARROW)
}

/** Loads the encoder on first use: few clients need it. */
async function arrowAnswer(
  page: BlobPage,
  include: ReadonlySet<string>,
  nowMs: number,
): Promise<Answer> {
  const { encodeArrowPage } = await import('./list-arrow.ts')
  const body = await encodeArrowPage(page, include, nowMs)
  return { status: 200, headers: ['Content-Type', ARROW], body }
}

const ITEM_BYTES_LIKELY = 2_400

/** Tags need a permission of their own, in a list too (azure-sdk-for-python#35718). */
function checkTagsPermission(include: ReadonlySet<string>, identity: Identity): void {
  if (!include.has('tags') || hasPermission(identity, 't')) return
  throw new StorageError('AuthorizationPermissionMismatch')
}

function decodeListBlobs(
  request: Request,
  include: ReadonlySet<string>,
  isArrow: boolean,
): ListBlobs {
  const { query } = request
  const delimiter = query.get('delimiter') || undefined
  if (delimiter !== undefined && include.has('snapshots')) {
    const both = 'snapshots can not be listed with a delimiter'
    throw invalidQuery('include', query.get('include') ?? '', both)
  }
  const [startFrom, endBefore] = [query.get('startfrom'), query.get('endbefore')]
  // azure-rest-api-specs#44500: only the Arrow operations support it.
  if (endBefore && !isArrow) {
    throw new StorageError('UnsupportedQueryParameter', { QueryParameterName: 'endBefore' })
  }
  return {
    prefix: bounded(query.get('prefix') ?? ''),
    delimiter,
    start: decodeBlobMarker(request) ?? (startFrom ? { fromName: bounded(startFrom) } : undefined),
    endBefore: bounded(endBefore ?? '') || undefined,
    countMax: decodeMaxResults(request),
    include: {
      snapshots: include.has('snapshots'),
      versions: include.has('versions'),
      deleted: include.has('deleted'),
      deletedWithVersions: include.has('deletedwithversions'),
      uncommitted: include.has('uncommittedblobs'),
    },
  }
}

/** Cuts text that is longer than any name, since keys have no room for it; one extra character keeps its order. */
function bounded(text: string): string {
  return text.slice(0, NAME_LENGTH_MAX + 1)
}

function echo(request: Request): string {
  return listEchoXml(request) + xmlOptional('Delimiter', request.query.get('delimiter'))
}

function xmlAnswer(body: string | Uint8Array): Answer {
  return { status: 200, headers: ['Content-Type', 'application/xml'], body }
}

function nextMarkerXml(marker: string | undefined): string {
  return marker === undefined ? '<NextMarker />' : `<NextMarker>${marker}</NextMarker>`
}
