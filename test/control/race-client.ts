// Named clients of one server, for programs that race. Each request is awaited by the program, so the program decides
// who is first.
import { TableClient, type TableServiceClientOptions } from '@azure/data-tables'
import {
  startTestServer,
  sendTo,
  type Headers,
  type RawResponse,
  type TestServer,
  type TestServerOptions,
} from '../harness.ts'
import { LAKE, sendAs } from '../datalake/fixture.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { ACCESS, DISPOSITION, SHARE } from '../smb/client-message.ts'

type PipelinePolicy = NonNullable<TableServiceClientOptions['additionalPolicies']>[number]['policy']

type Body = string | Uint8Array

export type RaceClient = {
  blob(method: string, path: string, headers?: Headers, body?: Body): Promise<RawResponse>
  /** Data Lake Storage, in the account with a hierarchical namespace. */
  lake(method: string, path: string, headers?: Headers, body?: Body): Promise<RawResponse>
  queue(method: string, path: string, body?: string): Promise<RawResponse>
  /** Of `things`. */
  readonly table: TableClient
  file(method: string, path: string, headers?: Headers, body?: Body): Promise<RawResponse>
}

export type RaceWorld = {
  readonly server: TestServer
  client(name: string): RaceClient
  /** Opens /share/f for reading over SMB, with a share mode. */
  openOverSmb(share: keyof typeof SHARE): Promise<void>
  /** Writes to /share/f over SMB and closes it. */
  writeOverSmb(text: string): Promise<void>
  close(): Promise<void>
}

/** With the container `box`, the filesystem `lake`, the queue `jobs`, the table `things` and the share `share`. */
export async function openRaceWorld(options: TestServerOptions = {}): Promise<RaceWorld> {
  const server = await startTestServer(options)
  const setUp = clientOf(server, 'set-up')
  await setUp.blob('PUT', '/box?restype=container')
  await setUp.lake('PUT', '/lake?resource=filesystem')
  await setUp.queue('PUT', '/jobs')
  await setUp.table.createTable()
  await setUp.file('PUT', '/share?restype=share')
  const smbClients: SmbClient[] = []
  const smbClient = async (): Promise<SmbClient> => {
    const client = await SmbClient.connect({ port: server.smbPort, share: 'share' })
    smbClients.push(client)
    return client
  }
  return {
    server,
    client: (name) => clientOf(server, name),
    openOverSmb: async (share) => {
      const client = await smbClient()
      await client.open('f', { share: SHARE[share], disposition: DISPOSITION.open })
    },
    writeOverSmb: async (text) => {
      const opened = await (await smbClient()).open('f', { access: ACCESS.all })
      await opened.write(0, Buffer.from(text))
      await opened.close()
    },
    close: async () => {
      for (const client of smbClients) client.end()
      await server.close()
    },
  }
}

function clientOf(server: TestServer, name: string): RaceClient {
  const named = { 'x-lazuli-client': name }
  const { blobPort, queuePort, filePort } = server
  const [blob, queue, file] = [sendTo(blobPort), sendTo(queuePort), sendTo(filePort)]
  const lake = sendAs(blobPort, LAKE)
  return {
    blob: (method, path, headers, body) => blob(method, path, { ...named, ...headers }, body),
    lake: (method, path, headers, body) => lake(method, path, { ...named, ...headers }, body),
    queue: (method, path, body) => queue(method, path, named, body),
    file: (method, path, headers, body) => file(method, path, { ...named, ...headers }, body),
    table: TableClient.fromConnectionString(server.connectionString, 'things', {
      allowInsecureConnection: true,
      additionalPolicies: [{ policy: naming(name), position: 'perCall' }],
    }),
  }
}

/** A pipeline policy of the SDK: what a program does to name itself. */
function naming(name: string): PipelinePolicy {
  return {
    name: 'client name',
    sendRequest: (request, next) => {
      request.headers.set('x-lazuli-client', name)
      return next(request)
    },
  }
}
