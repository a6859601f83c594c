// Encoding of responses: the last part grants the credits, and no frame is too long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAnswers, framesOf, interimAnswer, type Answered, type Part } from './answer.ts'
import { TRANSFER_BYTES_MAX } from '../limits.ts'
import { COMMAND, decodeHeader, encodeHeader, HEADER_FLAG } from '../wire/header.ts'

function partOf(messageId: bigint, credits: number): Part {
  const message = encodeHeader({
    creditCharge: 2,
    status: 0,
    command: COMMAND.ECHO,
    credits,
    flags: HEADER_FLAG.related | HEADER_FLAG.signed,
    nextCommand: 0,
    messageId,
    treeId: 5,
    asyncId: undefined,
    sessionId: 9n,
  })
  return { message, header: decodeHeader(message), credits }
}

function answer(part: Part, bodyBytes = 4, asyncId?: bigint): Answered {
  return { part, outgoing: { status: 'SUCCESS', body: [Buffer.alloc(bodyBytes)] }, asyncId }
}

const headersOf = (answered: readonly Answered[]) =>
  encodeAnswers(answered, undefined).map(([head]) => decodeHeader(head))

test('the header repeats fields of the request', () => {
  const [header] = headersOf([answer(partOf(3n, 1))])
  const { creditCharge, messageId, treeId, sessionId, flags } = header ?? partOf(0n, 0).header
  assert.deepEqual([creditCharge, messageId, treeId, sessionId], [2, 3n, 5, 9n])
  assert.equal(
    flags,
    HEADER_FLAG.serverToRedir | HEADER_FLAG.related,
    'and is not signed by itself',
  )
})

test('the last part grants the credits of all parts', () => {
  const headers = headersOf([answer(partOf(1n, 2)), answer(partOf(2n, 3)), answer(partOf(3n, 4))])
  assert.deepEqual(
    headers.map(({ credits }) => credits),
    [0, 0, 9],
  )
})

test('the interim response grants the credits, and the final response grants none', () => {
  const part = partOf(1n, 7)
  const [interim] = headersOf([interimAnswer(part, 4n)])
  const [final] = headersOf([answer(part, 4, 4n)])
  assert.deepEqual([interim?.credits, final?.credits], [7, 0])
  assert.deepEqual([interim?.asyncId, final?.asyncId], [4n, 4n])
})

const LENGTHS: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[4], [1]],
  [[4, 4, 4], [3]],
  [
    [TRANSFER_BYTES_MAX, TRANSFER_BYTES_MAX, 4, 4],
    [1, 3],
  ],
  [
    [4, TRANSFER_BYTES_MAX, 70_000, 4],
    [2, 2],
  ],
]

for (const [lengths, counts] of LENGTHS) {
  test(`bodies of ${lengths.join(', ')} bytes take ${counts.length} frames`, () => {
    const answered = lengths.map((length, index) => answer(partOf(BigInt(index), 1), length))
    assert.deepEqual(
      framesOf(answered).map((frame) => frame.length),
      counts,
    )
  })
}
