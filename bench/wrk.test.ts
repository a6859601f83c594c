import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inComparableOrder, failureOf } from './rounds.ts'
import { ROWS } from './rows.ts'
import { decodeOutcome, encodeRequest, numbered } from './wrk.ts'

test('a request is encoded unchanged, with the length of its numbered body', () => {
  const text = encodeRequest({
    method: 'PUT',
    url: 'http://127.0.0.1:1234/account/container/blob-{n}?sig=a%2Bb',
    headers: { 'x-ms-blob-type': 'BlockBlob' },
    body: '{n} é',
  })
  const expected = [
    'PUT /account/container/blob-{n}?sig=a%2Bb HTTP/1.1',
    'Host: 127.0.0.1:1234',
    'Content-Length: 13',
    'x-ms-blob-type: BlockBlob',
    '',
    '{n} é',
  ]
  assert.equal(text, expected.join('\r\n'))
})

test('numbers have ten digits', () => assert.equal(numbered('b-{n}', 7), 'b-0000000007'))

const OUTCOME = {
  requests: 10,
  durationUs: 1e6,
  bytes: 10 * 5000,
  refused: 0,
  broken: 0,
  p50Us: 1,
  p99Us: 2,
  nextNumber: 11,
}

test('the outcome is the JSON line in the output of wrk', () => {
  const output = `Running 1s test @ http://127.0.0.1\n  1 threads\n\n${JSON.stringify(OUTCOME)}\n`
  assert.deepEqual(decodeOutcome(output), OUTCOME)
  assert.throws(() => decodeOutcome('unable to connect'), /unable to connect/)
})

const FAILURES: readonly [change: Partial<typeof OUTCOME>, failure: string | undefined][] = [
  [{}, undefined],
  [{ refused: 2 }, '2 of 10 responses were errors'],
  [{ broken: 1 }, '1 connections broke'],
  [{ bytes: 10 * 300 }, 'responses of 300 bytes'],
  [{ requests: 0, bytes: 0 }, 'no responses'],
]
for (const [change, failure] of FAILURES)
  test(`Get Blob 4 KiB with ${JSON.stringify(change)}: ${failure ?? 'good'}`, () => {
    const row = ROWS.find((row) => row.name === 'get-4k')
    assert(row)
    assert.equal(failureOf(row, { ...OUTCOME, ...change }), failure)
  })

test('a row is measured directly after the row that it is compared with, and none is lost', () => {
  const names = inComparableOrder(ROWS.map((row) => ({ row }))).map(({ row }) => row.name)
  assert.equal(names[names.indexOf('get-4k') + 1], 'get-file-4k')
  assert.equal(names[names.indexOf('put-4k') + 1], 'put-range-4k')
  assert.deepEqual(names.toSorted(), ROWS.map(({ name }) => name).toSorted())
})
