// List Queues.
import type { Answer, Request } from '../../http/door/operation.ts'
import { XML_DECLARATION } from '../../http/protocol/xml.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { listQueues, type QueueItem } from '../../storage/queue/queue.ts'
import {
  decodeInclude,
  decodeMaxResults,
  listEchoXml,
  metadataXml,
  serviceEndpointXml,
} from '../shared/list-query.ts'
import type { QueueCall } from './service.ts'

const INCLUDES: ReadonlySet<string> = new Set(['metadata'])

export async function runListQueues({ request, service }: QueueCall): Promise<Answer> {
  const { query, account } = request
  const withMetadata = decodeInclude(request, INCLUDES).has('metadata')
  const list = {
    prefix: decodePrefix(query.get('prefix') ?? ''),
    after: decodeMarker(request),
    countMax: decodeMaxResults(request),
  }
  const page = await service.kv.read((tx) => listQueues(tx, account, list))
  const items = page.items.map((item) => queueXml(item, withMetadata)).join('')
  const body =
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}">` +
    `${listEchoXml(request)}${items === '' ? '<Queues />' : `<Queues>${items}</Queues>`}` +
    `${nextMarkerXml(page.next)}</EnumerationResults>`
  const headers = ['Cache-Control', 'no-cache', 'Content-Type', 'application/xml']
  return { status: 200, headers, body }
}

function queueXml({ name, queue }: QueueItem, withMetadata: boolean): string {
  const metadata = withMetadata ? metadataXml(queue.metadata) : ''
  return `<Queue><Name>${name}</Name>${metadata}</Queue>`
}

const NAME_LENGTH_MAX = 63

/** Cuts a prefix that is longer than any name, to keep keys short; it still matches nothing. */
function decodePrefix(prefix: string): string {
  return prefix.slice(0, NAME_LENGTH_MAX + 1)
}

// A marker is opaque to clients: base64 of the name after which the next page begins, so it stays valid while queues
// are created and deleted.

function nextMarkerXml(name: string | undefined): string {
  if (name === undefined) return '<NextMarker />'
  return `<NextMarker>${Buffer.from(name).toString('base64url')}</NextMarker>`
}

function decodeMarker({ query }: Request): string | undefined {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const name = Buffer.from(marker, 'base64url').toString('latin1')
  const isOurs = Buffer.from(name, 'latin1').toString('base64url') === marker
  if (!isOurs || !/^[a-z0-9-]{3,63}$/.test(name)) throw new StorageError('InvalidMarker')
  return name
}
