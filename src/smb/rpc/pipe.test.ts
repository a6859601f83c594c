// The pipe itself: binds, fragments of requests and answers, partial reads, and random bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { answerOf, bind, boundPipe, FEATURES, NDR, NDR64, pdu, request } from './example.ts'
import { SERVER, SRVSVC_V3, string, u32, WKSSVC_V1, RPC_WORLD } from './example.ts'
import type { Offer } from './example.ts'
import { openPipe } from './pipe.ts'
import type { Pipe } from './pipe.ts'

const open = (name = 'srvsvc'): Pipe => {
  const pipe = openPipe(name, RPC_WORLD)
  assert(pipe !== undefined)
  return pipe
}

const NAMES: readonly (readonly [name: string, exists: boolean])[] = [
  ['srvsvc', true],
  ['\\srvsvc', true],
  ['\\PIPE\\SrvSvc', true],
  ['pipe\\wkssvc', true],
  ['lsarpc', true],
  ['samr', false],
  ['', false],
  ['constructor', false],
]

for (const [name, exists] of NAMES) {
  test(`'${name}' is ${exists ? 'a' : 'not a'} pipe`, () => {
    assert.equal(openPipe(name, RPC_WORLD) !== undefined, exists)
  })
}

test('bind_ack names the pipe, our sizes and the result', () => {
  const { bytes, more } = open().transceive(bind([[SRVSVC_V3, NDR]]), 4280)
  const address = Buffer.from('\\PIPE\\srvsvc\0')
  const expected = Buffer.concat([
    Buffer.from('05000c03100000004400000001000000', 'hex'),
    Buffer.from('b810b8104c5a0000', 'hex'),
    Buffer.from([address.length, 0]),
    address,
    Buffer.alloc(1),
    u32(1, 0),
    Buffer.from(NDR, 'hex'),
  ])
  assert.deepEqual(Buffer.from(bytes), expected)
  assert.equal(more, false)
})

const ACCEPTED = [0, 0]
const NO_INTERFACE = [2, 1]
const NO_TRANSFER = [2, 2]
const NO_FEATURES = [3, 0]

const offers: readonly (readonly [what: string, offers: readonly Offer[], results: number[][]])[] =
  [
    ['NDR', [[SRVSVC_V3, NDR]], [ACCEPTED]],
    ['NDR64 alone', [[SRVSVC_V3, NDR64]], [NO_TRANSFER]],
    ['NDR64 or NDR', [[SRVSVC_V3, NDR64, NDR]], [ACCEPTED]],
    ['no transfer syntax', [[SRVSVC_V3]], [NO_TRANSFER]],
    ['another interface', [[WKSSVC_V1, NDR]], [NO_INTERFACE]],
    ['another version', [[SRVSVC_V3.replace(/03000000$/, '04000000'), NDR]], [NO_INTERFACE]],
    ['a later minor version', [[SRVSVC_V3.replace(/03000000$/, '03000100'), NDR]], [NO_INTERFACE]],
    // NDR, NDR64 and the requested features, as Windows sends them.
    [
      "Windows' three",
      [
        [SRVSVC_V3, NDR],
        [SRVSVC_V3, NDR64],
        [SRVSVC_V3, FEATURES],
      ],
      [ACCEPTED, NO_TRANSFER, NO_FEATURES],
    ],
  ]

/** Result and reason of each context. */
function resultsOf(ack: Uint8Array): number[][] {
  const bytes = Buffer.from(ack)
  const start = (26 + bytes.readUInt16LE(24) + 3) & ~3
  return Array.from({ length: bytes.readUInt8(start) }, (_, i) => [
    bytes.readUInt16LE(start + 4 + 24 * i),
    bytes.readUInt16LE(start + 6 + 24 * i),
  ])
}

for (const [what, list, results] of offers) {
  test(`a bind that offers ${what} gets ${JSON.stringify(results)}`, () => {
    assert.deepEqual(resultsOf(open().transceive(bind(list), 4280).bytes), results)
  })
}

test('alter_context adds contexts up to a limit', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  const list: Offer[] = Array.from({ length: 20 }, () => [SRVSVC_V3, NDR])
  const { bytes } = pipe.transceive(bind(list, { type: 14 }), 4280)
  assert.equal(bytes[2], 15)
  const results = resultsOf(bytes)
  assert.deepEqual(
    results.slice(0, 16),
    Array.from({ length: 16 }, () => ACCEPTED),
  )
  assert.deepEqual(
    results.slice(16),
    Array.from({ length: 4 }, () => [2, 3]),
  )
})

test('wkssvc returns the name of the machine', () => {
  const pipe = boundPipe('wkssvc', WKSSVC_V1)
  const P = 0x20000
  const levels: readonly (readonly [number, readonly number[], readonly string[]])[] = [
    [100, [500, P, P, 10, 0], ['LAZULI', 'WORKGROUP']],
    [101, [500, P, P, 10, 0, P], ['LAZULI', 'WORKGROUP', '']],
    [102, [500, P, P, 10, 0, P, 0], ['LAZULI', 'WORKGROUP', '']],
  ]
  for (const [level, fixed, strings] of levels) {
    const expected = Buffer.concat([u32(level, P, ...fixed), ...strings.map(string), u32(0)])
    assert.deepEqual(answerOf(pipe, request(0, Buffer.concat([SERVER, u32(level)]))), expected)
  }
  assert.equal(answerOf(pipe, request(0, Buffer.concat([SERVER, u32(7)]))), 0x1c000006)
})

test('a request without a bind, or for another context, is nca_unk_if', () => {
  assert.equal(answerOf(open(), request(28, SERVER)), 0x1c010003)
  assert.equal(
    answerOf(boundPipe('srvsvc', SRVSVC_V3), request(28, SERVER, { context: 1 })),
    0x1c010003,
  )
})

test('a fault for an unknown operation says that it did not execute', () => {
  const { bytes } = boundPipe('srvsvc', SRVSVC_V3).transceive(request(99, SERVER), 4280)
  const expected = '0500032310000000200000000100000020000000000000000200011c00000000'
  assert.equal(Buffer.from(bytes).toString('hex'), expected)
})

const manyShares = {
  ...RPC_WORLD,
  shares: () =>
    Array.from({ length: 500 }, (_, i) => ({ name: `share${i}`, comment: '', type: 0 })),
}
const SHARE_ENUM = request(15, Buffer.concat([SERVER, u32(1, 1, 0x20000, 0, 0, 0xffffffff, 0)]))

for (const [receiveBytes, fragmentBytes] of [
  [4280, 4280],
  [65535, 4280],
  [2048, 2048],
  [0, 1432],
] as const) {
  test(`a client that receives ${receiveBytes} bytes gets fragments of ${fragmentBytes}`, () => {
    const pipe = boundPipe('srvsvc', SRVSVC_V3, manyShares, receiveBytes)
    pipe.write(SHARE_ENUM)
    const packets: Buffer[] = []
    for (let read = pipe.read(65535); read.bytes.length > 0; read = pipe.read(65535)) {
      packets.push(Buffer.from(read.bytes))
    }
    assert(packets.length > 4)
    const flags = packets.map((packet) => packet[3])
    assert.deepEqual(flags, [1, ...Array.from({ length: packets.length - 2 }, () => 0), 2])
    for (const packet of packets.slice(0, -1)) {
      assert.equal(packet.length, 24 + ((fragmentBytes - 24) & ~7))
    }
    for (const packet of packets) assert.equal(packet.readUInt16LE(8), packet.length)
  })
}

test('a packet that does not fit into a read continues in the next', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  const whole = Buffer.from(pipe.transceive(request(28, SERVER), 4280).bytes)
  const first = pipe.transceive(request(28, SERVER), 10)
  assert.deepEqual([first.bytes.length, first.more], [10, true])
  const [second, none] = [pipe.read(4280), pipe.read(4280)]
  assert.deepEqual(Buffer.concat([first.bytes, second.bytes]), whole)
  assert.deepEqual([second.more, none.bytes.length, none.more], [false, 0, false])
})

test('a packet may arrive byte by byte, and two packets at once', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  const whole = answerOf(pipe, request(28, SERVER))
  for (const byte of request(28, SERVER)) pipe.write(Buffer.from([byte]))
  assert.deepEqual(Buffer.from(pipe.read(4280).bytes).subarray(24), whole)
  pipe.write(Buffer.concat([request(28, SERVER), request(99, SERVER)]))
  assert.equal(pipe.read(4280).bytes[2], 2)
  assert.equal(pipe.read(4280).bytes[2], 3)
})

test('a request may arrive in fragments', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  const whole = answerOf(pipe, request(28, SERVER))
  pipe.write(request(28, SERVER.subarray(0, 8), { flags: 1 }))
  pipe.write(request(28, SERVER.subarray(8, 16), { flags: 0 }))
  assert.equal(pipe.read(4280).bytes.length, 0)
  assert.deepEqual(answerOf(pipe, request(28, SERVER.subarray(16), { flags: 2 })), whole)
})

test('authentication inside RPC is refused with bind_nak', () => {
  const packet = bind([[SRVSVC_V3, NDR]])
  packet.writeUInt16LE(8, 10)
  const { bytes } = open().transceive(packet, 4280)
  const expected = '05000d031000000018000000010000000800010500000000'
  assert.equal(Buffer.from(bytes).toString('hex'), expected)
})

const BROKEN: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['version 4', Buffer.from(`04${request(28, SERVER).toString('hex').slice(2)}`, 'hex')],
  ['a length of 0', Buffer.alloc(16)],
  ['a length above the limit', Buffer.from('05000003100000001117000001000000', 'hex')],
  ['a response', pdu(2, 3, Buffer.alloc(8))],
  ['a request without its header', pdu(0, 3, Buffer.alloc(4))],
  ['a bind without its header', pdu(11, 3, Buffer.alloc(4))],
  ['a bind with more contexts than it has', pdu(11, 3, Buffer.alloc(12, 9))],
  ['a middle fragment first', request(28, SERVER, { flags: 0 })],
  [
    'a first fragment twice',
    Buffer.concat([request(28, SERVER, { flags: 1 }), request(28, SERVER)]),
  ],
]

for (const [what, bytes] of BROKEN) {
  test(`${what} is nca_proto_error and disconnects the pipe`, () => {
    const pipe = boundPipe('srvsvc', SRVSVC_V3)
    assert.equal(answerOf(pipe, bytes), 0x1c01000b)
    assert(pipe.isDisconnected())
    assert.equal(pipe.transceive(request(28, SERVER), 4280).bytes.length, 0)
  })
}

test('cancel, orphaned and auth3 are ignored', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  for (const type of [16, 18, 19])
    assert.equal(pipe.transceive(pdu(type, 3, Buffer.alloc(4)), 9).bytes.length, 0)
  assert(!pipe.isDisconnected())
})

test('a request that never ends disconnects the pipe', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3)
  const part = (flags: number) => request(28, Buffer.alloc(4096), { flags })
  pipe.write(part(1))
  for (let i = 1; i < 16; i += 1) pipe.write(part(0))
  assert.equal(pipe.read(4280).bytes.length, 0)
  assert.equal(answerOf(pipe, part(0)), 0x1c00001b)
  assert(pipe.isDisconnected())
})

test('a client that never reads is disconnected', () => {
  const pipe = boundPipe('srvsvc', SRVSVC_V3, manyShares)
  let unreadBytes = 0
  for (let i = 0; i < 200; i += 1) pipe.write(SHARE_ENUM)
  for (let read = pipe.read(65535); read.bytes.length > 0; read = pipe.read(65535)) {
    unreadBytes += read.bytes.length
  }
  assert(unreadBytes < 5 * 1024 * 1024)
  assert(pipe.isDisconnected())
})

test('no bytes make the pipe throw or return more than requested', () => {
  const seeds = [
    bind([
      [SRVSVC_V3, NDR],
      [SRVSVC_V3, FEATURES],
    ]),
    SHARE_ENUM,
    request(16, Buffer.concat([SERVER, string('data'), u32(502)])),
    request(12, Buffer.concat([SERVER, u32(0, 0, 10, 10, 0, 1, 0)])),
  ]
  const changes = fc.array(fc.tuple(fc.nat(150), fc.nat(255)), { maxLength: 4 })
  const packet = fc.tuple(fc.constantFrom(...seeds), changes).map(([seed, list]) => {
    const bytes = Buffer.from(seed)
    for (const [offset, value] of list) if (offset < bytes.length) bytes[offset] = value
    return bytes
  })
  const write = fc.oneof({ arbitrary: packet, weight: 5 }, fc.uint8Array({ maxLength: 64 }))
  const check = (isBound: boolean, writes: readonly Uint8Array[], roomBytes: number) => {
    const pipe = isBound ? boundPipe('srvsvc', SRVSVC_V3) : open()
    for (const bytes of writes) assert(pipe.transceive(bytes, roomBytes).bytes.length <= roomBytes)
  }
  const property = fc.property(fc.boolean(), fc.array(write), fc.nat(5000), check)
  fc.assert(property, { numRuns: 3000 })
})
