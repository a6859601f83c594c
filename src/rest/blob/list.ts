// List Blobs and List Containers as XML. Elements and their order are the service's.
import { formatHttpDate } from '../../http/date.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { createTextWriter } from '../../http/text-writer.ts'
import {
  XML_DECLARATION,
  xmlElement,
  xmlEscape,
  xmlEscapeAttribute,
  xmlNameElement,
  xmlOptional,
} from '../../http/xml.ts'
import { requireContainer, type Container } from '../../storage/blob/container.ts'
import { listContainers } from '../../storage/blob/container-list.ts'
import type { Blob } from '../../storage/blob/blob.ts'
import { listBlobs, type BlobItem, type ListPosition } from '../../storage/blob/list.ts'
import { invalidQuery, outOfRangeQuery, StorageError } from '../../storage/error.ts'
import { etagOf } from '../../storage/etag.ts'
import type { Metadata } from '../../storage/metadata.ts'
import { containerAddress, type BlobCall } from './service.ts'

const COUNT_MAX = 5_000

const CONTAINER_INCLUDES = new Set(['metadata', 'deleted', 'system'])
const BLOB_INCLUDES = new Set([
  'copy', 'deleted', 'deletedwithversions', 'immutabilitypolicy', 'legalhold', 'metadata',
  'permissions', 'snapshots', 'tags', 'uncommittedblobs', 'versions',
]) // prettier-ignore

export async function runListContainers({ request, service }: BlobCall): Promise<Answer> {
  const { query, account } = request
  const include = decodeInclude(request, CONTAINER_INCLUDES)
  const countMax = decodeMaxResults(request)
  const marker = decodeMarker(request)
  const after = marker !== undefined && 'afterName' in marker ? marker.afterName : undefined
  const page = await service.kv.read((tx) =>
    listContainers(
      tx,
      account,
      {
        prefix: query.get('prefix') ?? '',
        after: after === undefined ? undefined : { name: after },
        countMax,
        isDeletedIncluded: false,
      },
      service.moment().nowMs,
    ),
  )
  let items = ''
  for (const { name, container } of page.items) {
    items += containerXml(name, container, include.has('metadata'))
  }
  const next = page.next === undefined ? undefined : { afterName: page.next.name }
  return xmlAnswer(
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${endpointOf(request)}">` +
      `${echo(request)}<Containers>${items}</Containers>${nextMarkerXml(next)}</EnumerationResults>`,
  )
}

export async function runListBlobs({ request, service }: BlobCall): Promise<Answer> {
  const { query } = request
  const include = decodeInclude(request, BLOB_INCLUDES)
  const delimiter = query.get('delimiter') || undefined
  if (delimiter !== undefined && (include.has('snapshots') || include.has('versions'))) {
    const both = 'snapshots and versions can not be listed with a delimiter'
    throw invalidQuery('include', query.get('include') ?? '', both)
  }
  const list = {
    prefix: query.get('prefix') ?? '',
    delimiter,
    start: decodeMarker(request) ?? decodeStartFrom(request),
    countMax: decodeMaxResults(request),
  }
  const address = containerAddress(request)
  const page = await service.kv.read(function* (tx) {
    const container = yield* requireContainer(tx, address)
    return yield* listBlobs(tx, container.id, list)
  })
  const xml = createTextWriter(page.items.length * ITEM_BYTES_LIKELY + 1_024)
  xml.add(
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${endpointOf(request)}" ` +
      `ContainerName="${xmlEscapeAttribute(address.container)}">${echo(request)}<Blobs>`,
  )
  for (const item of page.items) xml.add(blobItemXml(item, include.has('metadata')))
  xml.add(`</Blobs>${nextMarkerXml(page.next)}</EnumerationResults>`)
  return xmlAnswer(xml.bytes())
}

const ITEM_BYTES_LIKELY = 2_400

function containerXml(name: string, container: Container, withMetadata: boolean): string {
  return (
    `<Container><Name>${xmlEscape(name)}</Name><Properties>` +
    `<Last-Modified>${formatHttpDate(container.modifiedMs)}</Last-Modified>` +
    `<Etag>${etagOf(container.stamp)}</Etag>` +
    '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>' +
    xmlOptional('PublicAccess', container.publicAccess) +
    '<DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope>' +
    '<DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>' +
    '<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>' +
    '<ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled>' +
    `</Properties>${withMetadata ? metadataXml(container.metadata) : ''}</Container>`
  )
}

function blobItemXml(item: BlobItem, withMetadata: boolean): string {
  if ('prefix' in item) return `<BlobPrefix>${xmlNameElement('Name', item.prefix)}</BlobPrefix>`
  return (
    `<Blob>${xmlNameElement('Name', item.name)}${propertiesXml(item.blob)}` +
    `${withMetadata ? metadataXml(item.blob.metadata) : ''}<OrMetadata /></Blob>`
  )
}

function propertiesXml(blob: Blob): string {
  const { headers } = blob
  const created = formatHttpDate(blob.createdMs)
  const modified = formatHttpDate(blob.modifiedMs)
  return (
    `<Properties><Creation-Time>${created}</Creation-Time>` +
    `<Last-Modified>${modified}</Last-Modified>` +
    // Without quotes here, and only here.
    `<Etag>${etagOf(blob.stamp).slice(1, -1)}</Etag>` +
    `<Content-Length>${blob.lengthBytes}</Content-Length>` +
    (headers.contentType === undefined
      ? '<Content-Type>application/octet-stream</Content-Type>'
      : xmlElement('Content-Type', headers.contentType)) +
    (headers.contentEncoding === undefined
      ? '<Content-Encoding />'
      : xmlElement('Content-Encoding', headers.contentEncoding)) +
    (headers.contentLanguage === undefined
      ? '<Content-Language />'
      : xmlElement('Content-Language', headers.contentLanguage)) +
    (headers.contentMd5 === undefined
      ? '<Content-CRC64 /><Content-MD5 />'
      : `<Content-CRC64 /><Content-MD5>${headers.contentMd5}</Content-MD5>`) +
    (headers.cacheControl === undefined
      ? '<Cache-Control />'
      : xmlElement('Cache-Control', headers.cacheControl)) +
    (headers.contentDisposition === undefined
      ? '<Content-Disposition />'
      : xmlElement('Content-Disposition', headers.contentDisposition)) +
    FIXED_PROPERTIES
  )
}

const FIXED_PROPERTIES =
  '<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>' +
  '<AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus>' +
  '<LeaseState>available</LeaseState><ServerEncrypted>false</ServerEncrypted></Properties>'

function metadataXml(metadata: Metadata): string {
  if (metadata.length === 0) return '<Metadata />'
  let items = ''
  for (const [name, value] of metadata) items += `<${name}>${xmlEscape(value)}</${name}>`
  return `<Metadata>${items}</Metadata>`
}

/** What was asked, said again: only what was sent. */
function echo({ query }: Request): string {
  return (
    xmlOptional('Prefix', query.get('prefix')) +
    xmlOptional('Marker', query.get('marker')) +
    xmlOptional('MaxResults', query.get('maxresults')) +
    xmlOptional('Delimiter', query.get('delimiter'))
  )
}

function endpointOf(request: Request): string {
  return xmlEscapeAttribute(`${request.endpoint}/`)
}

function xmlAnswer(body: string | Uint8Array): Answer {
  return { status: 200, headers: ['Content-Type', 'application/xml'], body }
}

function decodeMaxResults({ query }: Request): number {
  const text = query.get('maxresults')
  if (text === undefined || text === '') return COUNT_MAX
  if (!/^-?\d{1,15}$/.test(text)) throw invalidQuery('maxresults', text)
  const count = Number(text)
  if (count <= 0) throw outOfRangeQuery('maxresults', text, { min: 1, max: COUNT_MAX })
  return Math.min(count, COUNT_MAX)
}

function decodeInclude({ query }: Request, known: ReadonlySet<string>): ReadonlySet<string> {
  const text = query.get('include') ?? ''
  const asked =
    text === ''
      ? []
      : text
          .toLowerCase()
          .split(',')
          .map((word) => word.trim())
  if (asked.some((word) => !known.has(word))) throw invalidQuery('include', text)
  return new Set(asked)
}

function decodeStartFrom({ query }: Request): ListPosition | undefined {
  const name = query.get('startfrom')
  return name === undefined || name === '' ? undefined : { fromName: name }
}

// A marker is opaque to clients. It names a place between names, not a count, so it holds while blobs
// come and go.
function nextMarkerXml(next: ListPosition | undefined): string {
  if (next === undefined) return '<NextMarker />'
  const text =
    'afterPrefix' in next ? `p${next.afterPrefix}` : `n${'afterName' in next ? next.afterName : ''}`
  return `<NextMarker>${Buffer.from(text).toString('base64url')}</NextMarker>`
}

function decodeMarker({ query }: Request): ListPosition | undefined {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('utf8')
  const isOurs = Buffer.from(text).toString('base64url') === marker && text.length <= 1_025
  const position = text.slice(1)
  if (isOurs && text.startsWith('p')) return { afterPrefix: position }
  if (isOurs && text.startsWith('n')) return { afterName: position }
  throw new StorageError('InvalidQueryParameterValue', {
    QueryParameterName: 'marker',
    QueryParameterValue: marker,
  })
}
