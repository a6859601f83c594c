// List Directories and Files: one directory, ordered by name, ignoring case.
import { optionalBoolean } from '../../http/protocol/header.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { createTextWriter } from '../../http/protocol/text-writer.ts'
import { isAtLeast } from '../../http/door/version.ts'
import {
  XML_DECLARATION,
  xmlElement,
  xmlEscapeAttribute,
  xmlNameElement,
  xmlOptional,
} from '../../http/protocol/xml.ts'
import { inTurns } from '../../kv/turn.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import { etagOf } from '../../storage/shared/etag.ts'
import { attributesText } from '../../storage/file/tree/attributes.ts'
import { foldName } from '../../storage/file/tree/file-name.ts'
import { fileTimeText } from '../../storage/file/tree/file-time.ts'
import type { ListEntries, ListedEntry } from '../../storage/file/tree/list.ts'
import type { FileAddress } from '../../storage/file/tree/node.ts'
import { decodeInclude, decodeMaxResults, serviceEndpointXml } from '../shared/list-query.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddressAt, type FileCall } from './service.ts'
import { listDirectory } from '../../storage/file/tree/rest-list.ts'

const INCLUDES = new Set(['timestamps', 'etag', 'attributes', 'permissionkey'])
const ITEM_BYTES_LIKELY = 200
const NAME_LENGTH_MAX = 255

/** Listed lengths are always exact, so x-ms-file-extended-info has no effect. */
export async function runListDirectoriesAndFiles({ request, service }: FileCall): Promise<Answer> {
  refuseConditions(request)
  optionalBoolean(request.headers, 'x-ms-file-extended-info')
  const include = decodeInclude(request, INCLUDES)
  const list = decodeList(request)
  const address = fileAddressAt(request)
  const { directoryId, items, next } = await service.kv.read((tx) =>
    listDirectory(tx, address, list),
  )
  const xml = createTextWriter(items.length * ITEM_BYTES_LIKELY + 1_024)
  const hasIds = isAtLeast(request.version, '2020-10-02')
  xml.add(`${XML_DECLARATION}<EnumerationResults ${frame(request, address)}>${echo(request)}`)
  xml.add(`${hasIds ? xmlElement('DirectoryId', String(directoryId)) : ''}<Entries>`)
  await inTurns(items, (item) => xml.add(itemXml(item, include, hasIds)))
  xml.add(`</Entries>${nextMarkerXml(next)}</EnumerationResults>`)
  return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.bytes() }
}

function decodeList(request: Request): ListEntries {
  const prefix = request.query.get('prefix') ?? ''
  const from = decodeMarker(request)
  return {
    // Cuts a prefix that is longer than any name; one extra character keeps it from matching.
    prefix: prefix.slice(0, NAME_LENGTH_MAX + 1),
    ...(from !== undefined && { from }),
    countMax: decodeMaxResults(request),
  }
}

/** A path that XML can't represent is percent-encoded and marked by an attribute. */
function frame(request: Request, { share, path }: FileAddress): string {
  const snapshot = request.query.get('sharesnapshot')
  const text = path.join('/')
  const named = xmlNameElement('Name', text)
  const [, encoded] = /^<Name Encoded="true">(.*)<\/Name>$/.exec(named) ?? []
  return (
    `ServiceEndpoint="${serviceEndpointXml(request)}" ` +
    `ShareName="${xmlEscapeAttribute(share)}" ` +
    (snapshot ? `ShareSnapshot="${xmlEscapeAttribute(snapshot)}" ` : '') +
    (encoded === undefined
      ? `DirectoryPath="${xmlEscapeAttribute(text)}"`
      : `Encoded="true" DirectoryPath="${encoded}"`)
  )
}

function echo({ query }: Request): string {
  const prefix = query.get('prefix')
  return (
    (prefix === undefined ? '' : xmlNameElement('Prefix', prefix)) +
    xmlOptional('Marker', query.get('marker')) +
    xmlOptional('MaxResults', query.get('maxresults'))
  )
}

function itemXml(
  { entry, node }: ListedEntry,
  include: ReadonlySet<string>,
  hasIds: boolean,
): string {
  const element = node.kind === 'directory' ? 'Directory' : 'File'
  const times = include.has('timestamps')
    ? xmlElement('CreationTime', fileTimeText(node.creationTime)) +
      xmlElement('LastAccessTime', fileTimeText(node.lastAccessTime ?? node.creationTime)) +
      xmlElement('LastWriteTime', fileTimeText(node.lastWriteTime)) +
      xmlElement('ChangeTime', fileTimeText(node.changeTime)) +
      xmlElement('Last-Modified', formatHttpDate(node.modifiedMs))
    : ''
  const properties =
    (node.kind === 'directory' ? '' : xmlElement('Content-Length', String(node.lengthBytes))) +
    times +
    (include.has('etag') ? xmlElement('Etag', etagOf(node.stamp)) : '')
  return (
    `<${element}>${xmlNameElement('Name', entry.name)}` +
    (hasIds ? xmlElement('FileId', String(node.nodeId)) : '') +
    (properties === '' ? '<Properties />' : `<Properties>${properties}</Properties>`) +
    (include.has('attributes') ? xmlElement('Attributes', attributesText(node)) : '') +
    (include.has('permissionkey') ? xmlElement('PermissionKey', node.permissionKey) : '') +
    `</${element}>`
  )
}

// A marker is opaque to clients: base64 of the name after which the next page begins, so it stays valid while files are
// created and deleted.

function nextMarkerXml(folded: string | undefined): string {
  if (folded === undefined) return '<NextMarker />'
  return `<NextMarker>${Buffer.from(folded, 'utf16le').toString('base64url')}</NextMarker>`
}

function decodeMarker({ query }: Request): string | undefined {
  const marker = query.get('marker')
  if (!marker) return undefined
  const bytes = Buffer.from(marker, 'base64url')
  const name = bytes.toString('utf16le')
  const isOurs = bytes.toString('base64url') === marker && bytes.length % 2 === 0
  if (!isOurs || name.length > NAME_LENGTH_MAX || foldName(name) !== name) {
    throw invalidQuery('marker', marker)
  }
  return name
}
