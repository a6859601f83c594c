// Create and Delete Queue, its metadata and its access policies: decode once, call storage, encode.
import {
  ACL_BYTES_MAX,
  decodeSignedIdentifiers,
  encodeSignedIdentifiers,
} from '../shared/access-policy-xml.ts'
import { decodeMetadata, metadataHeaders } from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { leavingName, takingName } from '../../storage/shared/held-name.ts'
import { readQueueCount } from '../../storage/queue/count.ts'
import { changeQueue, createQueue, deleteQueue, requireQueue } from '../../storage/queue/queue.ts'
import { queueAddress, queueName, type QueueCall } from './service.ts'

const NO_CONTENT: Answer = { status: 204, headers: [] }

export async function runCreateQueue({ request, service }: QueueCall): Promise<Answer> {
  const created = { id: service.newId(), metadata: decodeMetadata(request.rawHeaders) }
  const address = queueAddress(request)
  const [name, { nowMs }] = [queueName(service, request), service.moment()]
  const outcome = await service.kv.write((tx) =>
    takingName(tx, name, nowMs, createQueue(tx, address, created)),
  )
  return outcome === 'created' ? { status: 201, headers: [] } : NO_CONTENT
}

export async function runDeleteQueue({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const [name, { nowMs }] = [queueName(service, request), service.moment()]
  await service.kv.write((tx) => leavingName(tx, name, nowMs, deleteQueue(tx, address)))
  return NO_CONTENT
}

export async function runGetQueueMetadata({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const { nowMs } = service.moment()
  const { queue, messageCount } = await service.kv.read((tx) => readQueueCount(tx, address, nowMs))
  const headers = [
    'Cache-Control', 'no-cache',
    'x-ms-approximate-messages-count', String(messageCount),
    ...metadataHeaders(queue.metadata),
  ] // prettier-ignore
  return { status: 200, headers }
}

export async function runSetQueueMetadata({ request, service }: QueueCall): Promise<Answer> {
  const metadata = decodeMetadata(request.rawHeaders)
  const address = queueAddress(request)
  await service.kv.write((tx) => changeQueue(tx, address, { metadata }))
  return NO_CONTENT
}

export async function runGetQueueAcl({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const { policies } = await service.kv.read((tx) => requireQueue(tx, address))
  const headers = ['Cache-Control', 'no-cache', 'Content-Type', 'application/xml']
  return { status: 200, headers, body: encodeSignedIdentifiers(policies) }
}

export async function runSetQueueAcl({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const policies = decodeSignedIdentifiers('queue', await request.body.read(ACL_BYTES_MAX))
  await service.kv.write((tx) => changeQueue(tx, address, { policies }))
  return NO_CONTENT
}
