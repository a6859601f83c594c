// What the tests of shares share: a server, the SDK's client, and requests as they stand.
import assert from 'node:assert/strict'
import {
  ShareServiceClient,
  StorageSharedKeyCredential,
  type ShareClient,
} from '@azure/storage-file-share'
import { ACCOUNT, ACCOUNT_KEY, rawRequest, xmlText, type RawResponse } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { shareClient } from './smb-client.ts'

export type Headers = Readonly<Record<string, string | readonly string[]>>

export const DAY_MS = 24 * 60 * 60 * 1_000

export type Box = {
  readonly server: RunningTestServer
  readonly service: ShareServiceClient
  send(
    method: string,
    path: string,
    headers?: Headers,
    body?: string | Uint8Array,
  ): Promise<RawResponse>
  /** Set Service Properties. */
  turn(elements: string): Promise<void>
  /** Create Share; answers with its name. */
  create(name: string, headers?: Headers): Promise<string>
  /** Snapshot Share; answers with the snapshot's id. */
  snapshot(name: string, headers?: Headers): Promise<string>
}

export async function openBox(): Promise<Box> {
  const server = await runTestServer()
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const service = new ShareServiceClient(server.fileEndpoint, credential)
  const send: Box['send'] = (method, path, headers = {}, body) =>
    rawRequest(
      { blobPort: server.filePort },
      { method, path, headers, ...(body !== undefined && { body }) },
    )
  return {
    server,
    service,
    send,
    turn: async (elements) => {
      const body = `<StorageServiceProperties>${elements}</StorageServiceProperties>`
      const answer = await send('PUT', '/?restype=service&comp=properties', {}, body)
      assert.equal(answer.status, 202, answer.text)
    },
    create: async (name, headers = {}) => {
      const answer = await send('PUT', `/${name}?restype=share`, headers)
      assert.equal(answer.status, 201, answer.text)
      return name
    },
    snapshot: async (name, headers = {}) => {
      const answer = await send('PUT', `/${name}?restype=share&comp=snapshot`, headers)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-snapshot'])
    },
  }
}

/** With a share to work in. */
export type ShareBox = Box & { readonly share: ShareClient }

export async function openShareBox(name: string): Promise<ShareBox> {
  const box = await openBox()
  await box.create(name)
  return { ...box, share: shareClient(box.server, name) }
}

export async function assertRefused(
  sent: Promise<RawResponse>,
  status: number,
  code: string,
): Promise<void> {
  const { headers, text, ...answer } = await sent
  assert.deepEqual([answer.status, headers['x-ms-error-code']], [status, code], text)
  if (text !== '') assert.equal(xmlText(text, 'Code'), code)
}

export const retention = (fields: string): string =>
  `<ShareDeleteRetentionPolicy>${fields}</ShareDeleteRetentionPolicy>`
export const KEEP_3_DAYS = retention('<Enabled>true</Enabled><Days>3</Days>')
export const KEEP_NOT = retention('<Enabled>false</Enabled>')
