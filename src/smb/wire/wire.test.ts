// Every decoder against recorded sessions and corrupted copies of them: the result is always a decoded request or a
// WireError.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom, type Random } from '../../../test/random.ts'
import { decodeChangeNotifyRequest } from './file/change-notify.ts'
import { decodeCloseRequest } from './file/close.ts'
import { decodeCreateContexts } from './file/create-context.ts'
import { decodeCreateRequest, encodeCreateResponse } from './file/create.ts'
import { WireError } from './error.ts'
import { recordedSessions, requestMessage } from './example.ts'
import { decodeFileId } from './file-id.ts'
import {
  decodeAllocatedRangeQuery,
  decodeCopyChunk,
  decodePipeWait,
  decodeResiliencyTimeoutMs,
  decodeSetZero,
} from './file/fsctl.ts'
import { decodeHeader, encodeHeader, splitCompound } from './header.ts'
import { decodeIoctlRequest } from './file/ioctl.ts'
import { decodeLockRequest } from './file/lock.ts'
import { decodeNegotiateContexts } from './session/negotiate-context.ts'
import {
  decodeNegotiateRequest,
  decodeSmb1Negotiate,
  decodeValidateNegotiate,
} from './session/negotiate.ts'
import { decodeOplockBreakRequest } from './file/oplock-break.ts'
import { decodeQueryDirectoryRequest } from './information/query-directory.ts'
import { decodeQueryInfoRequest } from './information/query-info.ts'
import { decodeReadRequest, encodeReadResponseHead } from './file/read.ts'
import { decodeSessionSetupRequest, encodeSessionSetupResponse } from './session/session-setup.ts'
import { decodeFileChange, decodeSetInfoRequest } from './information/set-info.ts'
import { checkSimpleRequest, decodeFlushRequest } from './simple.ts'
import { decodeTreeConnectRequest, encodeTreeConnectResponse } from './session/tree-connect.ts'
import { decodeWriteRequest, encodeWriteResponse } from './file/write.ts'

type Decode = (message: Buffer) => unknown

/** By command number. Some, such as LOCK and CHANGE_NOTIFY, are in no recording and only get random bodies. */
const DECODERS: readonly Decode[] = [
  decodeNegotiateRequest,
  decodeSessionSetupRequest,
  checkSimpleRequest,
  decodeTreeConnectRequest,
  checkSimpleRequest,
  decodeCreateRequest,
  decodeCloseRequest,
  decodeFlushRequest,
  decodeReadRequest,
  decodeWriteRequest,
  decodeLockRequest,
  decodeIoctlRequest,
  checkSimpleRequest,
  checkSimpleRequest,
  decodeQueryDirectoryRequest,
  decodeChangeNotifyRequest,
  decodeQueryInfoRequest,
  decodeSetInfoRequest,
  decodeOplockBreakRequest,
]
const SIZES = [36, 25, 4, 9, 4, 57, 24, 24, 49, 49, 48, 57, 4, 4, 33, 32, 41, 33, 24]

const PAYLOADS: readonly Decode[] = [
  decodeCreateContexts,
  decodeValidateNegotiate,
  decodeSmb1Negotiate,
  decodeCopyChunk,
  decodePipeWait,
  decodeResiliencyTimeoutMs,
  decodeSetZero,
  decodeAllocatedRangeQuery,
  decodeHeader,
  splitCompound,
  (list) => decodeNegotiateContexts(list, 3),
  ...[4, 10, 11, 13, 14, 16, 19, 20, 64, 65].map(
    (id): Decode =>
      (input) =>
        decodeFileChange(id, input),
  ),
]

const sessions = recordedSessions()
const requests = sessions.flatMap(({ messages }) =>
  messages
    .filter(({ from }) => from === 'client')
    .flatMap(({ bytes }) => splitCompound(bytes))
    .map((bytes) => ({
      bytes,
      decode: DECODERS[decodeHeader(bytes).command] ?? checkSimpleRequest,
    })),
)

test('there are recordings to decode', () => assert(sessions.length === 9 && requests.length > 250))

for (const { name, messages } of sessions) {
  test(`${name}: every header decodes and encodes again`, () => {
    for (const { bytes } of messages) {
      const header = decodeHeader(bytes)
      const again = encodeHeader(header)
      header.signature.copy(again, 48)
      assert.deepEqual(again, bytes.subarray(0, 64))
    }
  })
}

test('every recorded request decodes', () => {
  for (const { bytes, decode } of requests) decode(bytes)
})

test('recorded SET_INFO, IOCTL, CREATE and WRITE decode to known values', () => {
  const of = (command: number) =>
    requests
      .filter(({ bytes }) => decodeHeader(bytes).command === command)
      .map(({ bytes }) => bytes)
  const changes = of(17).map((bytes) => {
    const { informationClass, input } = decodeSetInfoRequest(bytes)
    return decodeFileChange(informationClass, input).kind
  })
  assert.deepEqual([...new Set(changes)], ['disposition'])
  assert(of(11).every((bytes) => decodeIoctlRequest(bytes).isFsctl))
  const names = new Set(of(5).map((bytes) => decodeCreateRequest(bytes).name))
  assert.deepEqual([...names].sort(), ['', 'vd', 'vd\\a'])
  assert(
    of(9).every((bytes) => decodeWriteRequest(bytes).content.toString().startsWith('the quick')),
  )
})

/** Encoders, called with the fields of a recorded response. */
const RESPONSES: Readonly<Record<number, (body: Buffer) => Buffer>> = {
  1: (body) =>
    encodeSessionSetupResponse({
      sessionFlags: body.readUInt16LE(2),
      securityBuffer: body.subarray(8),
    }),
  3: (body) =>
    encodeTreeConnectResponse({
      shareType: body.readUInt8(2),
      shareFlags: body.readUInt32LE(4),
      capabilities: body.readUInt32LE(8),
      maximalAccess: body.readUInt32LE(12),
    }),
  5: (body) =>
    encodeCreateResponse({
      oplockLevel: body.readUInt8(2),
      flags: 0,
      createAction: body.readUInt32LE(4),
      file: {
        creationTime: body.readBigUInt64LE(8),
        lastAccessTime: body.readBigUInt64LE(16),
        lastWriteTime: body.readBigUInt64LE(24),
        changeTime: body.readBigUInt64LE(32),
        allocationSize: Number(body.readBigUInt64LE(40)),
        endOfFile: Number(body.readBigUInt64LE(48)),
        fileAttributes: body.readUInt32LE(56),
      },
      fileId: decodeFileId(body, 64),
      contexts: [],
    }),
  8: (body) => Buffer.concat([encodeReadResponseHead(body.readUInt32LE(4)), body.subarray(16)]),
  9: (body) => encodeWriteResponse(body.readUInt32LE(4)),
}

test('our encoders give the same bytes as the recorded responses', () => {
  const isWhole = (bytes: Buffer) =>
    bytes.readUInt16LE(64) !== 9 || decodeHeader(bytes).command === 1
  let compared = 0
  for (const { bytes } of sessions.flatMap(({ messages }) => messages)) {
    const encode = RESPONSES[decodeHeader(bytes).command]
    const isResponse = (decodeHeader(bytes).flags & 1) !== 0
    if (encode === undefined || !isResponse || !isWhole(bytes)) continue
    assert.deepEqual(encode(bytes.subarray(64)), bytes.subarray(64))
    compared += 1
  }
  assert(compared > 100)
})

function survives(decode: Decode, bytes: Buffer): void {
  try {
    decode(bytes)
  } catch (error) {
    if (error instanceof WireError) return
    throw new Error(`${decode.name} of ${bytes.toString('hex')}`, { cause: error })
  }
}

/** Typical wrong values of lengths, offsets and counts. */
const EDGES = [0, 1, 7, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff]

function corrupt(bytes: Buffer, random: Random): Buffer {
  const corrupted = Buffer.from(
    bytes.subarray(0, random.below(4) === 0 ? random.below(bytes.length + 1) : undefined),
  )
  for (let change = random.below(4); change >= 0 && corrupted.length >= 68; change -= 1) {
    const at = 64 + random.below(corrupted.length - 67)
    if (random.below(2) === 0) corrupted.writeUInt8(random.below(256), at)
    else corrupted.writeUInt32LE(EDGES[random.below(EDGES.length)] ?? 0, at)
  }
  return corrupted
}

test('a corrupted recording decodes or throws a WireError', () => {
  const random = randomFrom(20_240_131)
  for (let round = 0; round < 100; round += 1) {
    for (const { bytes, decode } of requests) survives(decode, corrupt(bytes, random))
  }
})

test('a request truncated at any length decodes or throws a WireError', () => {
  for (const { bytes, decode } of requests.slice(0, 60)) {
    for (let length = 0; length <= bytes.length; length += 1)
      survives(decode, bytes.subarray(0, length))
  }
})

test('a random body with the right StructureSize decodes or throws a WireError', () => {
  const random = randomFrom(7)
  for (let round = 0; round < 20_000; round += 1) {
    const command = random.below(DECODERS.length)
    const body = Buffer.from(
      Array.from({ length: 2 + random.below(160) }, () =>
        random.below(3) === 0 ? random.below(256) : 0,
      ),
    )
    const isLease = command === 18 && random.below(2) === 0
    body.writeUInt16LE(isLease ? 36 : (SIZES[command] ?? 0), 0)
    survives(DECODERS[command] ?? checkSimpleRequest, requestMessage(command, body.toString('hex')))
  }
})

test('a random payload decodes or throws a WireError', () => {
  const random = randomFrom(11)
  for (let round = 0; round < 20_000; round += 1) {
    const bytes = Buffer.from(
      Array.from({ length: random.below(120) }, () =>
        random.below(4) === 0 ? random.below(256) : 0,
      ),
    )
    survives(PAYLOADS[random.below(PAYLOADS.length)] ?? decodeHeader, bytes)
  }
})
