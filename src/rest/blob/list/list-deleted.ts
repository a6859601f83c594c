// List Blobs with `showonly=deleted`: the soft-deleted files and directories of a hierarchical namespace, each with the id
// with which Undelete restores it.
import { droppedHeaders, itemAt } from '../../../http/door/header-versions.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { XML_DECLARATION, xmlEscapeAttribute, xmlOptional } from '../../../http/protocol/xml.ts'
import {
  listDeletedPaths,
  type DeletedItem,
  type ListDeleted,
} from '../../../storage/datalake/undelete-path.ts'
import { invalidQuery } from '../../../storage/shared/error.ts'
import { decodeMaxResults, listEchoXml, serviceEndpointXml } from '../../shared/list-query.ts'
import { containerAddress, type BlobCall } from '../service.ts'
import { NAME_LENGTH_MAX } from './list-marker.ts'
import { blobItemXml } from './list-xml.ts'

export async function runListDeletedPaths({ request, service }: BlobCall): Promise<Answer> {
  const list: ListDeleted = {
    prefix: (request.query.get('prefix') ?? '').slice(0, NAME_LENGTH_MAX + 1),
    after: decodeDeletedMarker(request),
    countMax: decodeMaxResults(request),
  }
  const [address, { nowMs }] = [containerAddress(request), service.moment()]
  const page = await service.kv.read((tx) => listDeletedPaths(tx, address, list, nowMs))
  const dropped = droppedHeaders('List Blobs', request.version)
  const items = page.items.map((item) => itemAt(deletedItemXml(item, nowMs), dropped)).join('')
  const { container } = address
  const delimiter = xmlOptional('Delimiter', request.query.get('delimiter'))
  const body =
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}" ` +
    `ContainerName="${xmlEscapeAttribute(container)}">${listEchoXml(request)}${delimiter}` +
    `<Blobs>${items}</Blobs>${markerXml(page.next)}</EnumerationResults>`
  return { status: 200, headers: ['Content-Type', 'application/xml'], body }
}

function deletedItemXml({ path, deletionId, deleted, blob }: DeletedItem, nowMs: number): string {
  const { atMs, untilMs } = deleted
  const past = { ...blob, kind: 'root', deleted: { atMs, untilMs } } as const
  const xml = blobItemXml({ name: path, past, stamp: deletionId }, NOTHING, nowMs)
  const id = `<DeletionId>${deletionId}</DeletionId>`
  return xml.replace('<Properties>', () => `${id}<Properties>`)
}

const NOTHING: ReadonlySet<string> = new Set()

function markerXml(next: ListDeleted['after']): string {
  if (next === undefined) return '<NextMarker />'
  const text = Buffer.from(`${next.deletionId}:${next.path}`).toString('base64url')
  return `<NextMarker>${text}</NextMarker>`
}

function decodeDeletedMarker({ query }: Request): ListDeleted['after'] {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('utf8')
  const [, id, path] = /^(\d{1,16}):(.{0,1024})$/su.exec(text) ?? []
  if (id === undefined || path === undefined) throw invalidQuery('marker', marker)
  return { path, deletionId: Number(id) }
}
