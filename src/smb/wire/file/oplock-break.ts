// OPLOCK_BREAK, [MS-SMB2] 2.2.23 to 2.2.25: the server notifies, the client acknowledges, the server responds. Messages
// for oplocks and leases differ in their size.
import { checkBody, checkRoom, HEADER_BYTES } from '../body.ts'
import { decodeFileId, writeFileId, type FileId } from '../file-id.ts'

const LEASE_BREAK_ACK_REQUIRED = 1

/** The MessageId of a notification, which has no request. */
export const UNSOLICITED_MESSAGE_ID = 0xffffffffffffffffn

export type OplockAcknowledgement = {
  readonly kind: 'oplock'
  readonly oplockLevel: number
  readonly fileId: FileId
}

export type LeaseAcknowledgement = {
  readonly kind: 'lease'
  readonly leaseKey: Buffer
  readonly leaseState: number
}

const LEASE_BYTES = 36

export function decodeOplockBreakRequest(
  message: Buffer,
): OplockAcknowledgement | LeaseAcknowledgement {
  checkRoom(message, HEADER_BYTES + 2)
  if (message.readUInt16LE(HEADER_BYTES) === LEASE_BYTES) return decodeLease(message)
  checkBody(message, 24)
  return {
    kind: 'oplock',
    oplockLevel: message.readUInt8(HEADER_BYTES + 2),
    fileId: decodeFileId(message, HEADER_BYTES + 8),
  }
}

function decodeLease(message: Buffer): LeaseAcknowledgement {
  checkBody(message, LEASE_BYTES)
  return {
    kind: 'lease',
    leaseKey: message.subarray(HEADER_BYTES + 8, HEADER_BYTES + 24),
    leaseState: message.readUInt32LE(HEADER_BYTES + 24),
  }
}

/** The notification and the response of an oplock have the same layout. */
export function encodeOplockBreak(oplockLevel: number, fileId: FileId): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(24, 0)
  body.writeUInt8(oplockLevel, 2)
  writeFileId(body, 8, fileId)
  return body
}

export type LeaseBreakNotification = {
  /** Zero for a lease of version 1. */
  readonly newEpoch: number
  readonly ackRequired: boolean
  readonly leaseKey: Buffer
  readonly currentState: number
  readonly newState: number
}

export function encodeLeaseBreakNotification(notification: LeaseBreakNotification): Buffer {
  const body = Buffer.alloc(44)
  body.writeUInt16LE(44, 0)
  body.writeUInt16LE(notification.newEpoch, 2)
  body.writeUInt32LE(notification.ackRequired ? LEASE_BREAK_ACK_REQUIRED : 0, 4)
  notification.leaseKey.copy(body, 8, 0, 16)
  body.writeUInt32LE(notification.currentState, 24)
  body.writeUInt32LE(notification.newState, 28)
  return body
}

export function encodeLeaseBreakResponse(leaseKey: Buffer, leaseState: number): Buffer {
  const body = Buffer.alloc(LEASE_BYTES)
  body.writeUInt16LE(LEASE_BYTES, 0)
  leaseKey.copy(body, 8, 0, 16)
  body.writeUInt32LE(leaseState, 24)
  return body
}
