// What the tests of snapshots, versions and soft delete share: a server with a container, requests to it, and
// the account's properties, which Azure has in its management plane and Lazuli in Set Service Properties.
import assert from 'node:assert/strict'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import {
  rawRequest,
  startTestServer,
  xmlText,
  type RawResponse,
  type TestServer,
} from '../harness.ts'

export type Headers = Readonly<Record<string, string | readonly string[]>>

export const DAY_MS = 24 * 60 * 60 * 1_000
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }

export type Box = {
  readonly server: TestServer
  readonly service: BlobServiceClient
  readonly container: ContainerClient
  send(
    method: string,
    path: string,
    headers?: Headers,
    body?: string | Uint8Array,
  ): Promise<RawResponse>
  /** Put Blob; answers with the version's id, which may be empty. */
  put(blob: string, body: string | Uint8Array, headers?: Headers): Promise<string>
  /** Snapshot Blob; answers with the snapshot's id. */
  snapshot(blob: string, headers?: Headers): Promise<string>
  /** Get Blob's text, or the code of the error. */
  read(path: string): Promise<string>
  /** Set Service Properties. */
  turn(elements: string): Promise<void>
}

export async function openBox(options: { readonly onDisk?: boolean } = {}): Promise<Box> {
  const server = await startTestServer(options)
  const service = BlobServiceClient.fromConnectionString(server.connectionString)
  const container = service.getContainerClient('box')
  await container.create()
  const send: Box['send'] = (method, path, headers = {}, body) =>
    rawRequest(server, { method, path, headers, ...(body !== undefined && { body }) })
  return {
    server,
    service,
    container,
    send,
    put: async (blob, body, headers = {}) => {
      const answer = await send('PUT', `/box/${blob}`, { ...BLOCK_BLOB, ...headers }, body)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-version-id'] ?? '')
    },
    snapshot: async (blob, headers = {}) => {
      const answer = await send('PUT', `/box/${blob}?comp=snapshot`, headers)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-snapshot'])
    },
    read: async (path) => {
      const answer = await send('GET', path)
      return answer.status === 200 ? answer.text : String(answer.headers['x-ms-error-code'])
    },
    turn: async (elements) => {
      const body = `<StorageServiceProperties>${elements}</StorageServiceProperties>`
      const answer = await send('PUT', '/?restype=service&comp=properties', {}, body)
      assert.equal(answer.status, 202, answer.text)
    },
  }
}

export const VERSIONING = '<IsVersioningEnabled>true</IsVersioningEnabled>'
export const NO_VERSIONING = '<IsVersioningEnabled>false</IsVersioningEnabled>'
export const NO_SOFT_DELETE =
  '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>'

export function softDelete(days: number, more = ''): string {
  const fields = `<Enabled>true</Enabled><Days>${days}</Days>${more}`
  return `<DeleteRetentionPolicy>${fields}</DeleteRetentionPolicy>`
}

export async function assertRefused(
  sent: Promise<RawResponse>,
  status: number,
  code: string,
): Promise<void> {
  const { headers, text, ...answer } = await sent
  assert.deepEqual([answer.status, headers['x-ms-error-code']], [status, code])
  if (text !== '') assert.equal(xmlText(text, 'Code'), code)
}
