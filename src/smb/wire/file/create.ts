// CREATE, [MS-SMB2] 2.2.13 and 2.2.14. Names are decoded as they are; the command checks them, because names of pipes
// and files have different rules.
import { checkBody, decodeText, HEADER_BYTES, variablePart } from '../body.ts'
import {
  decodeCreateContexts,
  encodeResponseContexts,
  type CreateContexts,
  type ResponseContext,
} from './create-context.ts'
import { WireError } from '../error.ts'
import { writeFileId, type FileId } from '../file-id.ts'
import { writeOpenedFile, type OpenedFile } from '../opened-file.ts'

export const OPLOCK_LEVEL = { none: 0, ii: 1, exclusive: 8, batch: 9, lease: 0xff } as const

export const DISPOSITION = {
  supersede: 0,
  open: 1,
  create: 2,
  openIf: 3,
  overwrite: 4,
  overwriteIf: 5,
} as const

export const CREATE_ACTION = { superseded: 0, opened: 1, created: 2, overwritten: 3 } as const

export const CREATE_OPTION = {
  directoryFile: 0x00000001,
  writeThrough: 0x00000002,
  sequentialOnly: 0x00000004,
  noIntermediateBuffering: 0x00000008,
  synchronousAlert: 0x00000010,
  synchronousNonAlert: 0x00000020,
  nonDirectoryFile: 0x00000040,
  noEaKnowledge: 0x00000200,
  randomAccess: 0x00000800,
  deleteOnClose: 0x00001000,
  openByFileId: 0x00002000,
  openForBackupIntent: 0x00004000,
  noCompression: 0x00008000,
  openReparsePoint: 0x00200000,
} as const

const IMPERSONATION_MAX = 3

export type CreateRequest = {
  readonly oplockLevel: number
  readonly impersonationLevel: number
  readonly desiredAccess: number
  readonly fileAttributes: number
  readonly shareAccess: number
  /** One of DISPOSITION. */
  readonly disposition: number
  readonly options: number
  /** Relative to the share's root, which is "". */
  readonly name: string
  readonly contexts: CreateContexts
}

export function decodeCreateRequest(message: Buffer): CreateRequest {
  checkBody(message, 57)
  const impersonationLevel = message.readUInt32LE(HEADER_BYTES + 4)
  const disposition = message.readUInt32LE(HEADER_BYTES + 36)
  const name = variablePart(message, 57, {
    offset: message.readUInt16LE(HEADER_BYTES + 44),
    lengthBytes: message.readUInt16LE(HEADER_BYTES + 46),
  })
  const contexts = variablePart(message, 57, {
    offset: message.readUInt32LE(HEADER_BYTES + 48),
    lengthBytes: message.readUInt32LE(HEADER_BYTES + 52),
  })
  const decoded = decodeCreateContexts(contexts)
  // A reconnect of a durable handle requests nothing new, so these fields do not count.
  if (decoded.durableReconnect === undefined && decoded.durableReconnectV2 === undefined) {
    if (impersonationLevel > IMPERSONATION_MAX) throw new WireError('BAD_IMPERSONATION_LEVEL')
    if (disposition > DISPOSITION.overwriteIf) throw new WireError('INVALID_PARAMETER')
  }
  return {
    oplockLevel: message.readUInt8(HEADER_BYTES + 3),
    impersonationLevel,
    desiredAccess: message.readUInt32LE(HEADER_BYTES + 24),
    fileAttributes: message.readUInt32LE(HEADER_BYTES + 28),
    shareAccess: message.readUInt32LE(HEADER_BYTES + 32),
    disposition,
    options: message.readUInt32LE(HEADER_BYTES + 40),
    name: decodeText(name),
    contexts: decoded,
  }
}

export type CreateResponse = {
  readonly oplockLevel: number
  readonly flags: number
  readonly createAction: number
  readonly file: OpenedFile
  readonly fileId: FileId
  readonly contexts: readonly ResponseContext[]
}

export function encodeCreateResponse(response: CreateResponse): Buffer {
  const fixed = Buffer.alloc(88)
  fixed.writeUInt16LE(89, 0)
  fixed.writeUInt8(response.oplockLevel, 2)
  fixed.writeUInt8(response.flags, 3)
  fixed.writeUInt32LE(response.createAction, 4)
  writeOpenedFile(fixed, 8, response.file)
  writeFileId(fixed, 64, response.fileId)
  const contexts = encodeResponseContexts(response.contexts)
  if (contexts.length === 0) return fixed
  fixed.writeUInt32LE(HEADER_BYTES + fixed.length, 80)
  fixed.writeUInt32LE(contexts.length, 84)
  return Buffer.concat([fixed, contexts])
}
