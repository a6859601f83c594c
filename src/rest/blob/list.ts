// List Containers and List Blobs: what the query asks for, decoded once, and the frame of the answer. A
// client that would rather have Apache Arrow gets XML, as from accounts that have no Arrow.
import { hasPermission } from '../../auth/authorize.ts'
import type { Identity } from '../../auth/identity.ts'
import { droppedHeaders, itemAt } from '../../http/header-versions.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { createTextWriter } from '../../http/text-writer.ts'
import { XML_DECLARATION, xmlEscapeAttribute, xmlOptional } from '../../http/xml.ts'
import type { ReadTx } from '../../kv/kv.ts'
import { requireContainer, type ContainerAddress } from '../../storage/blob/container.ts'
import { listContainers, type ContainerPosition } from '../../storage/blob/container-list.ts'
import { listBlobs } from '../../storage/blob/list.ts'
import type { BlobItem, ListBlobs, ListPosition } from '../../storage/blob/list-page.ts'
import { getProtection, shownAccess, type Protection } from '../../storage/blob/protection.ts'
import { invalidQuery, StorageError } from '../../storage/error.ts'
import { decodeInclude, decodeMaxResults, listEchoXml, serviceEndpointXml } from '../list-query.ts'
import { blobItemXml, containerXml } from './list-xml.ts'
import { containerAddress, type BlobCall } from './service.ts'

const CONTAINER_INCLUDES = new Set(['metadata', 'deleted', 'system'])
const BLOB_INCLUDES = new Set([
  'copy', 'deleted', 'deletedwithversions', 'immutabilitypolicy', 'legalhold', 'metadata',
  // Only where there is a hierarchical namespace is there anything to show for it.
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
      `${nextMarkerXml(containerMarker(page.next))}</EnumerationResults>`,
  )
}

export async function runListBlobs({ request, identity, service }: BlobCall): Promise<Answer> {
  const include = decodeInclude(request, BLOB_INCLUDES)
  checkTagsPermission(include, identity)
  const list = decodeListBlobs(request, include)
  const [address, { nowMs }] = [containerAddress(request), service.moment()]
  const page = await service.kv.read((tx) => protectedPage(tx, address, list, nowMs))
  const xml = createTextWriter(page.items.length * ITEM_BYTES_LIKELY + 1_024)
  xml.add(
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}" ` +
      `ContainerName="${xmlEscapeAttribute(address.container)}">${echo(request)}<Blobs>`,
  )
  const dropped = droppedHeaders('List Blobs', request.version)
  for (const item of page.items) {
    const shown = withShownAccess(item, page.protection)
    xml.add(itemAt(blobItemXml(shown, include, nowMs), dropped))
  }
  xml.add(`</Blobs>${nextMarkerXml(blobMarker(page.next))}</EnumerationResults>`)
  return xmlAnswer(xml.bytes())
}

function* protectedPage(tx: ReadTx, address: ContainerAddress, list: ListBlobs, nowMs: number) {
  const container = yield* requireContainer(tx, address)
  const protection = yield* getProtection(tx, address.account)
  return { ...(yield* listBlobs(tx, container.id, list, nowMs)), protection }
}

/** Last access times are shown while they are tracked. */
function withShownAccess(item: BlobItem, protection: Protection): BlobItem {
  if (!('blob' in item) || item.blob.accessedMs === undefined) return item
  return { ...item, blob: shownAccess(item.blob, protection) }
}

const ITEM_BYTES_LIKELY = 2_400

/** Reading tags is a permission of its own, also in a list (azure-sdk-for-python#35718). */
function checkTagsPermission(include: ReadonlySet<string>, identity: Identity): void {
  if (!include.has('tags') || hasPermission(identity, 't')) return
  throw new StorageError('AuthorizationPermissionMismatch')
}

function decodeListBlobs(request: Request, include: ReadonlySet<string>): ListBlobs {
  const { query } = request
  const delimiter = query.get('delimiter') || undefined
  if (delimiter !== undefined && include.has('snapshots')) {
    const both = 'snapshots can not be listed with a delimiter'
    throw invalidQuery('include', query.get('include') ?? '', both)
  }
  const showOnly = query.get('showonly')
  if (showOnly) throw invalidQuery('showonly', showOnly, 'it needs a hierarchical namespace')
  const startFrom = query.get('startfrom')
  return {
    prefix: bounded(query.get('prefix') ?? ''),
    delimiter,
    start: decodeBlobMarker(request) ?? (startFrom ? { fromName: bounded(startFrom) } : undefined),
    endBefore: bounded(query.get('endbefore') ?? '') || undefined,
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

const NAME_LENGTH_MAX = 1_024

/** No name is longer, so one unit more means the same as all that follows it; and keys have no room for it. */
function bounded(text: string): string {
  return text.slice(0, NAME_LENGTH_MAX + 1)
}

/** What was asked, said again: only what was sent. */
function echo(request: Request): string {
  return listEchoXml(request) + xmlOptional('Delimiter', request.query.get('delimiter'))
}

function xmlAnswer(body: string | Uint8Array): Answer {
  return { status: 200, headers: ['Content-Type', 'application/xml'], body }
}

// A marker is opaque to clients: base64 of a letter, perhaps a number, and a name. It names a place between
// names, not a count, so it holds while blobs come and go.

function nextMarkerXml(text: string | undefined): string {
  if (text === undefined) return '<NextMarker />'
  return `<NextMarker>${Buffer.from(text).toString('base64url')}</NextMarker>`
}

function blobMarker(next: ListPosition | undefined): string | undefined {
  if (next === undefined) return undefined
  if ('afterPrefix' in next) return `p${next.afterPrefix}`
  if ('afterPast' in next) return `s${next.stamp}:${next.afterPast}`
  return `n${'afterName' in next ? next.afterName : next.fromName}`
}

function decodeBlobMarker(request: Request): ListPosition | undefined {
  const marker = decodeMarker(request, 's')
  if (marker === undefined) return undefined
  const { kind, name, number } = marker
  if (kind === 'p') return { afterPrefix: name }
  return kind === 'n' ? { afterName: name } : { afterPast: name, stamp: number }
}

function containerMarker(next: ContainerPosition | undefined): string | undefined {
  if (next === undefined) return undefined
  return next.deletedId === undefined ? `n${next.name}` : `d${next.deletedId}:${next.name}`
}

function decodeContainerMarker(request: Request): ContainerPosition | undefined {
  const marker = decodeMarker(request, 'd')
  if (marker === undefined) return undefined
  const { kind, name, number } = marker
  return kind === 'n' || kind === 'p' ? { name } : { name, deletedId: number }
}

type Marker = { readonly kind: string; readonly number: number; readonly name: string }

/** A letter, in a marker of the numbered kind a number and a colon, and then a name. */
const MARKER = /^(?:([np])|([sd])(\d{1,16}):)(.{0,1024})$/su

function decodeMarker({ query }: Request, numbered: 's' | 'd'): Marker | undefined {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('utf8')
  const isOurs = Buffer.from(text).toString('base64url') === marker
  const [, plain, kind, digits = '0', name = ''] = (isOurs && MARKER.exec(text)) || []
  const number = Number(digits)
  const isKnown = plain !== undefined || kind === numbered
  const isName = name.length <= NAME_LENGTH_MAX
  if (!isKnown || !isName || !Number.isSafeInteger(number)) throw invalidQuery('marker', marker)
  return { kind: plain ?? numbered, number, name }
}
