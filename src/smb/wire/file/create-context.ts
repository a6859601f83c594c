// CREATE contexts, [MS-SMB2] 2.2.13.2 and 2.2.14.2: a chain of tagged blobs. Unknown tags are ignored, as in Windows for
// any tag of four bytes or more. A known tag with a wrong length is INVALID_PARAMETER.
import { boundedPart, checkRoom, paddingTo } from '../body.ts'
import { WireError } from '../error.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export const APP_INSTANCE_ID_TAG = Buffer.from('45bca66aefa7f74a9008fa462e144d74', 'hex').toString(
  'latin1',
)

export const DURABLE_FLAG_PERSISTENT = 2
export const LEASE_FLAG = { breakInProgress: 2, parentLeaseKeySet: 4 } as const

export type LeaseContext = {
  readonly version: 1 | 2
  readonly key: Buffer
  readonly state: number
  readonly flags: number
  /** Zeros in version 1, or if its flag is not set. */
  readonly parentKey: Buffer
  readonly epoch: number
}

export type DurableRequestV2 = {
  readonly timeoutMs: number
  readonly flags: number
  readonly createGuid: Buffer
}

export type DurableReconnectV2 = {
  readonly fileId: FileId
  readonly createGuid: Buffer
  readonly flags: number
}

/** If a tag repeats, the first one counts. */
export type CreateContexts = {
  /** All tags in order, as latin1, for the rules on valid combinations. */
  readonly tags: readonly string[]
  readonly queryMaximalAccess: boolean
  readonly queryOnDiskId: boolean
  readonly allocationSize: bigint | undefined
  /** FILETIME of the snapshot to open. */
  readonly timewarp: bigint | undefined
  readonly securityDescriptor: Buffer | undefined
  readonly extendedAttributes: Buffer | undefined
  readonly lease: LeaseContext | undefined
  readonly durableRequest: boolean
  readonly durableReconnect: FileId | undefined
  readonly durableRequestV2: DurableRequestV2 | undefined
  readonly durableReconnectV2: DurableReconnectV2 | undefined
  readonly appInstanceId: Buffer | undefined
}

export function decodeCreateContexts(chain: Buffer): CreateContexts {
  const blobs = splitChain(chain)
  const find = (tag: string, ...lengths: readonly number[]): Buffer | undefined => {
    const blob = blobs.find((candidate) => candidate.tag === tag)?.value
    if (blob !== undefined && lengths.length > 0 && !lengths.includes(blob.length)) {
      throw new WireError('INVALID_PARAMETER')
    }
    return blob
  }
  const lease = find('RqLs', 32, 52)
  const durableReconnect = find('DHnC', 16)
  const durableRequestV2 = find('DH2Q', 32)
  const durableReconnectV2 = find('DH2C', 36)
  return {
    tags: blobs.map(({ tag }) => tag),
    queryMaximalAccess: find('MxAc', 0, 8) !== undefined,
    queryOnDiskId: find('QFid') !== undefined,
    allocationSize: find('AlSi', 8)?.readBigUInt64LE(0),
    timewarp: find('TWrp', 8)?.readBigUInt64LE(0),
    securityDescriptor: find('SecD'),
    extendedAttributes: find('ExtA'),
    lease: lease && decodeLease(lease),
    durableRequest: find('DHnQ', 16) !== undefined,
    durableReconnect: durableReconnect && decodeFileId(durableReconnect, 0),
    durableRequestV2: durableRequestV2 && decodeDurableRequestV2(durableRequestV2),
    durableReconnectV2: durableReconnectV2 && decodeDurableReconnectV2(durableReconnectV2),
    appInstanceId: find(APP_INSTANCE_ID_TAG, 20)?.subarray(4, 20),
  }
}

type Blob = { readonly tag: string; readonly value: Buffer }

function splitChain(chain: Buffer): readonly Blob[] {
  const blobs: Blob[] = []
  let rest = chain
  while (rest.length > 0) {
    checkRoom(rest, 16)
    const next = rest.readUInt32LE(0)
    if (next % 8 !== 0 || next > rest.length || (next > 0 && next < 16)) {
      throw new WireError('INVALID_PARAMETER')
    }
    blobs.push(decodeBlob(next === 0 ? rest : rest.subarray(0, next)))
    // A Next that points to the end promises a context that is missing.
    if (next === rest.length) throw new WireError('INVALID_PARAMETER')
    rest = next === 0 ? rest.subarray(rest.length) : rest.subarray(next)
  }
  return blobs
}

function decodeBlob(blob: Buffer): Blob {
  const tagBytes = blob.readUInt16LE(6)
  if (tagBytes < 4) throw new WireError('INVALID_PARAMETER')
  const tagAt = blob.readUInt16LE(4)
  const tag = boundedPart(blob, 16, { offset: tagAt, lengthBytes: tagBytes })
  const value = { offset: blob.readUInt16LE(10), lengthBytes: blob.readUInt32LE(12) }
  const isEmpty = value.lengthBytes === 0
  return {
    tag: tag.toString('latin1'),
    value: isEmpty ? blob.subarray(0, 0) : boundedPart(blob, tagAt + tagBytes, value),
  }
}

function decodeLease(blob: Buffer): LeaseContext {
  const isV2 = blob.length === 52
  return {
    version: isV2 ? 2 : 1,
    key: blob.subarray(0, 16),
    state: blob.readUInt32LE(16),
    flags: blob.readUInt32LE(20),
    parentKey: isV2 ? blob.subarray(32, 48) : Buffer.alloc(16),
    epoch: isV2 ? blob.readUInt16LE(48) : 0,
  }
}

function decodeDurableRequestV2(blob: Buffer): DurableRequestV2 {
  return {
    timeoutMs: blob.readUInt32LE(0),
    flags: blob.readUInt32LE(4),
    createGuid: blob.subarray(16, 32),
  }
}

function decodeDurableReconnectV2(blob: Buffer): DurableReconnectV2 {
  return {
    fileId: decodeFileId(blob, 0),
    createGuid: blob.subarray(16, 32),
    flags: blob.readUInt32LE(32),
  }
}

/** The tag is four ASCII characters. */
export type ResponseContext = { readonly tag: string; readonly value: Buffer }

export function encodeMaximalAccessContext(status: number, maximalAccess: number): ResponseContext {
  const value = Buffer.alloc(8)
  value.writeUInt32LE(status, 0)
  value.writeUInt32LE(maximalAccess, 4)
  return { tag: 'MxAc', value }
}

export function encodeOnDiskIdContext(fileId: bigint, volumeId: bigint): ResponseContext {
  const value = Buffer.alloc(32)
  value.writeBigUInt64LE(fileId, 0)
  value.writeBigUInt64LE(volumeId, 8)
  return { tag: 'QFid', value }
}

/** In the version of the request. */
export function encodeLeaseContext(lease: LeaseContext): ResponseContext {
  const value = Buffer.alloc(lease.version === 2 ? 52 : 32)
  lease.key.copy(value, 0, 0, 16)
  value.writeUInt32LE(lease.state, 16)
  value.writeUInt32LE(lease.flags, 20)
  if (lease.version === 2) {
    lease.parentKey.copy(value, 32, 0, 16)
    value.writeUInt16LE(lease.epoch, 48)
  }
  return { tag: 'RqLs', value }
}

export function encodeDurableContext(): ResponseContext {
  return { tag: 'DHnQ', value: Buffer.alloc(8) }
}

export function encodeDurableV2Context(timeoutMs: number, flags: number): ResponseContext {
  const value = Buffer.alloc(8)
  value.writeUInt32LE(timeoutMs, 0)
  value.writeUInt32LE(flags, 4)
  return { tag: 'DH2Q', value }
}

export function encodeResponseContexts(contexts: readonly ResponseContext[]): Buffer {
  const pieces = contexts.flatMap(({ tag, value }, index) => {
    // Sixteen bytes, four of the tag, and four of padding that align the value to 8.
    const head = Buffer.alloc(24)
    const isLast = index === contexts.length - 1
    const padding = isLast ? Buffer.alloc(0) : paddingTo(value.length, 8)
    head.writeUInt32LE(isLast ? 0 : head.length + value.length + padding.length, 0)
    head.writeUInt16LE(16, 4)
    head.writeUInt16LE(4, 6)
    head.writeUInt16LE(head.length, 10)
    head.writeUInt32LE(value.length, 12)
    head.write(tag, 16, 4, 'latin1')
    return [head, value, padding]
  })
  return Buffer.concat(pieces)
}
