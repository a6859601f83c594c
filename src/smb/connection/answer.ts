// Encodes responses ([MS-SMB2] 3.3.4.1): the header repeats fields of the request's, the parts of a compound are padded
// and signed one by one, and the last part grants the credits of all.
import type { Session } from '../world.ts'
import type { Outgoing } from './dispatch.ts'
import { TRANSFER_BYTES_MAX } from '../limits.ts'
import {
  encodeHeader,
  HEADER_FLAG,
  joinCompound,
  type MessagePieces,
  type Smb2Header,
} from '../wire/header.ts'
import { errorBody, NT_STATUS } from '../wire/status.ts'

/** What clients accept: a response of MaxReadSize, and some more. */
const FRAME_BYTES_MAX = TRANSFER_BYTES_MAX + 64 * 1024
/** A header and padding. */
const ANSWER_BYTES = 64 + 8

/** One message of a compound, or the only one. */
export type Part = {
  readonly message: Buffer
  readonly header: Smb2Header
  /** Granted with its first response. */
  readonly credits: number
}

export type Answered = {
  readonly part: Part
  readonly outgoing: Outgoing
  readonly asyncId: bigint | undefined
}

/** STATUS_PENDING, never signed. It grants the credits; the final response grants none. */
export function interimAnswer(part: Part, asyncId: bigint): Answered {
  return { part, outgoing: { status: 'PENDING', body: [errorBody()] }, asyncId }
}

/** Usually one frame; the responses to a compound of READs may not fit into one. */
export function framesOf(answered: readonly Answered[]): readonly (readonly Answered[])[] {
  const frames: Answered[][] = []
  let lengthBytes = Infinity
  for (const each of answered) {
    const bytes = each.outgoing.body.reduce((sum, piece) => sum + piece.length, ANSWER_BYTES)
    lengthBytes += bytes
    if (lengthBytes > FRAME_BYTES_MAX) {
      frames.push([])
      lengthBytes = bytes
    }
    frames.at(-1)?.push(each)
  }
  return frames
}

export function encodeAnswers(
  answered: readonly Answered[],
  sealedBy: Session | undefined,
): readonly MessagePieces[] {
  const credits = answered.reduce((sum, each) => sum + creditsOf(each), 0)
  const last = answered.length - 1
  const messages = joinCompound(
    answered.map((each, index) => encodeAnswer(each, index === last ? credits : 0)),
  )
  for (const [index, message] of messages.entries()) {
    const outgoing = answered[index]?.outgoing
    // An encrypted message is not signed ([MS-SMB2] 3.1.4.3).
    if (sealedBy === undefined) outgoing?.signer?.sign(message)
    outgoing?.encoded?.(message)
  }
  return messages
}

function creditsOf({ part, outgoing, asyncId }: Answered): number {
  return asyncId !== undefined && outgoing.status !== 'PENDING' ? 0 : part.credits
}

const REPEATED_FLAGS = HEADER_FLAG.related | HEADER_FLAG.priorityMask | HEADER_FLAG.replay

function encodeAnswer({ part, outgoing, asyncId }: Answered, credits: number): MessagePieces {
  const { header } = part
  const head = encodeHeader({
    creditCharge: header.creditCharge,
    status: NT_STATUS[outgoing.status],
    command: header.command,
    credits,
    flags: HEADER_FLAG.serverToRedir | (header.flags & REPEATED_FLAGS),
    nextCommand: 0,
    messageId: header.messageId,
    treeId: outgoing.treeId ?? header.treeId,
    asyncId,
    sessionId: outgoing.sessionId ?? header.sessionId,
  })
  return [head, ...outgoing.body]
}

/** The header of a message without a request, or of the response to an SMB1 NEGOTIATE. */
export function encodePlainHeader(command: number, messageId: bigint, credits: number): Buffer {
  return encodeHeader({
    creditCharge: 0,
    status: 0,
    command,
    credits,
    flags: HEADER_FLAG.serverToRedir,
    nextCommand: 0,
    messageId,
    treeId: 0,
    asyncId: undefined,
    sessionId: 0n,
  })
}
