// Many clients at once: what is read, changed and written with If-Match adds up, and batches that race on
// the same rows happen whole or not at all.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RestError, type TransactionAction } from '@azure/data-tables'
import { ask, entityPath, freshTable, insert, startTableServer } from './table-server.ts'
import { tableClient, type TableServer } from './table-server.ts'

let server: TableServer

before(async () => {
  server = await startTableServer({ onDisk: true })
})
after(() => server.close())

const ATTEMPTS_MAX = 1_000

test('100 clients increment one entity, and the sum is exact', async () => {
  const table = await freshTable(server)
  await insert(server, table, { n: 0 })
  const path = entityPath(table, 'p', 'r')
  const increment = async (): Promise<number> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const got = await ask(server, { method: 'GET', path })
      const { n } = JSON.parse(got.text)
      const headers = { 'If-Match': String(got.headers.etag) }
      const body = JSON.stringify({ n: n + 1 })
      const { status } = await ask(server, { method: 'MERGE', path, headers, body })
      if (status === 204) return attempt
      assert.equal(status, 412)
    }
    throw new Error('never got through')
  }
  const attempts = await Promise.all(Array.from({ length: 100 }, increment))
  const answer = await ask(server, { method: 'GET', path })
  assert.equal(JSON.parse(answer.text).n, 100)
  assert(
    attempts.some((count) => count > 1),
    'they did race',
  )
})

test('of 30 inserts of one key, one wins', async () => {
  const table = await freshTable(server)
  const body = JSON.stringify({ PartitionKey: 'p', RowKey: 'r' })
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => ask(server, { method: 'POST', path: `/${table}`, body })),
  )
  const statuses = answers.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [201, ...Array.from({ length: 29 }, () => 409)])
})

test('batches that race on the same rows are all or nothing, also to who reads meanwhile', async () => {
  const name = await freshTable(server)
  const client = tableClient(server, name)
  const ROWS = ['a', 'b', 'c', 'd', 'e']
  for (const RowKey of ROWS) await insert(server, name, { RowKey, owner: 0 })
  const ending = new AbortController()
  const owners = async () => {
    const { text } = await ask(server, { method: 'GET', path: `/${name}()` })
    const rows: { owner: number }[] = JSON.parse(text).value
    return rows.map(({ owner }) => owner)
  }
  const reader = async (): Promise<number> => {
    let count = 0
    for (; !ending.signal.aborted; count += 1) {
      const seen = await owners()
      assert.deepEqual(
        seen,
        ROWS.map(() => seen[0]),
        'a batch was seen in part',
      )
    }
    return count
  }
  // Half of the batches fail at their last row, when all the others have been written.
  const writer = async (_: unknown, at: number): Promise<number> => {
    const isDoomed = at % 2 === 1
    const actions = ROWS.map((rowKey): TransactionAction => {
      return ['update', { partitionKey: 'p', rowKey, owner: at }]
    })
    if (isDoomed) actions.push(['delete', { partitionKey: 'p', rowKey: 'none' }])
    const outcome = client.submitTransaction(actions)
    if (isDoomed) await assert.rejects(outcome, RestError)
    else await outcome
    return isDoomed ? 0 : 1
  }
  const reading = reader()
  const done = await Promise.all(Array.from({ length: 40 }, writer))
  ending.abort()
  assert((await reading) > 0)
  assert.equal(
    done.reduce((sum, count) => sum + count, 0),
    20,
  )
  assert.equal(((await owners())[0] ?? 1) % 2, 0)
})
