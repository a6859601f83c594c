// The rows of the Table service. Every entity has a partition of its own, as Azure recommends; it is no disadvantage for
// any server. A batch and a page are in one partition.
import { mustCall } from './call.ts'
import type { Row } from './row.ts'
import type { Running } from './target.ts'
import { numbered, type LoadRequest } from './wrk.ts'

const ENTITY_COUNT = 256
const PARTITION_COUNT = 64
/** The size of a batch, which is the maximum, and of a page. */
const PARTITION_ENTITY_COUNT = 100

const JSON_HEADERS = {
  Accept: 'application/json;odata=minimalmetadata',
  'Content-Type': 'application/json',
  DataServiceVersion: '3.0',
}
/** As the SDKs send them. */
const INSERT_HEADERS = { ...JSON_HEADERS, Prefer: 'return-no-content' }

const shared = { service: 'table', onBare: false, azuriteSMin: 1, answerBytesMin: 0 } as const

export function tableRows(): readonly Row[] {
  return [insertRow, getRow, mergeRow, batchRow, queryRow]
}

function tableUrl(server: Running, path: string, query = ''): string {
  return `${server.endpoint('table')}/${path}?${query}${server.sas}`
}

function entityUrl(server: Running, table: string, rowKey = 'r'): string {
  return tableUrl(server, `${table}(PartitionKey='p-{n}',RowKey='${rowKey}')`)
}

function pageUrl(server: Running, table: string): string {
  return tableUrl(server, `${table}()`, '$filter=PartitionKey%20eq%20%27p-{n}%27&')
}

/** Eight properties of five types, 300 bytes in total. */
function entityText(rowKey = 'r'): string {
  return JSON.stringify({
    PartitionKey: 'p-{n}',
    RowKey: rowKey,
    name: 'x'.repeat(64),
    address: 'y'.repeat(64),
    count: 12_345,
    size: '9007199254740993',
    'size@odata.type': 'Edm.Int64',
    ratio: 0.25,
    active: true,
    madeAt: '2026-01-02T03:04:05.678Z',
    'madeAt@odata.type': 'Edm.DateTime',
  })
}

async function createTable(server: Running, table: string): Promise<void> {
  const body = JSON.stringify({ TableName: table })
  await mustCall(tableUrl(server, 'Tables'), { method: 'POST', headers: INSERT_HEADERS, body })
}

async function send(request: LoadRequest, number: number): Promise<string> {
  const { url, body, ...rest } = request
  const text = body === undefined ? {} : { body: numbered(body, number) }
  return (await mustCall(numbered(url, number), { ...rest, ...text })).toString()
}

/** Creates the table and sends the request with each number. */
async function fill(server: Running, table: string, request: LoadRequest, count: number) {
  await createTable(server, table)
  for (let number = 0; number < count; number++) await send(request, number)
}

function insertRequest(server: Running, table: string): LoadRequest {
  const url = tableUrl(server, table)
  return { method: 'POST', url, headers: INSERT_HEADERS, body: entityText() }
}

function getRequest(server: Running, table: string, rowKey?: string): LoadRequest {
  return { method: 'GET', url: entityUrl(server, table, rowKey), headers: JSON_HEADERS }
}

async function checkEntity(server: Running, table: string, number: number, rowKey?: string) {
  const entity = await send(getRequest(server, table, rowKey), number)
  if (!entity.includes('9007199254740993')) throw new Error(`${table}: ${entity}`)
}

const insertRow: Row = {
  ...shared,
  name: 'insert-entity',
  work: 'Insert Entity',
  goal: { azurite: 8 },
  numberCount: 0,
  request: (server) => insertRequest(server, 'InsertEntity'),
  prepare: (server) => createTable(server, 'InsertEntity'),
  check: (server, number) => checkEntity(server, 'InsertEntity', number),
}

const getRow: Row = {
  ...shared,
  name: 'get-entity',
  work: 'Get Entity',
  goal: { azurite: 12 },
  numberCount: ENTITY_COUNT,
  answerBytesMin: 400,
  request: (server) => getRequest(server, 'GetEntity'),
  prepare: (server) => fill(server, 'GetEntity', insertRequest(server, 'GetEntity'), ENTITY_COUNT),
  check: (server) => checkEntity(server, 'GetEntity', 0),
}

const mergeRow: Row = {
  ...shared,
  name: 'merge-entity',
  work: 'Merge Entity, two of eight properties',
  goal: { azurite: 8 },
  numberCount: ENTITY_COUNT,
  request: (server) => ({
    method: 'MERGE',
    url: entityUrl(server, 'MergeEntity'),
    headers: { ...JSON_HEADERS, 'If-Match': '*' },
    body: JSON.stringify({ count: 54_321, name: 'z'.repeat(64) }),
  }),
  prepare: (server) =>
    fill(server, 'MergeEntity', insertRequest(server, 'MergeEntity'), ENTITY_COUNT),
  check: (server) => checkEntity(server, 'MergeEntity', 0),
}

// The names that the SDKs use: Azurite accepts no others.
const BATCH = 'batch_5f4d2a9e-7b3c-4a55-9d7e-0c1f6d2b8a31'
const CHANGESET = 'changeset_8c0e6b1d-2f94-4d0a-b6c7-3e5a9d4f7b12'

function batchRequest(server: Running, table: string): LoadRequest {
  const url = `${server.endpoint('table')}/${table}`
  const parts = Array.from({ length: PARTITION_ENTITY_COUNT }, (_, at) => insertPart(url, at))
  const changeset = parts.map((part) => `--${CHANGESET}\r\n${part}\r\n`).join('')
  return {
    method: 'POST',
    url: tableUrl(server, '$batch'),
    headers: { ...JSON_HEADERS, 'Content-Type': `multipart/mixed; boundary=${BATCH}` },
    body:
      `--${BATCH}\r\nContent-Type: multipart/mixed; boundary=${CHANGESET}\r\n\r\n` +
      `${changeset}--${CHANGESET}--\r\n--${BATCH}--\r\n`,
  }
}

function insertPart(url: string, at: number): string {
  const headers = Object.entries(INSERT_HEADERS).map(([name, value]) => `${name}: ${value}`)
  return [
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    '',
    `POST ${url} HTTP/1.1`,
    ...headers,
    '',
    entityText(`r-${String(at).padStart(3, '0')}`),
  ].join('\r\n')
}

const batchRow: Row = {
  ...shared,
  name: 'insert-batch',
  work: `Batch of ${PARTITION_ENTITY_COUNT} inserts`,
  goal: { azurite: 10 },
  numberCount: 0,
  azuriteSMin: 3,
  // The status is always 202; if an operation fails, the response contains only that one.
  answerBytesMin: PARTITION_ENTITY_COUNT * 100,
  request: (server) => batchRequest(server, 'InsertBatch'),
  prepare: (server) => createTable(server, 'InsertBatch'),
  check: (server, number) => checkEntity(server, 'InsertBatch', number, 'r-099'),
}

const queryRow: Row = {
  ...shared,
  name: 'query-entities',
  work: `Query Entities, ${PARTITION_ENTITY_COUNT} of a partition`,
  goal: { azurite: 8 },
  numberCount: PARTITION_COUNT,
  answerBytesMin: PARTITION_ENTITY_COUNT * 400,
  azuriteSMin: 3,
  request: (server) => ({
    method: 'GET',
    url: pageUrl(server, 'QueryEntities'),
    headers: JSON_HEADERS,
  }),
  prepare: (server) =>
    fill(server, 'QueryEntities', batchRequest(server, 'QueryEntities'), PARTITION_COUNT),
  async check(server) {
    const page = await send({ ...queryRow.request(server) }, 0)
    const count = page.split('"RowKey":').length - 1
    if (count !== PARTITION_ENTITY_COUNT) throw new Error(`a page of ${count} entities`)
  },
}
