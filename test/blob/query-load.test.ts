// With Query Blob Contents clients choose the amount of work. Whatever it is, other clients are still served.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { decodeAvro, replyOf } from '../../src/query/run/example.ts'
import { wireRequest } from '../harness.ts'
import { runTestServer } from '../running-server.ts'
import { blobFixtureOn } from './fixture.ts'

const LIKES = Array.from({ length: 1_500 }, () => "_1 LIKE '%a%a%a%a%a%a%a%a%b'").join(' OR ')
const bodyOf = (expression: string) =>
  `<?xml version="1.0"?><QueryRequest><QueryType>SQL</QueryType><Expression>${expression}</Expression></QueryRequest>`
const body = bodyOf(`SELECT * FROM BlobStorage WHERE ${LIKES}`)

const { server, put, send } = await blobFixtureOn(await runTestServer())

await put('rows', `${'a'.repeat(60)}\n`.repeat(60_000))
await put('large', `${'a'.repeat(1_000)}\n`.repeat(32_000))
await put('long', `${'a'.repeat(2_000_000)}\n`)

/** The response as soon as it begins. */
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

/** Sends other requests until no query runs. */
async function noneRuns(): Promise<void> {
  while ((await runningCount()) > 0) {
    await send('GET', '/box?restype=container&comp=list')
  }
}

describe('a query that takes minutes', () => {
  test('does not block other clients, and ends when its client disconnects', async () => {
    const response = await beginQuery('/box/rows?comp=query', body)
    let isOver = false
    response.on('end', () => {
      isOver = true
    })
    response.on('error', () => undefined)
    // The response has begun, so the query runs.
    await once(response, 'data')
    const { text } = await send('GET', '/box?restype=container&comp=list') // prettier-ignore
    assert.match(text, /rows/)
    assert.equal(isOver, false)
    assert.equal(await runningCount(), 1)
    response.destroy()
    await noneRuns()
    assert.equal(isOver, false)
  })

  test('ends with the record of a fatal error and a complete response', async () => {
    const { body: answer, status } = await send('POST', '/box/long?comp=query', {}, body) // prettier-ignore
    const { errors, messages } = replyOf(decodeAvro(answer))
    const seen = errors.map(({ name, fatal }) => [name, fatal])
    assert.deepEqual([status, seen], [200, [['OperationTimedOut', true]]])
    assert.equal(messages.at(-1)?.kind, 'end')
  })
})

test('queries beyond the limit are answered with 503', async () => {
  const all = bodyOf('SELECT * FROM BlobStorage')
  const responses: IncomingMessage[] = []
  // Their clients do not read, so these queries wait.
  for (let at = 0; at < 64; at += 1) responses.push(await beginQuery('/box/large?comp=query', all))
  const refused = await beginQuery('/box/large?comp=query', all)
  assert.equal(refused.statusCode, 503)
  assert.equal(refused.headers['x-ms-error-code'], 'ServerBusy')
  for (const response of [...responses, refused]) response.destroy()
  await noneRuns()
})
