// Put, Get, Peek, Clear, Update and Delete Message: decode once, call storage, encode.
import { randomUUID } from 'node:crypto'
import { tooLarge } from '../../http/protocol/body.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import {
  decodeMessageText,
  encodeGetMessages,
  encodePeekMessages,
  encodePutMessage,
  QUEUE_MESSAGE_BYTES_MAX,
} from './queue-xml.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import {
  deleteMessage,
  putMessage,
  updateMessage,
  type MessageClaim,
} from '../../storage/queue/message.ts'
import { encodePopReceipt } from '../../storage/queue/pop-receipt.ts'
import { clearMessages, requireQueue } from '../../storage/queue/queue.ts'
import { getFirstMessages, peekFirstMessages } from '../../storage/queue/visible.ts'
import {
  decodeMessageCount,
  decodePopReceiptParameter,
  decodeTimeToLive,
  decodeVisibilityTimeout,
  requiredParameter,
} from './parameter.ts'
import { messageIdOf, queueAddress, type QueueCall } from './service.ts'

const TEXT_BYTES_MAX = 64 * 1024
const OLD_TEXT_BYTES_MAX = 8 * 1024

const XML = ['Cache-Control', 'no-cache', 'Content-Type', 'application/xml']
const PUT_XML = ['Content-Type', 'application/xml']
const NO_CONTENT: Answer = { status: 204, headers: [] }

export async function runPutMessage({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const visibilityTimeoutMs = decodeVisibilityTimeout(request, { min: 0, otherwise: 0 })
  const timeToLiveMs = decodeTimeToLive(request)
  if (timeToLiveMs !== undefined && visibilityTimeoutMs >= timeToLiveMs) {
    const reason = 'messagettl must be greater than visibilitytimeout'
    throw invalidQuery('visibilitytimeout', String(visibilityTimeoutMs / 1_000), reason)
  }
  const text = messageText(request, await request.body.read(QUEUE_MESSAGE_BYTES_MAX))
  const { nowMs } = service.moment()
  const put = { randomGuid: randomUUID(), text, visibilityTimeoutMs, timeToLiveMs }
  const message = await service.kv.write((tx) => putMessage(tx, address, put, nowMs))
  if (!isAtLeast(request.version, '2016-05-31')) return { status: 201, headers: [] }
  return { status: 201, headers: PUT_XML, body: encodePutMessage(message) }
}

export async function runGetMessages({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  checkPeekOnly(request)
  const get = {
    countMax: decodeMessageCount(request),
    visibilityTimeoutMs: decodeVisibilityTimeout(request, { min: 1, otherwise: 30 }),
  }
  const { nowMs } = service.moment()
  const messages = await getFirstMessages(service.kv, address, get, nowMs)
  return { status: 200, headers: XML, body: encodeGetMessages(messages) }
}

export async function runPeekMessages({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  const countMax = decodeMessageCount(request)
  const { nowMs } = service.moment()
  const messages = await peekFirstMessages(service.kv, address, countMax, nowMs)
  return { status: 200, headers: XML, body: encodePeekMessages(messages) }
}

export async function runClearMessages({ request, service }: QueueCall): Promise<Answer> {
  const [address, newId] = [queueAddress(request), service.newId()]
  await service.kv.write((tx) => clearMessages(tx, address, newId))
  return NO_CONTENT
}

export async function runUpdateMessage({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  requiredParameter(request, 'visibilitytimeout')
  requiredParameter(request, 'popreceipt')
  const visibilityTimeoutMs = decodeVisibilityTimeout(request, { min: 0, otherwise: 0 })
  const body = await request.body.read(QUEUE_MESSAGE_BYTES_MAX)
  const text = body.length === 0 ? {} : { text: messageText(request, body) }
  const claim = await decodeClaim(request, service)
  const { nowMs } = service.moment()
  const { id, sequence, visibleAtMs } = await service.kv.write((tx) =>
    updateMessage(tx, address, claim, { visibilityTimeoutMs, ...text }, nowMs),
  )
  const headers = [
    'x-ms-popreceipt', encodePopReceipt({ messageId: id, sequence }),
    'x-ms-time-next-visible', formatHttpDate(visibleAtMs),
  ] // prettier-ignore
  return { status: 204, headers }
}

export async function runDeleteMessage({ request, service }: QueueCall): Promise<Answer> {
  const address = queueAddress(request)
  requiredParameter(request, 'popreceipt')
  const claim = await decodeClaim(request, service)
  const { nowMs } = service.moment()
  await service.kv.write((tx) => deleteMessage(tx, address, claim, nowMs))
  return NO_CONTENT
}

/** A missing queue is answered with QueueNotFound even if the message id or the pop receipt is invalid too. */
async function decodeClaim(request: Request, { kv }: QueueCall['service']): Promise<MessageClaim> {
  try {
    return { messageId: messageIdOf(request), receipt: decodePopReceiptParameter(request) }
  } catch (error) {
    const address = queueAddress(request)
    await kv.read((tx) => requireQueue(tx, address))
    throw error
  }
}

/**
 * The limit applies to the text in UTF-8, not to its XML. A text that is too long gets the error code of a body that is
 * too long (Azurite#314, onefuzz#1900).
 */
function messageText({ version }: Request, body: Buffer): Uint8Array {
  const text = decodeMessageText(body)
  const bytesMax = isAtLeast(version, '2011-08-18') ? TEXT_BYTES_MAX : OLD_TEXT_BYTES_MAX
  if (text.length > bytesMax) throw tooLarge(bytesMax)
  return text
}

/** `peekonly=true` is another operation. */
function checkPeekOnly({ query }: Request): void {
  const text = query.get('peekonly')
  if (text && text.toLowerCase() !== 'false') throw invalidQuery('peekonly', text)
}
