// NEGOTIATE, [MS-SMB2] 2.2.3 and 2.2.4; the one SMB1 message that a server still has to decode, in which a client
// requests SMB2; and VALIDATE_NEGOTIATE_INFO, 2.2.31.4, which repeats the negotiation under a signature.
import { DIALECT } from '../../session/dialect.ts'
import { checkBody, checkRoom, decodeU16List, HEADER_BYTES, paddingTo } from '../body.ts'
import { WireError } from '../error.ts'
import { PROTOCOL_ID } from '../header.ts'
import {
  decodeNegotiateContexts,
  encodeNegotiateContexts,
  type NegotiateContext,
  type NegotiateContexts,
} from './negotiate-context.ts'

export type NegotiateRequest = {
  readonly securityMode: number
  readonly capabilities: number
  readonly clientGuid: Buffer
  readonly dialects: readonly number[]
  /** Present if 3.1.1 is among the dialects. Before 3.1.1 the same bytes were ClientStartTime. */
  readonly contexts: NegotiateContexts | undefined
}

export function decodeNegotiateRequest(message: Buffer): NegotiateRequest {
  checkBody(message, 36)
  const dialectCount = message.readUInt16LE(HEADER_BYTES + 2)
  if (dialectCount === 0) throw new WireError('INVALID_PARAMETER')
  const dialects = decodeU16List(message, HEADER_BYTES + 36, dialectCount)
  return {
    securityMode: message.readUInt16LE(HEADER_BYTES + 4),
    capabilities: message.readUInt32LE(HEADER_BYTES + 8),
    clientGuid: message.subarray(HEADER_BYTES + 12, HEADER_BYTES + 28),
    dialects,
    contexts: dialects.includes(DIALECT.smb311) ? decodeContexts(message, dialectCount) : undefined,
  }
}

function decodeContexts(message: Buffer, dialectCount: number): NegotiateContexts {
  const offset = message.readUInt32LE(HEADER_BYTES + 28)
  const offsetMin = HEADER_BYTES + 36 + 2 * dialectCount
  if (offset < offsetMin || offset > message.length) throw new WireError('INVALID_PARAMETER')
  return decodeNegotiateContexts(message.subarray(offset), message.readUInt16LE(HEADER_BYTES + 32))
}

export type NegotiateResponse = {
  readonly securityMode: number
  readonly dialect: number
  readonly serverGuid: Buffer
  readonly capabilities: number
  readonly transactMaxBytes: number
  readonly readMaxBytes: number
  readonly writeMaxBytes: number
  /** FILETIME. */
  readonly systemTime: bigint
  readonly securityBuffer: Buffer
  /** Empty before 3.1.1. */
  readonly contexts: readonly NegotiateContext[]
}

export function encodeNegotiateResponse(response: NegotiateResponse): Buffer {
  const fixed = Buffer.alloc(64)
  const { securityBuffer, contexts } = response
  fixed.writeUInt16LE(65, 0)
  fixed.writeUInt16LE(response.securityMode, 2)
  fixed.writeUInt16LE(response.dialect, 4)
  fixed.writeUInt16LE(contexts.length, 6)
  response.serverGuid.copy(fixed, 8, 0, 16)
  fixed.writeUInt32LE(response.capabilities, 24)
  fixed.writeUInt32LE(response.transactMaxBytes, 28)
  fixed.writeUInt32LE(response.readMaxBytes, 32)
  fixed.writeUInt32LE(response.writeMaxBytes, 36)
  fixed.writeBigUInt64LE(response.systemTime, 40)
  fixed.writeUInt16LE(HEADER_BYTES + fixed.length, 56)
  fixed.writeUInt16LE(securityBuffer.length, 58)
  if (contexts.length === 0) return Buffer.concat([fixed, securityBuffer])
  const padding = paddingTo(securityBuffer.length, 8)
  fixed.writeUInt32LE(HEADER_BYTES + fixed.length + securityBuffer.length + padding.length, 60)
  return Buffer.concat([fixed, securityBuffer, padding, encodeNegotiateContexts(contexts)])
}

const SMB1_NEGOTIATE = 0x72
const SMB1_BYTES_AT = 35

/** The dialect names of an SMB1 NEGOTIATE, [MS-CIFS] 2.2.4.52.1; any other SMB1 message is refused. */
export function decodeSmb1Negotiate(message: Buffer): readonly string[] {
  checkRoom(message, SMB1_BYTES_AT)
  const isNegotiate =
    message.readUInt32LE(0) === PROTOCOL_ID.smb1 && message.readUInt8(4) === SMB1_NEGOTIATE
  if (!isNegotiate || message.readUInt8(32) !== 0) throw new WireError('INVALID_PARAMETER')
  const end = SMB1_BYTES_AT + message.readUInt16LE(33)
  checkRoom(message, end)
  return message
    .subarray(SMB1_BYTES_AT, end)
    .toString('latin1')
    .split('\0')
    .filter((name) => name.startsWith('\u0002'))
    .map((name) => name.slice(1))
}

export type ValidateNegotiateRequest = {
  readonly capabilities: number
  readonly clientGuid: Buffer
  readonly securityMode: number
  readonly dialects: readonly number[]
}

export function decodeValidateNegotiate(input: Buffer): ValidateNegotiateRequest {
  checkRoom(input, 24)
  return {
    capabilities: input.readUInt32LE(0),
    clientGuid: input.subarray(4, 20),
    securityMode: input.readUInt16LE(20),
    dialects: decodeU16List(input, 24, input.readUInt16LE(22)),
  }
}

export type ValidateNegotiateResponse = Pick<
  NegotiateResponse,
  'capabilities' | 'serverGuid' | 'securityMode' | 'dialect'
>

export function encodeValidateNegotiate(response: ValidateNegotiateResponse): Buffer {
  const output = Buffer.alloc(24)
  output.writeUInt32LE(response.capabilities, 0)
  response.serverGuid.copy(output, 4, 0, 16)
  output.writeUInt16LE(response.securityMode, 20)
  output.writeUInt16LE(response.dialect, 22)
  return output
}
