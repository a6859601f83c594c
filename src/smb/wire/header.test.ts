import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from './error.ts'
import { hex } from './example.ts'
import {
  channelSequence,
  decodeHeader,
  encodeHeader,
  joinCompound,
  protocolOf,
  splitCompound,
  type Smb2Header,
} from './header.ts'

const HEADER: Omit<Smb2Header, 'signature'> = {
  creditCharge: 2,
  status: 0xc0000022,
  command: 5,
  credits: 33,
  flags: 0x20000009,
  nextCommand: 0,
  messageId: 0x1122334455667788n,
  treeId: 0x99aabbcc,
  asyncId: undefined,
  sessionId: 0xf1e2d3c4b5a69788n,
}

const SYNC_HEX =
  'fe534d42 4000 0200 220000c0 0500 2100 09000020 00000000 8877665544332211' +
  '00000000 ccbbaa99 8897a6b5c4d3e2f1 00000000000000000000000000000000'

test('the synchronous form encodes and decodes', () => {
  assert.deepEqual(encodeHeader(HEADER), hex(SYNC_HEX))
  assert.deepEqual(decodeHeader(hex(SYNC_HEX)), { ...HEADER, signature: Buffer.alloc(16) })
})

test('the asynchronous form has an AsyncId in place of the TreeId', () => {
  const header = { ...HEADER, asyncId: 0xfffffffffffffff1n, treeId: 0, flags: 0x3 }
  const bytes = encodeHeader(header)
  assert.deepEqual(bytes.subarray(32, 40), hex('f1ffffffffffffff'))
  assert.deepEqual(decodeHeader(bytes), { ...header, signature: Buffer.alloc(16) })
  assert.equal(encodeHeader({ ...header, flags: 1 }).readUInt32LE(16), 3)
  assert.equal(encodeHeader({ ...header, asyncId: undefined }).readUInt32LE(16), 1)
})

test('ChannelSequence is the low half of the status', () => {
  assert.equal(channelSequence(decodeHeader(encodeHeader({ ...HEADER, status: 0x00050003 }))), 3)
})

for (const [start, protocol] of [
  ['fe534d42', 'smb2'],
  ['ff534d42', 'smb1'],
  ['fd534d42', 'transform'],
  ['fc534d42', 'compressed'],
  ['47455420', undefined],
  ['fe53', undefined],
] as const) {
  test(`${start} → ${protocol}`, () => assert.equal(protocolOf(hex(start)), protocol))
}

for (const [what, bytes] of [
  ['63 bytes', hex(SYNC_HEX).subarray(0, 63)],
  ['another protocol', hex(SYNC_HEX.replace('fe534d42', 'ff534d42'))],
  ['a StructureSize of 65', hex(SYNC_HEX.replace('4000', '4100'))],
] as const) {
  test(`a header with ${what} is refused`, () => {
    assert.throws(() => decodeHeader(bytes), WireError)
    assert.throws(() => splitCompound(bytes), WireError)
  })
}

const message = (body: string) => Buffer.concat([encodeHeader(HEADER), hex(body)])

test('a compound is padded to 8 bytes and splits into the same messages with their padding', () => {
  const chain = joinCompound([
    [message('010203'), hex('04')],
    [message('0000000000000000')],
    [message('ff')],
  ])
  const parts = splitCompound(Buffer.concat(chain.flat()))
  assert.deepEqual(
    parts.map((part) => part.subarray(64)),
    [hex('0102030400000000'), hex('0000000000000000'), hex('ff')],
  )
  assert.deepEqual(
    parts.map((part) => decodeHeader(part).nextCommand),
    [72, 72, 0],
  )
})

test('a single message is a compound of one', () => {
  const frame = message('aabb')
  assert.deepEqual(splitCompound(frame), [frame])
  assert.deepEqual(joinCompound([[frame]]), [[frame]])
})

for (const next of [1, 8, 63, 65, 68, 73, 80, 0xfffffff8, 0xffffffff]) {
  test(`NextCommand ${next} in a compound of 136 bytes is refused`, () => {
    const frame = Buffer.concat([message('0000000000000000'), message('')])
    frame.writeUInt32LE(next, 20)
    assert.throws(() => splitCompound(frame), WireError)
  })
}
