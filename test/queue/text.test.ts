// The text of a message, untouched from put to get: Base64 or plain, markup, every character that XML can
// hold, up to 64 KiB; and bodies that are no message.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { QueueClient } from '@azure/storage-queue'
import { outcome, xmlText } from '../harness.ts'
import {
  ask,
  get,
  makeQueue,
  messagePath,
  messageXml,
  put,
  startQueueServer,
  type QueueServer,
} from './queue-server.ts'

let server: QueueServer
let queue: QueueClient

before(async () => {
  server = await startQueueServer()
  await makeQueue(server, 'texts')
  queue = server.client.getQueueClient('texts')
})

after(() => server.close())

const TEXTS: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'Base64': Buffer.from('hello \u0000 world').toString('base64'),
  'Base64 that is broken': 'aGVsbG8===',
  'markup': '<a href="x">&amp; &lt; ]]> \'"</a>',
  'JSON': JSON.stringify({ a: ['"', '\\', '\n', '\u00e9'] }),
  'white space at both ends': '  \t\n text \n ',
  'controls that XML holds': '\u0085\u009f\u007f',
  'characters of four bytes': '\u{1f600}\u{10ffff}漢字',
  '64 KiB': 'x'.repeat(65_536),
  '64 KiB, each of them escaped in part': '<'.repeat(20_000) + 'é'.repeat(22_768),
} // prettier-ignore

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name} comes back as it was put and updated`, async () => {
    const { messageId, popReceipt } = await queue.sendMessage(text)
    const { peekedMessageItems: peeked } = await queue.peekMessages()
    const shorter = [...text].slice(1).join('')
    await queue.updateMessage(messageId, popReceipt, shorter, 0)
    const { receivedMessageItems: got } = await queue.receiveMessages()
    await queue.deleteMessage(messageId, got[0]?.popReceipt ?? '')
    // Not `equal`, which would print 64 KiB.
    assert(peeked[0]?.messageText === text)
    assert(got[0]?.messageText === shorter)
  })
}

test('a carriage return that was written as a reference comes back as one', async () => {
  await put(server, 'texts', 'a&#xD;\nb&#13;c')
  const [message] = await get(server, 'texts')
  assert.equal(message?.text, 'a&#xD;\nb&#xD;c')
})

describe('too long', () => {
  const refusal = async (body: string) => {
    const answer = await ask(server, { method: 'POST', path: '/texts/messages', body })
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

  test('is the text of an update as well, which then changes nothing', async () => {
    const { id, receipt } = await put(server, 'texts', 'kept')
    const path = messagePath('texts', id, receipt, '&visibilitytimeout=0')
    const body = messageXml('x'.repeat(65_537))
    const answer = await ask(server, { method: 'PUT', path, body })
    assert.equal(outcome(answer), '413 RequestBodyTooLarge')
    assert.equal((await queue.peekMessages()).peekedMessageItems[0]?.messageText, 'kept')
    await queue.deleteMessage(id, receipt)
  })
})

describe('is no message', () => {
  const BODIES: Readonly<Record<string, string>> = {
    'nothing': '',
    'no XML': 'hello',
    'XML that ends too early': '<QueueMessage><MessageText>x</MessageText>',
    'another root': '<Message><MessageText>x</MessageText></Message>',
    'no text': '<QueueMessage />',
    'two texts': '<QueueMessage><MessageText>x</MessageText><MessageText>y</MessageText></QueueMessage>',
    'markup that is not escaped': messageXml('a<b>c</b>'),
    'an ampersand that is not escaped': messageXml('a & b'),
    'a character that XML can not hold': messageXml('a\u0001'),
    'a reference to one': messageXml('&#x0;'),
    'U+FFFF': messageXml('\uffff'),
    'an entity of its own': '<!DOCTYPE x [<!ENTITY e "x">]><QueueMessage><MessageText>&e;</MessageText></QueueMessage>',
  } // prettier-ignore
  for (const [name, body] of Object.entries(BODIES)) {
    test(`${name} → 400 InvalidXmlDocument`, async () => {
      const answer = await ask(server, { method: 'POST', path: '/texts/messages', body })
      assert.equal(outcome(answer), '400 InvalidXmlDocument')
    })
  }
})

test('CDATA and a byte order mark are XML too', async () => {
  const body = `\ufeff<?xml version="1.0" encoding="utf-8"?>${messageXml('<![CDATA[<b>&]]>')}`
  const answer = await ask(server, { method: 'POST', path: '/texts/messages', body })
  assert.equal(answer.status, 201)
  const { receivedMessageItems: got } = await queue.receiveMessages()
  assert.equal(got[0]?.messageText, '<b>&')
})
