// The text of a message is returned unchanged: Base64 or plain, markup, every character that XML can contain, up to
// 64 KiB. Also invalid bodies.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome, xmlText } from '../harness.ts'
import {
  send,
  get,
  createQueue,
  messagePath,
  messageXml,
  put,
  startQueueFixture,
} from './fixture.ts'

const server = await startQueueFixture()
await createQueue(server, 'texts')
const queue = server.client.getQueueClient('texts')

const TEXTS: Readonly<Record<string, string>> = {
  'an empty text': '',
  'Base64': Buffer.from('hello \u0000 world').toString('base64'),
  'invalid Base64': 'aGVsbG8===',
  'markup': '<a href="x">&amp; &lt; ]]> \'"</a>',
  'JSON': JSON.stringify({ a: ['"', '\\', '\n', '\u00e9'] }),
  'white space at both ends': '  \t\n text \n ',
  'control characters that XML permits': '\u0085\u009f\u007f',
  'characters of four bytes': '\u{1f600}\u{10ffff}漢字',
  '64 KiB': 'x'.repeat(65_536),
  '64 KiB, partly escaped': '<'.repeat(20_000) + 'é'.repeat(22_768),
} // prettier-ignore

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name} is returned as it was put and updated`, async () => {
    const { messageId, popReceipt } = await queue.sendMessage(text)
    const { peekedMessageItems: peeked } = await queue.peekMessages()
    const shorter = [...text].slice(1).join('')
    await queue.updateMessage(messageId, popReceipt, shorter, 0)
    const { receivedMessageItems: got } = await queue.receiveMessages()
    await queue.deleteMessage(messageId, got[0]?.popReceipt ?? '')
    // `equal` would print 64 KiB.
    assert(peeked[0]?.messageText === text)
    assert(got[0]?.messageText === shorter)
  })
}

test('a carriage return written as a character reference is returned as one', async () => {
  await put(server, 'texts', 'a&#xD;\nb&#13;c')
  const [message] = await get(server, 'texts')
  assert.equal(message?.text, 'a&#xD;\nb&#xD;c')
})

describe('too long', () => {
  const refusal = async (body: string) => {
    const answer = await send(server, { method: 'POST', path: '/texts/messages', body })
    return [outcome(answer), xmlText(answer.text, 'MaxLimit')]
  }

  test('is a text of more than 64 KiB as UTF-8', async () => {
    for (const text of ['x'.repeat(65_537), 'é'.repeat(32_769)]) {
      assert.deepEqual(await refusal(messageXml(text)), ['413 RequestBodyTooLarge', '65536'])
    }
  })

  test('is a body of more than twice that', async () => {
    const long = messageXml('&lt;'.repeat(33_000))
    assert.deepEqual(await refusal(long), ['413 RequestBodyTooLarge', '131584'])
  })

  test('can be the text of an update too, which then changes nothing', async () => {
    const { id, receipt } = await put(server, 'texts', 'kept')
    const path = messagePath('texts', id, receipt, '&visibilitytimeout=0')
    const body = messageXml('x'.repeat(65_537))
    const answer = await send(server, { method: 'PUT', path, body })
    assert.equal(outcome(answer), '413 RequestBodyTooLarge')
    assert.equal((await queue.peekMessages()).peekedMessageItems[0]?.messageText, 'kept')
    await queue.deleteMessage(id, receipt)
  })
})

describe('an invalid message:', () => {
  const BODIES: Readonly<Record<string, string>> = {
    'nothing': '',
    'a body that is not XML': 'hello',
    'incomplete XML': '<QueueMessage><MessageText>x</MessageText>',
    'another root': '<Message><MessageText>x</MessageText></Message>',
    'no text': '<QueueMessage />',
    'two texts': '<QueueMessage><MessageText>x</MessageText><MessageText>y</MessageText></QueueMessage>',
    'unescaped markup': messageXml('a<b>c</b>'),
    'an unescaped ampersand': messageXml('a & b'),
    'a character that XML does not permit': messageXml('a\u0001'),
    'a reference to such a character': messageXml('&#x0;'),
    'U+FFFF': messageXml('\uffff'),
    'a custom entity': '<!DOCTYPE x [<!ENTITY e "x">]><QueueMessage><MessageText>&e;</MessageText></QueueMessage>',
  } // prettier-ignore
  for (const [name, body] of Object.entries(BODIES)) {
    test(`${name} → 400 InvalidXmlDocument`, async () => {
      const answer = await send(server, { method: 'POST', path: '/texts/messages', body })
      assert.equal(outcome(answer), '400 InvalidXmlDocument')
    })
  }
})

test('CDATA and a byte order mark are accepted', async () => {
  const body = `\ufeff<?xml version="1.0" encoding="utf-8"?>${messageXml('<![CDATA[<b>&]]>')}`
  const answer = await send(server, { method: 'POST', path: '/texts/messages', body })
  assert.equal(answer.status, 201)
  const { receivedMessageItems: got } = await queue.receiveMessages()
  assert.equal(got[0]?.messageText, '<b>&')
})
