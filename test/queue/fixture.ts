// The Queue service, and raw requests that put and get messages. A test file starts it before its first test, a
// suite in an async `describe`; the server is closed after their last test.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  rawRequest,
  xmlText,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'

export type QueueServer = Pick<RunningTestServer, 'store' | 'now' | 'advance' | 'queuePort'> & {
  readonly endpoint: string
  readonly client: QueueServiceClient
  sweep(): Promise<void>
}

export type QueueFixtureOptions = Pick<RunningTestOptions, 'onDisk' | 'oauth'>

export async function startQueueFixture(options: QueueFixtureOptions = {}): Promise<QueueServer> {
  const running = await runTestServer({ silent: true, ...options })
  after(() => running.close())
  const endpoint = `http://127.0.0.1:${running.queuePort}/${ACCOUNT}`
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  return {
    ...running,
    endpoint,
    client: new QueueServiceClient(endpoint, credential, { retryOptions: { maxTries: 1 } }),
    sweep: () => running.store.sweep(),
  }
}

/** Sends a raw request to the Queue service. */
export function send(server: QueueServer, request: RawRequest): Promise<RawResponse> {
  return rawRequest({ blobPort: server.queuePort }, request)
}

export async function createQueue(server: QueueServer, name: string): Promise<void> {
  assert.equal((await send(server, { method: 'PUT', path: `/${name}` })).status, 201)
}

export function messageXml(text: string): string {
  return `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
}

export type ReceivedMessage = {
  readonly id: string
  readonly receipt: string
  readonly text: string
  readonly dequeueCount: number
  readonly nextVisible: string
  readonly expires: string
  readonly inserted: string
}

/** The messages of a response; a field that is missing from it is empty. */
export function messagesIn({ text: xml }: RawResponse): ReceivedMessage[] {
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
): Promise<ReceivedMessage> {
  const path = `/${queue}/messages${query}`
  const answer = await send(server, { method: 'POST', path, body: messageXml(text) })
  assert.equal(answer.status, 201, answer.text)
  const [message] = messagesIn(answer)
  assert(message !== undefined)
  return message
}

export async function get(
  server: QueueServer,
  queue: string,
  query = '',
): Promise<ReceivedMessage[]> {
  const answer = await send(server, { method: 'GET', path: `/${queue}/messages${query}` })
  assert.equal(answer.status, 200, answer.text)
  return messagesIn(answer)
}

export function messagePath(queue: string, id: string, receipt: string, more = ''): string {
  return `/${queue}/messages/${id}?popreceipt=${encodeURIComponent(receipt)}${more}`
}

export async function countMessages(server: QueueServer, queue: string): Promise<number> {
  const answer = await send(server, { method: 'HEAD', path: `/${queue}?comp=metadata` })
  return Number(answer.headers['x-ms-approximate-messages-count'])
}
