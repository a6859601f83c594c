import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { assertBytes } from '../../../test/assert-bytes.ts'
import { copiedRow, COPY_TRAILER } from '../../postgres/copy.ts'
import { patternBytes } from '../harness.ts'
import { copiedBytes, encodeRows, ROW_BYTES_MAX, rowsOf, SpanFill } from './row.ts'

const HEAD_BYTES = 18

/** The messages that COPY … TO would send for these rows. */
function rowsIn(input: Buffer): Buffer[] {
  const rows: Buffer[] = []
  let rest = copiedRow(input)
  while (rest !== undefined && !rest.equals(COPY_TRAILER)) {
    const end = HEAD_BYTES + rest.readInt32BE(HEAD_BYTES - 4)
    rows.push(rest.subarray(0, end))
    rest = rest.subarray(end)
  }
  return rows
}

function encode(at: number, chunks: readonly Uint8Array[]): Buffer {
  const rows = rowsOf(at, chunks)
  const input = Buffer.alloc(copiedBytes([rows]))
  encodeRows([rows], input)
  return input
}

describe('rows', () => {
  test('have the bytes of a body, however it is cut into chunks', () => {
    const places = fc.nat(2 ** 40)
    const lengths = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 6 })
    const property = fc.property(places, lengths, fc.nat(), fc.nat(), (at, chunks, a, b) => {
      const bodies = chunks.map((length, seed) => patternBytes(seed, length))
      const body = Buffer.concat(bodies)
      const rows = rowsIn(encode(at, bodies))
      assert.equal(rows.length, Math.ceil(body.length / ROW_BYTES_MAX))
      const [from, to] = [a % body.length, b % body.length].toSorted((x, y) => x - y)
      const [offset = 0, end = 0] = [from, to]
      const span = { extent: 1, offset: at + offset, lengthBytes: end - offset + 1 }
      const buffer = Buffer.alloc(span.lengthBytes + 5)
      const fill = new SpanFill(span, buffer)
      for (const row of rows) fill.add(row)
      assert.equal(fill.filledBytes, span.lengthBytes)
      assertBytes(buffer.subarray(0, -5), body.subarray(offset, end + 1))
      assertBytes(buffer.subarray(-5), Buffer.alloc(5))
    })
    fc.assert(property, { numRuns: 100 })
  })

  test('fill a span up to the first gap', () => {
    const [first, second, third] = rowsIn(encode(0, [patternBytes(1, 3 * ROW_BYTES_MAX)]))
    assert(first !== undefined && second !== undefined && third !== undefined)
    const span = { extent: 1, offset: 10, lengthBytes: 3 * ROW_BYTES_MAX - 10 }
    for (const [rows, filledBytes] of [
      [[], 0],
      [[second, third], 0],
      [[first, third], ROW_BYTES_MAX - 10],
      [[first, second], 2 * ROW_BYTES_MAX - 10],
    ] as const) {
      const fill = new SpanFill(span, Buffer.alloc(span.lengthBytes))
      for (const row of rows) fill.add(row)
      assert.equal(fill.filledBytes, filledBytes)
    }
  })
})
