// SMB: frames, headers, every command, the structures inside of them, and RPC.
import { openPipe } from '../../../src/smb/rpc/pipe.ts'
import {
  bind, LSARPC_V0, NDR, request, RPC_WORLD, SERVER, SRVSVC_V3, u32, WKSSVC_V1,
} from '../../../src/smb/rpc/example.ts' // prettier-ignore
import { decodeTransform, TransformError } from '../../../src/smb/session/transform.ts'
import { decodeFilePath } from '../../../src/smb/handle/file-path.ts'
import { SmbError } from '../../../src/smb/smb-error.ts'
import { WireError } from '../../../src/smb/wire/error.ts'
import { recordedSessions, requestMessage } from '../../../src/smb/wire/example.ts'
import { encodeFramePrefix, frameReader } from '../../../src/smb/wire/frame.ts'
import { decodeHeader, encodeHeader, splitCompound } from '../../../src/smb/wire/header.ts'
import { decodeChangeNotifyRequest } from '../../../src/smb/wire/file/change-notify.ts'
import { decodeCloseRequest } from '../../../src/smb/wire/file/close.ts'
import { decodeCreateContexts } from '../../../src/smb/wire/file/create-context.ts'
import { decodeCreateRequest } from '../../../src/smb/wire/file/create.ts'
import {
  decodeAllocatedRangeQuery, decodeCopyChunk, decodePipeWait, decodeResiliencyTimeoutMs, decodeSetZero,
} from '../../../src/smb/wire/file/fsctl.ts' // prettier-ignore
import { decodeIoctlRequest } from '../../../src/smb/wire/file/ioctl.ts'
import { decodeLockRequest } from '../../../src/smb/wire/file/lock.ts'
import { decodeOplockBreakRequest } from '../../../src/smb/wire/file/oplock-break.ts'
import { decodeReadRequest } from '../../../src/smb/wire/file/read.ts'
import { decodeWriteRequest } from '../../../src/smb/wire/file/write.ts'
import { decodeQueryDirectoryRequest } from '../../../src/smb/wire/information/query-directory.ts'
import { decodeQueryInfoRequest } from '../../../src/smb/wire/information/query-info.ts'
import {
  decodeFileChange,
  decodeSetInfoRequest,
} from '../../../src/smb/wire/information/set-info.ts'
import { compilePattern } from '../../../src/smb/wire/information/wildcard.ts'
import { decodeNegotiateContexts } from '../../../src/smb/wire/session/negotiate-context.ts'
import {
  decodeNegotiateRequest, decodeSmb1Negotiate, decodeValidateNegotiate,
} from '../../../src/smb/wire/session/negotiate.ts' // prettier-ignore
import { decodeSessionSetupRequest } from '../../../src/smb/wire/session/session-setup.ts'
import { checkSimpleRequest, decodeFlushRequest } from '../../../src/smb/wire/simple.ts'
import { decodeTreeConnectRequest } from '../../../src/smb/wire/session/tree-connect.ts'
import { StorageError } from '../../../src/storage/shared/error.ts'
import { target, type Target } from '../target.ts'

type Decode = (message: Buffer) => unknown

const messages = recordedSessions().flatMap(({ messages }) => messages)
const requests = messages
  .filter(({ from }) => from === 'client')
  .flatMap(({ bytes }) => splitCompound(bytes))

/** One recorded request of each length: the others differ little. */
function recorded(command: number): readonly Buffer[] {
  const found = requests.filter((bytes) => decodeHeader(bytes).command === command)
  return [...new Map(found.map((bytes) => [bytes.length, bytes])).values()].slice(0, 6)
}

// [command, name, decoder, StructureSize]
const COMMANDS: readonly (readonly [number, string, Decode, number])[] = [
  [0, 'negotiate', decodeNegotiateRequest, 36],
  [1, 'session-setup', decodeSessionSetupRequest, 25],
  [2, 'simple', checkSimpleRequest, 4],
  [3, 'tree-connect', decodeTreeConnectRequest, 9],
  [5, 'create', decodeCreateRequest, 57],
  [6, 'close', decodeCloseRequest, 24],
  [7, 'flush', decodeFlushRequest, 24],
  [8, 'read', decodeReadRequest, 49],
  [9, 'write', decodeWriteRequest, 49],
  [10, 'lock', decodeLockRequest, 48],
  [11, 'ioctl', decodeIoctlRequest, 57],
  [14, 'query-directory', decodeQueryDirectoryRequest, 33],
  [15, 'change-notify', decodeChangeNotifyRequest, 32],
  [16, 'query-info', decodeQueryInfoRequest, 41],
  [17, 'set-info', decodeSetInfoRequest, 33],
  [18, 'oplock-break', decodeOplockBreakRequest, 24],
]

const COMMAND_TARGETS: readonly Target[] = COMMANDS.map(([command, name, decode, size]) => {
  const body = Buffer.alloc(64)
  body.writeUInt16LE(size, 0)
  return target({
    name: `smb-${name}`,
    seeds: [requestMessage(command, body.toString('hex')), ...recorded(command)],
    words: ['\\', 'a\0b\0', '@\0G\0M\0T\0-\0'],
    lengthMax: 1_024,
    decode: (input) => decode(input),
    refuses: [WireError],
  })
})

const FILE_CHANGES = [4, 10, 11, 13, 14, 16, 19, 20, 64, 65]

/** Every structure on its own; the first byte says which. */
const STRUCTURES: readonly Decode[] = [
  decodeValidateNegotiate,
  decodeSmb1Negotiate,
  decodeCopyChunk,
  decodePipeWait,
  decodeResiliencyTimeoutMs,
  decodeSetZero,
  decodeAllocatedRangeQuery,
  (list) => decodeNegotiateContexts(list, 3),
  ...FILE_CHANGES.map(
    (id): Decode =>
      (input) =>
        decodeFileChange(id, input),
  ),
]

const contexts = recorded(5).map((bytes) => bytes.subarray(120))

/** A whole conversation over a pipe, up to what the last packet is answered with. */
function conversation(name: string, packets: Buffer): readonly number[] {
  const pipe = openPipe(name, RPC_WORLD)
  if (pipe === undefined) throw new Error(name)
  const lengths: number[] = []
  pipe.write(packets)
  for (let count = 0; count < 10_000; count += 1) {
    const { bytes } = pipe.read(1_024)
    if (bytes.length === 0) return lengths
    lengths.push(bytes.length)
  }
  throw new Error('the pipe never ends')
}

function pipeTarget(name: string, syntax: string, operations: readonly number[]): Target {
  const begun = bind([[syntax, NDR]])
  const stub = Buffer.concat([SERVER, u32(1, 1, 0x20004, 0, 0, 0xffffffff, 0)])
  return target({
    name: `rpc-${name}`,
    seeds: operations.map((operation) => Buffer.concat([begun, request(operation, stub)])),
    words: ['\u0005\0\0\u0003\u0010\0\0\0', '\u0005\0\u000b\u0003\u0010\0\0\0', '\\\0\\\0a\0\0\0'],
    decode: (input) => conversation(name, input),
    refuses: [],
  })
}

export const SMB_TARGETS: readonly Target[] = [
  target({
    name: 'smb-frame',
    seeds: [
      Buffer.concat([encodeFramePrefix(8), Buffer.alloc(8), encodeFramePrefix(4), Buffer.alloc(4)]),
    ],
    words: ['\0\0\0\u0004', '\0\0\u0001\0', '\u0081\0\0\u0044'],
    decode: (input) => framesOf(input, 1_000),
    // However the bytes are cut into packets, they mean the same.
    again: ({ input }) => framesOf(input, 3),
    refuses: [],
  }),
  target({
    name: 'smb-header',
    seeds: recorded(5),
    lengthMax: 512,
    decode: (input) => {
      const { signature: _, ...header } = decodeHeader(input)
      return header
    },
    again: (header) => {
      const { signature: _, ...second } = decodeHeader(encodeHeader(header))
      return second
    },
    refuses: [WireError],
  }),
  target({
    name: 'smb-compound',
    seeds: [...recorded(5), Buffer.concat(recorded(5))],
    lengthMax: 2_048,
    decode: (input) => splitCompound(input),
    refuses: [WireError],
  }),
  ...COMMAND_TARGETS,
  target({
    name: 'smb-create-contexts',
    seeds: contexts.length === 0 ? [Buffer.alloc(24)] : contexts,
    words: ['DHnQ', 'DH2Q', 'DH2C', 'DHnC', 'RqLs', 'AlSi', 'MxAc', 'TWrp', 'QFid', 'SecD', 'ExtA'],
    lengthMax: 1_024,
    decode: (input) => decodeCreateContexts(input),
    refuses: [WireError],
  }),
  target({
    name: 'smb-structure',
    seeds: STRUCTURES.map((_, at) => Buffer.concat([Buffer.from([at]), Buffer.alloc(48)])),
    words: ['a\0b\0', '\\', '\0\0\0\0'],
    lengthMax: 512,
    decode: (input) => STRUCTURES[(input[0] ?? 0) % STRUCTURES.length]?.(input.subarray(1)),
    refuses: [WireError],
  }),
  target({
    name: 'smb-transform',
    seeds: [transformSeed()],
    lengthMax: 512,
    decode: (input) => decodeTransform(input),
    refuses: [TransformError],
  }),
  target({
    name: 'smb-path',
    seeds: ['a\\b\\c', '@GMT-2026.01.15-12.00.00\\a', 'a\\..\\b\\'],
    words: ['\\', '/', '..', '.', '@GMT-', '*', ':', '\0'],
    lengthMax: 1_024,
    decode: (input) => decodeFilePath(input.toString('latin1')),
    refuses: [SmbError, StorageError],
  }),
  target({
    name: 'smb-wildcard',
    seeds: ['*.txt', 'a<b>c"d?', '*'],
    words: ['*', '?', '<', '>', '"', '.', 'a', '**', '*a'],
    lengthMax: 255,
    decode: (input) => {
      const matches = compilePattern(input.toString('latin1'), (text) => text.toUpperCase())
      // A match takes up to name times pattern steps.
      return [matches('a.txt'), matches(''), matches('a'.repeat(30)), matches('.'.repeat(30))]
    },
    refuses: [WireError, SmbError],
  }),
  pipeTarget('srvsvc', SRVSVC_V3, [15, 16, 21, 28]),
  pipeTarget('wkssvc', WKSSVC_V1, [0]),
  pipeTarget('lsarpc', LSARPC_V0, [0, 6, 7, 14, 15, 44, 45, 57, 58, 76, 77]),
]

/** The frames, and whether the connection would be closed after them. */
function framesOf(input: Buffer, packetBytes: number) {
  const reader = frameReader(() => 4_096)
  const frames: Buffer[] = []
  try {
    for (let at = 0; at < input.length; at += packetBytes) {
      frames.push(
        ...reader.push(input.subarray(at, at + packetBytes)).map((frame) => Buffer.from(frame)),
      )
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    // Frames of the same packet as the broken one are lost, and so is the connection.
    return { input, frames: [], isClosed: true }
  }
  return { input, frames, isClosed: false }
}

function transformSeed(): Buffer {
  const frame = Buffer.alloc(52 + 64)
  frame.set([0xfd, 0x53, 0x4d, 0x42])
  frame.writeUInt32LE(64, 36)
  frame.writeUInt16LE(1, 42)
  return frame
}
