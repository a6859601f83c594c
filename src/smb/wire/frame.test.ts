import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../../test/random.ts'
import { WireError } from './error.ts'
import { hex } from './example.ts'
import { encodeFramePrefix, frameReader } from './frame.ts'

const MAX_BYTES = 8 * 1024 * 1024 + 64 * 1024

const frameOf = (message: Buffer) => Buffer.concat([encodeFramePrefix(message.length), message])

test('the prefix is a zero byte and a 24-bit big-endian length', () => {
  assert.deepEqual(encodeFramePrefix(0x012345), hex('00012345'))
  assert.throws(() => encodeFramePrefix(0x1000000), RangeError)
})

test('messages are complete, however the stream is split', () => {
  const random = randomFrom(1)
  const sent = Array.from({ length: 200 }, () =>
    Buffer.alloc(4 + random.below(500), random.below(256)),
  )
  const stream = Buffer.concat(sent.map(frameOf))
  for (const chunkMax of [1, 3, 7, 64, 1000, stream.length]) {
    const reader = frameReader(() => MAX_BYTES)
    const received: Buffer[] = []
    for (let at = 0; at < stream.length;) {
      const end = at + 1 + random.below(chunkMax)
      received.push(...reader.push(stream.subarray(at, end)))
      at = end
    }
    assert.deepEqual(received, sent, `chunks up to ${chunkMax}`)
  }
})

test('a message inside one chunk is not copied', () => {
  const chunk = frameOf(hex('fe534d42 0102'))
  const [message] = frameReader(() => MAX_BYTES).push(chunk)
  assert.equal(message?.buffer, chunk.buffer)
})

test('an 8 MiB message in small chunks arrives as one message', () => {
  const message = Buffer.alloc(8 * 1024 * 1024, 'lazuli')
  const stream = frameOf(message)
  const reader = frameReader(() => MAX_BYTES)
  const received: Buffer[] = []
  for (let at = 0; at < stream.length; at += 1460)
    received.push(...reader.push(stream.subarray(at, at + 1460)))
  assert.equal(received.length, 1)
  assert(received[0]?.equals(message))
})

test('an empty chunk completes no message', () => {
  assert.deepEqual(frameReader(() => MAX_BYTES).push(Buffer.alloc(0)), [])
})

for (const [what, start] of [
  ['a NetBIOS keep-alive', '85000000'],
  ['a NetBIOS session request', '81000044'],
  ['a message longer than allowed', '00810001'],
  ['an empty message', '00000000'],
  ['a message too short for a protocol id', '00000003'],
] as const) {
  test(`${what} is refused`, () => {
    assert.throws(() => frameReader(() => MAX_BYTES).push(hex(start)), WireError)
    const reader = frameReader(() => MAX_BYTES)
    assert.throws(() => [...hex(start)].map((byte) => reader.push(Buffer.from([byte]))), WireError)
  })
}
