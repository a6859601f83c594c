// The Queue service of a whole server, in memory or in a fresh folder, with a clock that the test holds; and
// messages as raw requests put and get them.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueueServiceClient } from '@azure/storage-queue'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  rawRequest,
  xmlText,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'

export type QueueServer = Pick<RunningTestServer, 'store' | 'now' | 'advance'> & {
  readonly port: number
  readonly endpoint: string
  readonly client: QueueServiceClient
  sweep(): Promise<void>
  close(): Promise<void>
}

export type QueueServerOptions = {
  /** true: in a fresh folder, removed when the server closes. */
  readonly onDisk?: boolean
  /** true: tokens are taken, whoever signed them. */
  readonly oauth?: boolean
}

export async function startQueueServer(options: QueueServerOptions = {}): Promise<QueueServer> {
  const folder = options.onDisk ? await mkdtemp(join(tmpdir(), 'lazuli-queue-')) : undefined
  const running = await runTestServer({
    silent: true,
    ...(folder !== undefined && { folder }),
    ...(options.oauth && { oauth: 'basic' }),
  })
  const port = running.endpoints.find(({ service }) => service === 'queue')?.port ?? 0
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`
  const connection =
    `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${ACCOUNT_KEY};` +
    `QueueEndpoint=${endpoint};`
  return {
    ...running,
    port,
    endpoint,
    client: QueueServiceClient.fromConnectionString(connection, { retryOptions: { maxTries: 1 } }),
    sweep: () => running.store.sweep(),
    close: async () => {
      await running.close()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A raw request to the Queue service. */
export function ask(server: QueueServer, request: RawRequest): Promise<RawResponse> {
  return rawRequest({ blobPort: server.port }, request)
}

export async function makeQueue(server: QueueServer, name: string): Promise<void> {
  assert.equal((await ask(server, { method: 'PUT', path: `/${name}` })).status, 201)
}

export function messageXml(text: string): string {
  return `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
}

export type SeenMessage = {
  readonly id: string
  readonly receipt: string
  readonly text: string
  readonly dequeueCount: number
  readonly nextVisible: string
  readonly expires: string
  readonly inserted: string
}

/** The messages of an answer; what it does not show is empty. */
export function seenMessages({ text: xml }: RawResponse): SeenMessage[] {
  return [...xml.matchAll(/<QueueMessage>.*?<\/QueueMessage>/gs)].map(([item]) => ({
    id: xmlText(item, 'MessageId') ?? '',
    receipt: xmlText(item, 'PopReceipt') ?? '',
    text: xmlText(item, 'MessageText') ?? '',
    dequeueCount: Number(xmlText(item, 'DequeueCount') ?? '-1'),
    nextVisible: xmlText(item, 'TimeNextVisible') ?? '',
    expires: xmlText(item, 'ExpirationTime') ?? '',
    inserted: xmlText(item, 'InsertionTime') ?? '',
  }))
}

export async function put(
  server: QueueServer,
  queue: string,
  text: string,
  query = '',
): Promise<SeenMessage> {
  const path = `/${queue}/messages${query}`
  const answer = await ask(server, { method: 'POST', path, body: messageXml(text) })
  assert.equal(answer.status, 201, answer.text)
  const [message] = seenMessages(answer)
  assert(message !== undefined)
  return message
}

export async function get(server: QueueServer, queue: string, query = ''): Promise<SeenMessage[]> {
  const answer = await ask(server, { method: 'GET', path: `/${queue}/messages${query}` })
  assert.equal(answer.status, 200, answer.text)
  return seenMessages(answer)
}

export function messagePath(queue: string, id: string, receipt: string, more = ''): string {
  return `/${queue}/messages/${id}?popreceipt=${encodeURIComponent(receipt)}${more}`
}

export async function countOf(server: QueueServer, queue: string): Promise<number> {
  const answer = await ask(server, { method: 'HEAD', path: `/${queue}?comp=metadata` })
  return Number(answer.headers['x-ms-approximate-messages-count'])
}
