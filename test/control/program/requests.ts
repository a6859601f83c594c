// The form of the programs, and the requests that they have in common.
import assert from 'node:assert/strict'
import type { RaceKind } from '../../../src/server.ts'
import { xmlText, type RawResponse } from '../../harness.ts'
import type { RaceClient, RaceWorld } from '../race-client.ts'

export type RaceProgram = {
  readonly kind: RaceKind
  readonly name: string
  wrong(world: RaceWorld): Promise<unknown>
  right(world: RaceWorld): Promise<unknown>
  /** Words of the explanation. */
  readonly says: RegExp
  /** It is reported, but is no error. */
  readonly isHarmless?: true
}

const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }
export const LEASE = '11111111-1111-4111-8111-111111111111'
export const OTHER_LEASE = '22222222-2222-4222-8222-222222222222'

export const put = (
  client: RaceClient,
  text: string,
  headers: Record<string, string> = {},
): Promise<RawResponse> => client.blob('PUT', '/box/doc', { ...BLOCK, ...headers }, text)

export const get = (client: RaceClient): Promise<RawResponse> => client.blob('GET', '/box/doc')

export function lease(client: RaceClient, action: string, id = LEASE): Promise<RawResponse> {
  return client.blob('PUT', '/box/doc?comp=lease', {
    'x-ms-lease-action': action,
    ...(action === 'acquire'
      ? { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': id }
      : { 'x-ms-lease-id': id }),
  })
}

export function leaseContainer(client: RaceClient, id: string): Promise<RawResponse> {
  return client.blob('PUT', '/box?restype=container&comp=lease', {
    'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': '15',
    'x-ms-proposed-lease-id': id,
  })
}

export const held = (id = LEASE) => ({ 'x-ms-lease-id': id })

export const etagOf = ({ headers }: RawResponse): string => String(headers.etag)

export async function refused(sent: Promise<RawResponse>, status: number): Promise<void> {
  const answer = await sent
  assert.equal(answer.status, status, answer.text)
}

export const file = (client: RaceClient, method: string, query = '', headers = {}, body?: string) =>
  client.file(method, `/share/f${query}`, headers, body)

export const createFile = (client: RaceClient) =>
  file(client, 'PUT', '', { 'x-ms-type': 'file', 'x-ms-content-length': '10' })

export const putRange = (client: RaceClient, text: string, first = 0, headers = {}) =>
  file(
    client,
    'PUT',
    '?comp=range',
    {
      'x-ms-write': 'update',
      'x-ms-range': `bytes=${first}-${first + text.length - 1}`,
      ...headers,
    },
    text,
  )

type Received = { readonly id: string; readonly receipt: string }

export async function receive(
  client: RaceClient,
  timeoutSeconds: number,
): Promise<Received | undefined> {
  const { text } = await client.queue('GET', `/jobs/messages?visibilitytimeout=${timeoutSeconds}`)
  const [id, receipt] = [xmlText(text, 'MessageId'), xmlText(text, 'PopReceipt')]
  return id === undefined || receipt === undefined ? undefined : { id, receipt }
}

export const remove = (client: RaceClient, { id, receipt }: Received) =>
  client.queue('DELETE', `/jobs/messages/${id}?popreceipt=${encodeURIComponent(receipt)}`)

export const enqueue = (client: RaceClient) =>
  client.queue(
    'POST',
    '/jobs/messages',
    '<QueueMessage><MessageText>job</MessageText></QueueMessage>',
  )

export const ROW = { partitionKey: 'p', rowKey: 'r' }
