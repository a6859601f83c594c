// Many clients at once: updates with If-Match lose no increment, and racing batches on the same rows are applied
// completely or not at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RestError, type TransactionAction } from '@azure/data-tables'
import type { RawResponse } from '../harness.ts'
import { send, entityPath, newTable, insert, startTableFixture } from './fixture.ts'
import { tableClient } from './fixture.ts'

const server = await startTableFixture({ onDisk: true })

test('100 clients increment one entity, and the sum is exact', async () => {
  const table = await newTable(server)
  await insert(server, table, { n: 0 })
  const path = entityPath(table, 'p', 'r')
  const read = () => send(server, { method: 'GET', path })
  const increment = async (got: RawResponse): Promise<boolean> => {
    const { n } = JSON.parse(got.text)
    const headers = { 'If-Match': String(got.headers.etag) }
    const body = JSON.stringify({ n: n + 1 })
    const { status } = await send(server, { method: 'MERGE', path, headers, body })
    if (status !== 204) assert.equal(status, 412)
    return status === 204
  }
  // All clients read before the first one writes, so only one succeeds; the others retry.
  const reads = await Promise.all(Array.from({ length: 100 }, read))
  const firsts = await Promise.all(reads.map(increment))
  assert.equal(firsts.filter(Boolean).length, 1)
  const goOn = async (): Promise<void> => {
    while (!(await increment(await read())));
  }
  await Promise.all(Array.from({ length: 99 }, goOn))
  assert.equal(JSON.parse((await read()).text).n, 100)
})

test('only one of 30 inserts of the same key succeeds', async () => {
  const table = await newTable(server)
  const body = JSON.stringify({ PartitionKey: 'p', RowKey: 'r' })
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => send(server, { method: 'POST', path: `/${table}`, body })),
  )
  const statuses = answers.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [201, ...Array.from({ length: 29 }, () => 409)])
})

test('racing batches on the same rows are atomic, also for concurrent readers', async () => {
  const name = await newTable(server)
  const client = tableClient(server, name)
  const ROWS = ['a', 'b', 'c', 'd', 'e']
  for (const RowKey of ROWS) await insert(server, name, { RowKey, owner: 0 })
  const ending = new AbortController()
  const owners = async () => {
    const { text } = await send(server, { method: 'GET', path: `/${name}()` })
    const rows: { owner: number }[] = JSON.parse(text).value
    return rows.map(({ owner }) => owner)
  }
  const seen = new Set<number | undefined>()
  const reader = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const [first, ...rest] = await owners()
      assert.deepEqual(
        rest,
        ROWS.slice(1).map(() => first),
        'a partial batch was visible',
      )
      seen.add(first)
    }
  }
  // Half of the batches fail at their last row, after all others were written.
  const writer = async (_: unknown, at: number): Promise<void> => {
    const isDoomed = at % 2 === 1
    const actions = ROWS.map((rowKey): TransactionAction => {
      return ['update', { partitionKey: 'p', rowKey, owner: at }]
    })
    if (isDoomed) actions.push(['delete', { partitionKey: 'p', rowKey: 'none' }])
    const outcome = client.submitTransaction(actions)
    if (isDoomed) await assert.rejects(outcome, RestError)
    else await outcome
  }
  const reading = reader()
  // Continues until the reader has seen two changes.
  while (seen.size < 3) await Promise.all(Array.from({ length: 40 }, writer))
  ending.abort()
  await reading
  assert([...seen].every((owner) => Number(owner) % 2 === 0))
  assert.equal(((await owners())[0] ?? 1) % 2, 0)
})
