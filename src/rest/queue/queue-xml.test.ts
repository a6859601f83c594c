import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { encodePopReceipt } from '../../storage/queue/pop-receipt.ts'
import {
  decodeMessageText,
  encodeGetMessages,
  encodePeekMessages,
  encodePutMessage,
} from './queue-xml.ts'
import { parseXml } from '../../http/protocol/xml.ts'

const ID = '01234567-89ab-4cde-8f01-23456789abcd'
const MESSAGE = {
  id: ID,
  insertedMs: Date.UTC(2024, 0, 1),
  expiresMs: Date.UTC(2024, 0, 8),
  dequeueCount: 2,
  visibleAtMs: Date.UTC(2024, 0, 1, 0, 0, 30),
  sequence: 9,
  text: Buffer.from('a < b'),
}
const RECEIPT = encodePopReceipt({ messageId: ID, sequence: 9 })

/** The elements of the first message, by name. */
function nodesOf(xml: string): Readonly<Record<string, string>> {
  const [message] = parseXml(xml).children
  return Object.fromEntries((message?.children ?? []).map(({ name, text }) => [name, text]))
}

describe('the elements of a message', () => {
  const times = {
    MessageId: ID,
    InsertionTime: 'Mon, 01 Jan 2024 00:00:00 GMT',
    ExpirationTime: 'Mon, 08 Jan 2024 00:00:00 GMT',
  }
  const held = { PopReceipt: RECEIPT, TimeNextVisible: 'Mon, 01 Jan 2024 00:00:30 GMT' }
  const content = { DequeueCount: '2', MessageText: 'a < b' }

  test('of Put Message are its id, times and receipt', () => {
    assert.deepEqual(nodesOf(encodePutMessage(MESSAGE)), { ...times, ...held })
  })
  test('of Get Messages have the content too', () => {
    assert.deepEqual(nodesOf(encodeGetMessages([MESSAGE])), { ...times, ...held, ...content })
  })
  test('of Peek Messages have no receipt', () => {
    assert.deepEqual(nodesOf(encodePeekMessages([MESSAGE])), { ...times, ...content })
  })
  test('name the last day of 9999 if it never expires', () => {
    const { expiresMs: _expiresMs, ...forever } = MESSAGE
    const { ExpirationTime } = nodesOf(encodePeekMessages([forever]))
    assert.equal(ExpirationTime, 'Fri, 31 Dec 9999 23:59:59 GMT')
  })
  test('are absent from an empty list', () => {
    assert.equal(parseXml(encodeGetMessages([])).children.length, 0)
  })
})

test('every text that XML can represent survives encoding and decoding', () => {
  // prettier-ignore
  const characters = fc.constantFrom('a', '&', '<', '>', '"', '\r', '\n', '\t', ' ', ']]>', '\u007f', '\u0085', 'é', '漢', '\u{1f600}', '\ufffd')
  fc.assert(
    fc.property(fc.array(characters), (parts) => {
      const text = Buffer.from(parts.join(''))
      const xml = encodePeekMessages([{ ...MESSAGE, text }])
      const sent = /<MessageText.*<\/MessageText>|<MessageText \/>/s.exec(xml)?.[0] ?? ''
      const read = decodeMessageText(Buffer.from(`<QueueMessage>${sent}</QueueMessage>`))
      assert.equal(Buffer.from(read).toString(), text.toString())
    }),
  )
})

test('a text without escapes is decoded as the XML parser would decode it', () => {
  const characters = fc.constantFrom(
    '\t',
    '\n',
    '\r',
    ' ',
    '%',
    '&',
    "'",
    ';',
    '<',
    '=',
    '>',
    '?',
    ']',
    '~',
    'a',
    'é',
  )
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 12 }), (text) => {
      const inside = `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
      // A space between the elements is not part of the text, but it forces the XML parser.
      const [plain, other] = [inside, inside.replace('><MessageText', '> <MessageText')].map(
        (xml) => outcome(() => decodeMessageText(Buffer.from(xml)).toString()),
      )
      assert.equal(plain, other)
    }),
  )
})

function outcome(read: () => string): string {
  try {
    return read()
  } catch (error) {
    return String(error)
  }
}
