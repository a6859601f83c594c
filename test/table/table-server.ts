// The Table service of a whole server, in memory or in a fresh folder, with a clock that the test holds; and
// raw requests to it. The signer is written from the public description of the scheme for
// tables, not from src/auth, so that the two can disagree.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  API_VERSION,
  rawRequest,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'

export type TableServer = Pick<RunningTestServer, 'store' | 'now' | 'advance'> & {
  readonly port: number
  readonly endpoint: string
  close(): Promise<void>
}

export type TableServerOptions = {
  /** true: in a fresh folder, removed when the server closes. */
  readonly onDisk?: boolean
  /** true: tokens are taken, whoever signed them. */
  readonly oauth?: boolean
}

export async function startTableServer(options: TableServerOptions = {}): Promise<TableServer> {
  const folder = options.onDisk ? await mkdtemp(join(tmpdir(), 'lazuli-table-')) : undefined
  const running = await runTestServer({
    silent: true,
    ...(folder !== undefined && { folder }),
    ...(options.oauth && { oauth: 'basic' }),
  })
  const port = running.endpoints.find(({ service }) => service === 'table')?.port ?? 0
  return {
    ...running,
    port,
    endpoint: `http://127.0.0.1:${port}/${ACCOUNT}`,
    close: async () => {
      await running.close()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

const SDK_OPTIONS = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }

export function serviceClient({ endpoint }: TableServer): TableServiceClient {
  const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  return new TableServiceClient(endpoint, credential, SDK_OPTIONS)
}

export function tableClient({ endpoint }: TableServer, table: string): TableClient {
  const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  return new TableClient(endpoint, table, credential, SDK_OPTIONS)
}

/** A raw request to the Table service; JSON unless it says otherwise. */
export function ask(server: TableServer, request: RawRequest): Promise<RawResponse> {
  const date = new Date().toUTCString()
  const json = request.body === undefined ? {} : { 'content-type': 'application/json' }
  const given: Record<string, string | readonly string[]> = { 'x-ms-date': date, ...json }
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    given[name.toLowerCase()] = value
  }
  given['x-ms-version'] ??= API_VERSION
  const sign = request.sign ?? 'sharedKey'
  if (sign === 'sharedKey') {
    const path = request.wholePath === true ? request.path : `/${ACCOUNT}${request.path}`
    given['authorization'] = sharedKey(request.method, path, given)
  }
  const unsigned = sign === 'sharedKey' ? 'none' : sign
  return rawRequest({ blobPort: server.port }, { ...request, headers: given, sign: unsigned })
}

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, "Table service" */
function sharedKey(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
): string {
  const [pathname = '', query = ''] = path.split(/\?(.*)/s)
  const comp = new URLSearchParams(query).get('comp')
  const resource = `/${ACCOUNT}${pathname}${comp === null ? '' : `?comp=${comp}`}`
  const lines = [method, '', headers['content-type'] ?? '', headers['x-ms-date'], resource]
  const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
  return `SharedKey ${ACCOUNT}:${hmac.update(lines.join('\n'), 'utf8').digest('base64')}`
}

/** Status and error code in one text: `404 TableNotFound`, or `204` of what went well. */
export function outcome({ status, text }: RawResponse): string {
  const code = /"code":"(\w+)"|<m:code>(\w+)</.exec(status < 400 ? '' : text)
  return [status, code?.[1] ?? code?.[2]].filter(Boolean).join(' ')
}

let made = 0

/** A table of its own for each test. */
export async function freshTable(server: TableServer): Promise<string> {
  made += 1
  const name = `Table${made}`
  const body = JSON.stringify({ TableName: name })
  const answer = await ask(server, { method: 'POST', path: '/Tables', body })
  assert.equal(answer.status, 201, answer.text)
  return name
}

export function entityPath(table: string, partitionKey: string, rowKey: string): string {
  const quoted = (key: string) => encodeURIComponent(key.replaceAll("'", "''"))
  return `/${table}(PartitionKey='${quoted(partitionKey)}',RowKey='${quoted(rowKey)}')`
}

export async function insert(
  server: TableServer,
  table: string,
  entity: Readonly<Record<string, unknown>>,
): Promise<RawResponse> {
  const answer = await ask(server, {
    method: 'POST',
    path: `/${table}`,
    body: JSON.stringify({ PartitionKey: 'p', RowKey: 'r', ...entity }),
  })
  assert.equal(answer.status, 201, answer.text)
  return answer
}

export function getEntity(
  server: TableServer,
  table: string,
  accept = 'application/json;odata=nometadata',
): Promise<RawResponse> {
  return ask(server, { method: 'GET', path: entityPath(table, 'p', 'r'), headers: { accept } })
}
