// The File service with one share. A test file starts it before its first test, a suite in an async `describe`; the
// server is closed after their last test.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import {
  ShareServiceClient,
  StorageSharedKeyCredential,
  type ShareClient,
} from '@azure/storage-file-share'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  sendTo,
  setServiceProperties,
  startTestServer,
  type Headers,
  type Send,
  type TestServer,
} from '../harness.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'
import { startSourceServer, type SourceServer } from '../source-server.ts'

export type FileFixture<Server = RunningTestServer> = FileRequests & {
  readonly server: Server
  readonly service: ShareServiceClient
  readonly share: ShareClient
}

export type FileRequests = {
  readonly send: Send
  /** Set Service Properties. */
  setServiceProperties(elements: string): Promise<void>
  /** Create Share; returns its name. */
  createShare(name: string, headers?: Headers): Promise<string>
  /** Snapshot Share; returns the snapshot's id. */
  snapshotShare(name: string, headers?: Headers): Promise<string>
}

export type FileFixtureOptions = RunningTestOptions & {
  /** The share's name; `box` if left out. */
  readonly share?: string
}

export async function startFileFixture(options: FileFixtureOptions = {}): Promise<FileFixture> {
  const { share = 'box', ...serverOptions } = options
  return fileFixtureOn(await runTestServer(serverOptions), share)
}

type AnyServer = {
  readonly filePort: number
  readonly fileEndpoint: string
  close(): Promise<void>
}

/** The fixture on a server that the test has started with options of its own. */
export async function fileFixtureOn<Server extends AnyServer>(
  server: Server,
  name = 'box',
): Promise<FileFixture<Server>> {
  after(() => server.close())
  const service = shareService(server)
  const share = service.getShareClient(name)
  await share.create()
  return { server, service, share, ...requestsTo(server) }
}

function requestsTo({ filePort }: AnyServer): FileRequests {
  const send = sendTo(filePort)
  return {
    send,
    setServiceProperties: (elements) => setServiceProperties(send, elements),
    createShare: async (name, headers = {}) => {
      const answer = await send('PUT', `/${name}?restype=share`, headers)
      assert.equal(answer.status, 201, answer.text)
      return name
    },
    snapshotShare: async (name, headers = {}) => {
      const answer = await send('PUT', `/${name}?restype=share&comp=snapshot`, headers)
      assert.equal(answer.status, 201, answer.text)
      return String(answer.headers['x-ms-snapshot'])
    },
  }
}

export type FileCopyFixture = FileFixture<TestServer> & { readonly web: SourceServer }

/** With another server that files may be copied from. */
export async function startFileCopyFixture(): Promise<FileCopyFixture> {
  const web = await startSourceServer()
  const server = await startTestServer({ allowCopyFrom: [web.origin] })
  const fixture = await fileFixtureOn(server)
  after(() => web.close())
  return { ...fixture, web }
}

type Endpoint = { readonly fileEndpoint: string }

export function shareClient(server: Endpoint, share: string): ShareClient {
  return shareService(server).getShareClient(share)
}

function shareService({ fileEndpoint }: Endpoint): ShareServiceClient {
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  // No retries: the tests check the first answer.
  return new ShareServiceClient(fileEndpoint, credential, { retryOptions: { maxTries: 1 } })
}

export const retention = (fields: string): string =>
  `<ShareDeleteRetentionPolicy>${fields}</ShareDeleteRetentionPolicy>`
export const RETAIN_3_DAYS = retention('<Enabled>true</Enabled><Days>3</Days>')
export const NO_RETENTION = retention('<Enabled>false</Enabled>')
