import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { hex, utf16 } from '../example.ts'
import {
  COPY_CHUNK_LIMITS,
  decodeAllocatedRangeQuery,
  decodeCopyChunk,
  decodePipeWait,
  decodeResiliencyTimeoutMs,
  decodeSetZero,
  encodeAllocatedRanges,
  encodeCompressionState,
  encodeCopyChunkResponse,
  encodeNetworkInterfaces,
  encodePipePeek,
  encodeResumeKey,
  encodeSnapshots,
} from './fsctl.ts'

const KEY = Buffer.alloc(24, 0xab)

test('a resume key is 24 bytes and an empty context', () => {
  assert.deepEqual(encodeResumeKey(KEY), Buffer.concat([KEY, Buffer.alloc(8)]))
})

test('COPYCHUNK decodes chunks and encodes its limits', () => {
  const chunk = '0010000000000000 0020000000000000 00010000 00000000'
  const input = Buffer.concat([KEY, hex(`01000000 00000000 ${chunk}`)])
  assert.deepEqual(decodeCopyChunk(input), {
    sourceKey: KEY,
    chunks: [{ sourceOffset: 4096n, targetOffset: 8192n, lengthBytes: 256 }],
  })
  assert.throws(() => decodeCopyChunk(input.subarray(0, 55)), WireError)
  input.writeUInt32LE(0xffffffff, 24)
  assert.throws(() => decodeCopyChunk(input), WireError)
  assert.deepEqual(encodeCopyChunkResponse(COPY_CHUNK_LIMITS), hex('00010000 00001000 00000001'))
})

const LABEL = '@GMT-2024.01.31-23.59.58'

test('a list of snapshots is complete, or only says how many bytes it needs', () => {
  const all = encodeSnapshots([LABEL, LABEL], 1024)
  assert.deepEqual(all, hex(`02000000 02000000 66000000 ${utf16(`${LABEL}\0${LABEL}\0\0`)}`))
  assert.deepEqual(encodeSnapshots([LABEL, LABEL], all.length), all)
  const counted = hex('02000000 00000000 66000000 00000000')
  assert.deepEqual(encodeSnapshots([LABEL, LABEL], all.length - 1), counted)
  assert.deepEqual(encodeSnapshots([LABEL, LABEL], 16), counted)
  assert.deepEqual(encodeSnapshots([], 16), hex('00000000 00000000 02000000 00000000'))
  assert.throws(() => encodeSnapshots([], 15), WireError)
})

test('network interfaces are a chain of 152 bytes each', () => {
  const base = { index: 3, capability: 1, linkSpeedBitsPerSecond: 1_000_000_000n }
  const output = encodeNetworkInterfaces([
    { ...base, address: hex('0a000001') },
    { ...base, address: hex('fe800000000000000000000000000001') },
  ])
  assert.equal(output.length, 304)
  const head = '03000000 01000000 00000000 00ca9a3b00000000'
  assert.deepEqual(output.subarray(0, 32), hex(`98000000 ${head} 0200 0000 0a000001`))
  assert.deepEqual(
    output.subarray(152, 152 + 48),
    hex(`00000000 ${head} 1700 0000 00000000 fe800000000000000000000000000001`),
  )
})

test('allocated ranges must not exceed 2^63, and as many as fit are returned', () => {
  assert.deepEqual(decodeAllocatedRangeQuery(hex('0010000000000000 0020000000000000')), {
    offset: 4096n,
    length: 8192n,
  })
  for (const input of [
    '0010000000000000 00200000000000',
    '0000000000000080 0000000000000000',
    'ffffffffffffff7f 0100000000000000',
  ]) {
    assert.throws(() => decodeAllocatedRangeQuery(hex(input)), WireError)
  }
  const ranges = [
    { offset: 1n, length: 2n },
    { offset: 3n, length: 4n },
  ]
  const bytes = hex('0100000000000000 0200000000000000 0300000000000000 0400000000000000')
  assert.deepEqual(encodeAllocatedRanges(ranges, 32), { status: 'SUCCESS', bytes })
  assert.deepEqual(encodeAllocatedRanges(ranges, 31), {
    status: 'BUFFER_OVERFLOW',
    bytes: bytes.subarray(0, 16),
  })
  assert.equal(encodeAllocatedRanges(ranges, 15).status, 'BUFFER_TOO_SMALL')
  assert.equal(encodeAllocatedRanges([], 0).status, 'SUCCESS')
})

test('SET_ZERO_DATA must not end before it starts', () => {
  assert.deepEqual(decodeSetZero(hex('0100000000000000 0200000000000000')), {
    offset: 1n,
    beyondFinalZero: 2n,
  })
  assert.throws(() => decodeSetZero(hex('0300000000000000 0200000000000000')), WireError)
})

test('resiliency, compression and the FSCTLs of pipes encode and decode', () => {
  assert.equal(decodeResiliencyTimeoutMs(hex('60ea0000 00000000')), 60_000)
  assert.throws(() => decodeResiliencyTimeoutMs(hex('60ea0000')), WireError)
  assert.deepEqual(encodeCompressionState(0), hex('0000'))
  assert.deepEqual(encodePipePeek(2, hex('aabb')), hex('03000000 02000000 00000000 00000000 aabb'))
  const wait = (timed: string) => hex(`0500000000000000 02000000 ${timed} 00 ${utf16('x')}`)
  assert.deepEqual(decodePipeWait(wait('01')), { timeoutTicks: 5n, name: 'x' })
  assert.deepEqual(decodePipeWait(wait('00')), { timeoutTicks: undefined, name: 'x' })
})
