// Query Blob Contents lets its client choose the work. Whatever that is, everybody else is served.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { decodeAvro, replyOf } from '../../src/query/run/example.ts'
import { rawRequest, wireRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'

const LIKES = Array.from({ length: 1_500 }, () => "_1 LIKE '%a%a%a%a%a%a%a%a%b'").join(' OR ')
const bodyOf = (expression: string) =>
  `<?xml version="1.0"?><QueryRequest><QueryType>SQL</QueryType><Expression>${expression}</Expression></QueryRequest>`
const body = bodyOf(`SELECT * FROM BlobStorage WHERE ${LIKES}`)

let server: RunningTestServer

before(async () => {
  server = await runTestServer()
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  const headers = { 'x-ms-blob-type': 'BlockBlob' }
  const rows = `${'a'.repeat(60)}\n`.repeat(60_000)
  await rawRequest(server, { method: 'PUT', path: '/box/rows', headers, body: rows })
  const large = `${'a'.repeat(1_000)}\n`.repeat(32_000)
  await rawRequest(server, { method: 'PUT', path: '/box/large', headers, body: large })
  const long = `${'a'.repeat(2_000_000)}\n`
  await rawRequest(server, { method: 'PUT', path: '/box/long', headers, body: long })
})
after(() => server.close())

/** The answer as soon as it begins. */
async function beginQuery(path: string, query: string): Promise<IncomingMessage> {
  const wire = wireRequest({ method: 'POST', path, body: query })
  const sent = httpRequest({ host: '127.0.0.1', port: server.blobPort, method: 'POST', ...wire })
  sent.end(query)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

async function runningCount(): Promise<number> {
  const { text } = await server.metrics.expose()
  return Number(/^lazuli_queries_running (\d+)$/m.exec(text)?.[1])
}

/** Waits by asking for something else. */
async function noneRuns(): Promise<void> {
  while ((await runningCount()) > 0) {
    await rawRequest(server, { method: 'GET', path: '/box?restype=container&comp=list' })
  }
}

describe('a query that takes minutes', () => {
  test('lets everybody else be answered, and ends when its client leaves', async () => {
    const response = await beginQuery('/box/rows?comp=query', body)
    let isOver = false
    response.on('end', () => {
      isOver = true
    })
    response.on('error', () => undefined)
    // Its frame has come: it runs.
    await once(response, 'data')
    const { text } = await rawRequest(server, { method: 'GET', path: '/box?restype=container&comp=list' }) // prettier-ignore
    assert.match(text, /rows/)
    assert.equal(isOver, false)
    assert.equal(await runningCount(), 1)
    response.destroy()
    await noneRuns()
    assert.equal(isOver, false)
  })

  test('is refused by the record of a fatal error, and the answer has its end', async () => {
    const { body: answer, status } = await rawRequest(server, { method: 'POST', path: '/box/long?comp=query', body }) // prettier-ignore
    const { errors, messages } = replyOf(decodeAvro(answer))
    const seen = errors.map(({ name, fatal }) => [name, fatal])
    assert.deepEqual([status, seen], [200, [['OperationTimedOut', true]]])
    assert.equal(messages.at(-1)?.kind, 'end')
  })
})

test('more queries than the server holds are told to come back', async () => {
  const all = bodyOf('SELECT * FROM BlobStorage')
  const responses: IncomingMessage[] = []
  // Their clients read nothing, and so they wait.
  for (let at = 0; at < 64; at += 1) responses.push(await beginQuery('/box/large?comp=query', all))
  const refused = await beginQuery('/box/large?comp=query', all)
  assert.equal(refused.statusCode, 503)
  assert.equal(refused.headers['x-ms-error-code'], 'ServerBusy')
  for (const response of [...responses, refused]) response.destroy()
  await noneRuns()
})
