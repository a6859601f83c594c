// Tags on the wire: the body of Get and Set Blob Tags, the Tags of a listed blob, and the answer of Find Blobs by Tags.
import type { FoundBlob } from '../../../storage/blob/list/tag-index.ts'
import { checkTags, type Tags } from '../../../storage/shared/tags.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import {
  parseXml,
  XML_DECLARATION,
  xmlChild,
  xmlElement,
  xmlEscapeAttribute,
  xmlNameElement,
  type XmlNode,
} from '../../../http/protocol/xml.ts'

/** Far above ten tags, so that too many tags get TagsTooLarge, not InvalidXmlDocument. */
const LIMITS = { lengthMax: 64 * 1024, depthMax: 6, nodeCountMax: 1_000 }

export function decodeTagsXml(body: Buffer): Tags {
  const root = parseXml(body, LIMITS)
  const set = xmlChild(root, 'TagSet')
  if (root.name !== 'Tags' || root.children.length !== 1 || set === undefined) {
    throw new StorageError('InvalidXmlDocument')
  }
  const tags = set.children.map(decodeTag)
  checkTags(tags)
  return tags
}

/** Trims nothing: spaces are part of names and values. */
function decodeTag(node: XmlNode): readonly [string, string] {
  const name = xmlChild(node, 'Key')
  const value = xmlChild(node, 'Value')
  const isWhole = name !== undefined && value !== undefined && node.children.length === 2
  if (node.name !== 'Tag' || !isWhole) throw new StorageError('InvalidXmlDocument')
  return [name.text, value.text]
}

export function encodeTagsXml(tags: Tags): string {
  return XML_DECLARATION + xmlTags(tags)
}

/** The element without the XML declaration, for a listed blob. */
export function xmlTags(tags: Tags): string {
  if (tags.length === 0) return '<Tags><TagSet /></Tags>'
  let items = ''
  for (const [name, value] of tags) {
    items += `<Tag>${xmlElement('Key', name)}${xmlElement('Value', value)}</Tag>`
  }
  return `<Tags><TagSet>${items}</TagSet></Tags>`
}

type FilterBlobs = {
  readonly endpoint: string
  /** As sent. */
  readonly where: string
  readonly blobs: readonly FoundBlob[]
  readonly nextMarker: string | undefined
  readonly version: string
  /** Marker and MaxResults, if they were sent. */
  readonly echo: string
}

export function encodeFilterBlobsXml(found: FilterBlobs): string {
  const endpoint = xmlEscapeAttribute(`${found.endpoint}/`)
  let items = ''
  for (const blob of found.blobs) items += xmlFoundBlob(blob, found.version)
  const blobs = items === '' ? '<Blobs />' : `<Blobs>${items}</Blobs>`
  return (
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${endpoint}">` +
    `${xmlElement('Where', found.where)}${found.echo}${blobs}` +
    `${xmlElement('NextMarker', found.nextMarker ?? '')}</EnumerationResults>`
  )
}

/** Before 2020-04-08 a blob had only the value of the tag in the query. */
function xmlFoundBlob({ name, container, tags }: FoundBlob, version: string): string {
  const tagsXml = isAtLeast(version, '2020-04-08')
    ? xmlTags(tags)
    : xmlElement('TagValue', tags[0]?.[1] ?? '')
  return `<Blob>${xmlNameElement('Name', name)}${xmlElement('ContainerName', container)}${tagsXml}</Blob>`
}
