// The budget ends queries that are too much work.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Budget, QUERY_LIMITS } from './budget.ts'
import {
  ask,
  CSV,
  JSON_LINES,
  QUERY_NOW_MS,
  SYNC_MARKER,
  blobChunks,
  type Formats,
} from './example.ts'
import { QueryError } from '../query-error.ts'
import { prepareQuery } from './query.ts'

const TIMED_OUT = {
  fatal: true,
  name: 'OperationTimedOut',
  description: 'Operation could not be completed within the permitted time.',
}

const orOf = (count: number, condition: string) =>
  `SELECT 1 FROM BlobStorage WHERE ${Array.from({ length: count }, () => condition).join(' OR ')}`

const LONG = `${'a'.repeat(2_000_000)}\n`
const FIELDS = `{${Array.from({ length: 60_000 }, (_, at) => `"f${at}":1`).join(',')}}\n`
const FROM_JSON: Formats = { input: JSON_LINES }

// prettier-ignore
const EXPENSIVE: readonly (readonly [string, query: string, blob: string, formats: Formats])[] = [
  ['many LIKEs', orOf(1_500, "_1 LIKE '%a%a%a%a%a%a%a%a%b'"), LONG, {}],
  ['many LIKEs with ESCAPE', orOf(1_500, "_1 LIKE '%!a%!ab' ESCAPE '!'"), LONG, {}],
  ['one LIKE that backtracks at every position', `SELECT 1 FROM BlobStorage WHERE _1 LIKE '%${'a'.repeat(7_000)}b'`, LONG, {}],
  ['many functions of a long string', orOf(1_000, "UPPER(_1) = 'b'"), LONG, {}],
  ['many conversions of a long string', orOf(5_000, "CAST(_1 AS STRING) = 'b'"), LONG, {}],
  ['many lookups among many fields', orOf(5_000, 'nowhere = 1'), FIELDS, FROM_JSON],
]

describe('a row that costs too much ends the query', () => {
  for (const [what, query, blob, formats] of EXPENSIVE) {
    test(what, async () => {
      const reply = await ask(query, blob, formats)
      assert.deepEqual(reply.errors, [{ ...TIMED_OUT, position: 0 }])
      assert.equal(reply.messages.at(-1)?.kind, 'end')
    })
  }
})

test('the budget for all rows grows with the bytes read, and ends a query that exceeds it', async () => {
  const row = `${'a'.repeat(99)}\n`
  const limits = { ...QUERY_LIMITS, baseUnits: 1_000_000, unitsPerByte: 50 }
  const cheap = await ask(orOf(10, "_1 LIKE '%b'"), row.repeat(20_000), {}, undefined, limits)
  assert.deepEqual(cheap.errors, [])
  const costly = await ask(orOf(200, "_1 LIKE '%b'"), row.repeat(20_000), {}, undefined, limits)
  assert.deepEqual(costly.errors.map(({ name }) => name), ['OperationTimedOut']) // prettier-ignore
})

test('a query that keeps its client waiting too long ends; time spent by the client does not count', () => {
  let nowMs = 0
  const budget = new Budget({ ...QUERY_LIMITS, baseMs: 30_000, msPerMib: 120_000 }, () => nowMs)
  budget.resume()
  nowMs += 29_000
  budget.spend(100_000)
  budget.pause()
  // Time that the client takes to read does not count.
  nowMs += 3_600_000
  budget.resume()
  nowMs += 2_000
  assert.throws(() => budget.spend(100_000), new QueryError('OperationTimedOut'))
  budget.scanned(1_048_576)
  budget.spend(100_000)
  nowMs += 90_000
  assert.throws(() => budget.spend(100_000), new QueryError('OperationTimedOut'))
})

test('a long query yields repeatedly, and ends if that fails', async () => {
  const blob = Buffer.from(`${'a'.repeat(60)}\n`.repeat(2_000))
  const expression = orOf(500, "_1 LIKE '%a%a%a%b'")
  const budget = new Budget(QUERY_LIMITS, () => 0)
  let turns = 0
  const run = prepareQuery({ expression, input: CSV, output: CSV }, QUERY_NOW_MS, budget).run({
    chunks: blobChunks(blob),
    totalBytes: blob.length,
    syncMarker: SYNC_MARKER,
    giveWay: async () => {
      turns += 1
      if (turns === 5) throw new Error('client disconnected')
    },
  })
  await assert.rejects(async () => {
    for await (const _ of run);
  }, /client disconnected/)
  assert.equal(turns, 5)
})

test('a query without output sends progress after a while, to detect a disconnected client', async () => {
  const blob = `${'a'.repeat(60)}\n`.repeat(2_000)
  const { messages } = await ask(orOf(1_000, "_1 LIKE '%a%a%a%b'"), blob)
  assert(messages.filter(({ kind }) => kind === 'progress').length > 1)
  assert.equal(messages.at(-1)?.kind, 'end')
})
