// CREATE requests for durable and persistent handles, and for reconnecting to them ([MS-SMB2] 2.2.13.2.11, 2.2.13.2.12).
import { createBody } from './raw-client.ts'

const GUID = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
/** SMB2_DHANDLE_FLAG_PERSISTENT */
export const PERSISTENT = 2

/** CREATE of `a` with one context. */
function createWith(tag: string, value: Buffer, oplockLevel = 0): Buffer {
  const body = createBody('a')
  const head = Buffer.alloc(24)
  head.writeUInt16LE(16, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt16LE(24, 10)
  head.writeUInt32LE(value.length, 12)
  head.write(tag, 16, 'latin1')
  const padded = Buffer.concat([body, Buffer.alloc((8 - (body.length % 8)) % 8)])
  padded.writeUInt8(oplockLevel, 3)
  padded.writeUInt32LE(64 + padded.length, 48)
  padded.writeUInt32LE(head.length + value.length, 52)
  return Buffer.concat([padded, head, value])
}

export function durableRequest(flags: number, oplockLevel = 0): Buffer {
  const value = Buffer.alloc(32)
  value.writeUInt32LE(flags, 4)
  GUID.copy(value, 16)
  return createWith('DH2Q', value, oplockLevel)
}

export function reconnectRequest(fileId: Buffer, guid: Buffer = GUID): Buffer {
  const value = Buffer.alloc(36)
  fileId.copy(value, 0)
  guid.copy(value, 16)
  return createWith('DH2C', value)
}
