// The Blob service with one container. A test file starts it before its first test, a suite in an async `describe`;
// the server is closed after their last test.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import {
  BlobServiceClient,
  StorageSharedKeyCredential,
  type ContainerClient,
} from '@azure/storage-blob'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  sendTo,
  setServiceProperties,
  startTestServer,
  type Headers,
  type Send,
  type TestServer,
  type TestServerOptions,
} from '../harness.ts'
import { startSourceServer, type SourceServer } from '../source-server.ts'
import { startSecureServer, type SecureServer } from './secure-server.ts'

export const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }

export type BlobFixture<Server = TestServer> = BlobRequests & {
  readonly server: Server
  readonly service: BlobServiceClient
  readonly container: ContainerClient
}

export type BlobRequests = {
  readonly send: Send
  /** Put Blob in the container; returns the version's id, or '' without versioning. */
  put(blob: string, body: string | Uint8Array, headers?: Headers): Promise<string>
  /** Snapshot Blob; returns the snapshot's id. */
  snapshot(blob: string, headers?: Headers): Promise<string>
  /** Get Blob; returns the text, or the error code. */
  read(path: string): Promise<string>
  /** Set Service Properties. Azure has some of them in its management plane only. */
  setServiceProperties(elements: string): Promise<void>
}

export type BlobFixtureOptions = TestServerOptions & {
  /** The container's name; `box` if left out. */
  readonly container?: string
}

export async function startBlobFixture(options: BlobFixtureOptions = {}): Promise<BlobFixture> {
  const { container: name = 'box', ...serverOptions } = options
  return blobFixtureOn(await startTestServer(serverOptions), name)
}

type AnyServer = { readonly blobPort: number; close(): Promise<void> }

/** The fixture on a server that the test has started with options of its own. */
export async function blobFixtureOn<Server extends AnyServer>(
  server: Server,
  name = 'box',
): Promise<BlobFixture<Server>> {
  after(() => server.close())
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const service = new BlobServiceClient(
    `http://127.0.0.1:${server.blobPort}/${ACCOUNT}`,
    credential,
  )
  const container = service.getContainerClient(name)
  await container.create()
  return { server, service, container, ...requestsTo(server, name) }
}

function requestsTo(server: AnyServer, container: string): BlobRequests {
  const send = sendTo(server.blobPort)
  return {
    send,
    put: async (blob, body, headers = {}) => {
      const answer = await send('PUT', `/${container}/${blob}`, { ...BLOCK_BLOB, ...headers }, body)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-version-id'] ?? '')
    },
    snapshot: async (blob, headers = {}) => {
      const answer = await send('PUT', `/${container}/${blob}?comp=snapshot`, headers)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-snapshot'])
    },
    read: async (path) => {
      const answer = await send('GET', path)
      return answer.status === 200 ? answer.text : String(answer.headers['x-ms-error-code'])
    },
    setServiceProperties: (elements) => setServiceProperties(send, elements),
  }
}

export type CopyFixture = BlobFixture & { readonly web: SourceServer }

/** With another server that blobs may be copied from. */
export async function startCopyFixture(): Promise<CopyFixture> {
  const web = await startSourceServer()
  const fixture = await startBlobFixture({ allowCopyFrom: [web.origin] })
  after(() => web.close())
  return { ...fixture, web }
}

export type SecureBlobFixture = Pick<BlobRequests, 'send'> & {
  readonly server: SecureServer
  readonly container: ContainerClient
}

/** Over HTTPS, for customer-provided keys. The server must not have logged an error by the end. */
export async function startSecureFixture(): Promise<SecureBlobFixture> {
  const server = await startSecureServer({ silent: true, logLevel: 'error' })
  after(async () => {
    await server.close()
    assert.equal(server.logged(), '')
  })
  const container = server.client.getContainerClient('box')
  await container.create()
  const send: Send = (method, path, headers = {}, body, sign = 'sharedKey') =>
    server.send({ method, path, headers, sign, ...(body !== undefined && { body }) })
  return { server, container, send }
}

export const VERSIONING = '<IsVersioningEnabled>true</IsVersioningEnabled>'
export const NO_VERSIONING = '<IsVersioningEnabled>false</IsVersioningEnabled>'
export const NO_SOFT_DELETE =
  '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>'

export function softDelete(days: number, more = ''): string {
  const fields = `<Enabled>true</Enabled><Days>${days}</Days>${more}`
  return `<DeleteRetentionPolicy>${fields}</DeleteRetentionPolicy>`
}
