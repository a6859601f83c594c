// Packets of a client, for the tests: written by hand from C706 and [MS-SRVS], not with the code under test.
import assert from 'node:assert/strict'
import { openPipe } from './pipe.ts'
import type { Pipe } from './pipe.ts'
import type { RpcWorld } from './interface.ts'

export const RPC_WORLD: RpcWorld = {
  serverName: 'LAZULI',
  shares: () => [
    { name: 'data', comment: '', type: 0 },
    { name: 'Bücher', comment: 'All the books', type: 0 },
  ],
  nowMs: () => Date.UTC(2026, 0, 15, 12, 34, 56, 780),
  lsa: () => ({
    domain: { name: 'account1', sid: 'S-1-5-21-1-2-3' },
    users: [
      { name: 'Ada', sid: 'S-1-5-21-1-2-3-1001' },
      { name: 'Zoë', sid: 'S-1-5-21-1-2-3-1002' },
    ],
  }),
}

export function u32(...values: readonly number[]): Buffer {
  return Buffer.concat(
    values.map((value) => Buffer.from([value, value >>> 8, value >>> 16, value >>> 24])),
  )
}

const u16 = (...values: readonly number[]) =>
  Buffer.concat(values.map((value) => Buffer.from([value, value >>> 8])))

/** A conformant and varying string, padded to 4 bytes. */
export function string(text: string): Buffer {
  const chars = Buffer.from(`${text}\0`, 'utf16le')
  const count = text.length + 1
  return Buffer.concat([u32(count, 0, count), chars, Buffer.alloc(chars.length % 4)])
}

export const SERVER = Buffer.concat([u32(0x20000), string('\\\\127.0.0.1')])

export function pdu(type: number, flags: number, body: Uint8Array, callId = 1): Buffer {
  const lengthBytes = 16 + body.length
  const head = Buffer.concat([Buffer.from([5, 0, type, flags, 0x10, 0, 0, 0]), u16(lengthBytes, 0)])
  return Buffer.concat([head, u32(callId), body])
}

export const SRVSVC_V3 = 'c84f324b7016d30112785a47bf6ee18803000000'
export const WKSSVC_V1 = '98d0ff6b12a11036983346c3f87e345a01000000'
export const LSARPC_V0 = '785734123412cdabef000123456789ab00000000'
export const NDR = '045d888aeb1cc9119fe808002b10486002000000'
export const NDR64 = '33057171babe37498319b5dbef9ccc3601000000'
export const FEATURES = '2c1cb76c12984045030000000000000001000000'

export type Offer = readonly [abstract: string, ...transfers: readonly string[]]

export function bind(offers: readonly Offer[], { type = 11, receiveBytes = 4280 } = {}): Buffer {
  const contexts = offers.map(([abstract, ...transfers], id) =>
    Buffer.concat([
      u16(id),
      Buffer.from([transfers.length, 0]),
      Buffer.from([abstract, ...transfers].join(''), 'hex'),
    ]),
  )
  const head = Buffer.concat([
    u16(4280, receiveBytes),
    u32(0),
    Buffer.from([offers.length, 0, 0, 0]),
  ])
  return pdu(type, 3, Buffer.concat([head, ...contexts]))
}

export function request(
  operation: number,
  stub: Uint8Array,
  { flags = 3, context = 0 } = {},
): Buffer {
  return pdu(0, flags, Buffer.concat([u32(stub.length), u16(context, operation), stub]))
}

/** A bound pipe, whose bind_ack has been read. */
export function boundPipe(
  name: string,
  syntax: string,
  world = RPC_WORLD,
  receiveBytes = 4280,
): Pipe {
  const pipe = openPipe(name, world)
  assert(pipe !== undefined)
  const ack = pipe.transceive(bind([[syntax, NDR]], { receiveBytes }), 4280)
  assert.equal(ack.bytes[2], 12)
  return pipe
}

/** The stub of an answer in any number of fragments, or the status of a fault. */
export function answerOf(pipe: Pipe, packet: Uint8Array): Buffer | number {
  pipe.write(packet)
  const parts: Buffer[] = []
  for (;;) {
    const bytes = Buffer.from(pipe.read(0xffff).bytes)
    if (bytes[2] === 3) return bytes.readUInt32LE(24)
    assert.equal(bytes[2], 2)
    parts.push(bytes.subarray(24))
    if (((bytes[3] ?? 0) & 2) !== 0) return Buffer.concat(parts)
  }
}
