// Messages on the wire: QueueMessage in, QueueMessagesList out. The text is stored as decoded from the XML; whether
// it is Base64 is up to the clients.
import { StorageError } from '../../storage/shared/error.ts'
import type { Message } from '../../storage/queue/message.ts'
import { encodePopReceipt } from '../../storage/queue/pop-receipt.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import { parseXml, XML_DECLARATION, xmlChild } from '../../http/protocol/xml.ts'

/** A text of 64 KiB may be longer in XML; the service allows twice its length plus the elements around it. */
export const QUEUE_MESSAGE_BYTES_MAX = 131_584

const LIMITS = { lengthMax: QUEUE_MESSAGE_BYTES_MAX, depthMax: 2, nodeCountMax: 2 }

// Almost every message is ASCII without escapes. Parsing it as XML would take six times as long, a tenth of the time of
// a Put Message.
const PLAIN_MESSAGE =
  /^(?:<\?xml version="1\.0" encoding="utf-8"\?>)?<QueueMessage><MessageText>([\t\n\x20-%'-;=?-~]*)<\/MessageText><\/QueueMessage>$/

/** Returns the text in UTF-8. Unescaped markup in it is refused, not dropped. */
export function decodeMessageText(body: Buffer): Uint8Array {
  const plain = body.length <= LIMITS.lengthMax && PLAIN_MESSAGE.exec(body.toString('latin1'))
  if (plain) return Buffer.from(plain[1] ?? '', 'latin1')
  const root = parseXml(body, LIMITS)
  const text = xmlChild(root, 'MessageText')
  if (root.name !== 'QueueMessage' || text === undefined) {
    throw new StorageError('InvalidXmlDocument')
  }
  return Buffer.from(text.text)
}

/** Which elements an operation returns besides the message's id and times. */
type Elements = { readonly receipt: boolean; readonly content: boolean }

const PUT: Elements = { receipt: true, content: false }
const GET: Elements = { receipt: true, content: true }
const PEEK: Elements = { receipt: false, content: true }

export function encodePutMessage(message: Message): string {
  return encodeMessages([message], PUT)
}

export function encodeGetMessages(messages: readonly Message[]): string {
  return encodeMessages(messages, GET)
}

export function encodePeekMessages(messages: readonly Message[]): string {
  return encodeMessages(messages, PEEK)
}

function encodeMessages(messages: readonly Message[], elements: Elements): string {
  if (messages.length === 0) return `${XML_DECLARATION}<QueueMessagesList />`
  let items = ''
  for (const message of messages) items += encodeMessage(message, elements)
  return `${XML_DECLARATION}<QueueMessagesList>${items}</QueueMessagesList>`
}

/** What the service returns for a message that never expires. */
const NEVER = 'Fri, 31 Dec 9999 23:59:59 GMT'

function encodeMessage(message: Message, { receipt, content }: Elements): string {
  const { id, insertedMs, expiresMs, dequeueCount, visibleAtMs, sequence, text } = message
  const expires = expiresMs === undefined ? NEVER : formatHttpDate(expiresMs)
  let xml =
    `<QueueMessage><MessageId>${id}</MessageId>` +
    `<InsertionTime>${formatHttpDate(insertedMs)}</InsertionTime>` +
    `<ExpirationTime>${expires}</ExpirationTime>`
  if (receipt) {
    xml +=
      `<PopReceipt>${encodePopReceipt({ messageId: id, sequence })}</PopReceipt>` +
      `<TimeNextVisible>${formatHttpDate(visibleAtMs)}</TimeNextVisible>`
  }
  if (content) {
    xml += `<DequeueCount>${dequeueCount}</DequeueCount>${encodeText(text)}`
  }
  return `${xml}</QueueMessage>`
}

/** The text was decoded from XML, so XML can represent all of its characters. */
function encodeText(text: Uint8Array): string {
  if (text.length === 0) return '<MessageText />'
  const escaped = Buffer.from(text)
    .toString('utf8')
    .replace(/[&<>\r]/g, (character) => ESCAPES[character] ?? '')
  return `<MessageText>${escaped}</MessageText>`
}

/** A parser would read a bare carriage return as a line feed. */
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#xD;',
}
