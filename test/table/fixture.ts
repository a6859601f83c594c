// The Table service, and raw requests to it. A test file starts it before its first test, a suite in an async
// `describe`; the server is closed after their last test. The signer is written from the public description of the
// scheme for tables, not from src/auth, so that a mistake in one of them shows.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after } from 'node:test'
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  API_VERSION,
  rawRequest,
  type RawRequest,
  type RawResponse,
} from '../harness.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'

export type TableServer = Pick<RunningTestServer, 'store' | 'now' | 'advance' | 'tablePort'> & {
  readonly endpoint: string
}

export type TableFixtureOptions = Pick<RunningTestOptions, 'onDisk' | 'oauth'>

export async function startTableFixture(options: TableFixtureOptions = {}): Promise<TableServer> {
  const running = await runTestServer({ silent: true, ...options })
  after(() => running.close())
  return { ...running, endpoint: `http://127.0.0.1:${running.tablePort}/${ACCOUNT}` }
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

/** Sends a raw request to the Table service; its body is JSON unless a header says otherwise. */
export function send(
  server: Pick<TableServer, 'tablePort'>,
  request: RawRequest,
): Promise<RawResponse> {
  const date = new Date().toUTCString()
  const json = request.body === undefined ? {} : { 'content-type': 'application/json' }
  const headers: Record<string, string | readonly string[]> = { 'x-ms-date': date, ...json }
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    headers[name.toLowerCase()] = value
  }
  headers['x-ms-version'] ??= API_VERSION
  const sign = request.sign ?? 'sharedKey'
  if (sign === 'sharedKey') {
    const path = request.wholePath === true ? request.path : `/${ACCOUNT}${request.path}`
    headers['authorization'] = sharedKey(request.method, path, headers)
  }
  const unsigned = sign === 'sharedKey' ? 'none' : sign
  return rawRequest(
    { blobPort: server.tablePort },
    { ...request, headers: headers, sign: unsigned },
  )
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

/** The status, and the error code if there is one: `204`, `404 TableNotFound`. */
export function outcome({ status, text }: RawResponse): string {
  const code = /"code":"(\w+)"|<m:code>(\w+)</.exec(status < 400 ? '' : text)
  return [status, code?.[1] ?? code?.[2]].filter(Boolean).join(' ')
}

let tableCount = 0

/** Creates a table under a new name. */
export async function newTable(server: TableServer): Promise<string> {
  const name = `Table${(tableCount += 1)}`
  const body = JSON.stringify({ TableName: name })
  const answer = await send(server, { method: 'POST', path: '/Tables', body })
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
  const answer = await send(server, {
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
  return send(server, { method: 'GET', path: entityPath(table, 'p', 'r'), headers: { accept } })
}
