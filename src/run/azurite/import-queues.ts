// Imports queues and their messages, with their times and counts.
import { importMessages, type ImportedMessage } from '../../storage/queue/import.ts'
import { decodeAzuriteMessage, decodeQueue, type MessageDocument } from './document.ts'
import { readLokiFile } from './loki-file.ts'
import { metadataHeaders, policiesXml, send, unlessRefused, type Importing } from './world.ts'

/** Messages per transaction: up to 64 KiB each. */
const BATCH_COUNT = 100
/** 9999-12-31T00:00:00Z: Azurite's time for messages that never expire is later on that day. */
const NEVER_MS = Date.UTC(9999, 11, 31)

export async function importQueues(into: Importing, database: string): Promise<void> {
  const queues = new Set<string>()
  for await (const { collection, document } of readLokiFile(database)) {
    if (collection !== '$QUEUES_COLLECTION$') continue
    const { account, name } = decodeQueue(document)
    if (await putQueue(into, document)) queues.add(`${account}/${name}`)
  }
  let batch: MessageDocument[] = []
  for await (const { collection, document } of readLokiFile(database)) {
    if (collection !== '$MESSAGES_COLLECTION$') continue
    const message = decodeAzuriteMessage(document)
    if (!queues.has(queueOf(message))) continue
    if (batch.length === BATCH_COUNT || (batch[0] && queueOf(batch[0]) !== queueOf(message))) {
      await putMessages(into, batch)
      batch = []
    }
    batch.push(message)
  }
  await putMessages(into, batch)
}

async function putQueue(into: Importing, document: unknown): Promise<boolean> {
  const { account, name, metadata, policies } = decodeQueue(document)
  const address = { service: 'queue', account, path: [name], method: 'PUT' } as const
  const isThere = await unlessRefused(into, `queue ${account}/${name}`, () =>
    send(into, { ...address, headers: metadataHeaders(metadata) }),
  )
  if (!isThere) return false
  if (policies.length > 0) {
    await unlessRefused(into, `access policies of queue ${account}/${name}`, () =>
      send(into, { ...address, query: { comp: 'acl' }, body: policiesXml(policies) }),
    )
  }
  into.report.count('queues')
  return true
}

async function putMessages(into: Importing, batch: readonly MessageDocument[]): Promise<void> {
  const [first] = batch
  if (first === undefined) return
  const { nowMs } = into.moment()
  const live = batch.filter(({ expiresMs }) => expiresMs > nowMs)
  const messages: ImportedMessage[] = []
  for (const message of live) {
    const { insertedMs, expiresMs, visibleAtMs, dequeueCount, id, chunk } = message
    messages.push({
      insertedMs, visibleAtMs, dequeueCount,
      randomGuid: id.toLowerCase(),
      ...(expiresMs < NEVER_MS && { expiresMs }),
      text: await into.folder.bytes('queue', chunk),
    }) // prettier-ignore
  }
  const { account, queue } = first
  await into.kv.write((tx) => importMessages(tx, { account, queue }, messages))
  into.report.count('messages', live.length)
  if (live.length < batch.length) into.report.count('expired messages', batch.length - live.length)
}

function queueOf({ account, queue }: MessageDocument): string {
  return `${account}/${queue}`
}
