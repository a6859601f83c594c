import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowDerived } from '../../kv/derived.ts'
import { CLOSE, keepAliveEnding, reasonOf, responseHead } from './response-head.ts'

const NOW_MS = Date.UTC(1994, 10, 6, 8, 49, 37, 500)

test('a head has a status line, headers, Date and Connection', () => {
  assert.equal(
    responseHead(
      201,
      [
        ['ETag', '"0x8D"'],
        ['x-ms-meta-Ä', '\xe4\tb'],
      ],
      CLOSE,
      NOW_MS,
    ),
    'HTTP/1.1 201 Created\r\nETag: "0x8D"\r\nx-ms-meta-Ä: \xe4\tb\r\n' +
      'Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n',
  )
})

test('the lines of a shared list are encoded once', () => {
  const shared = ['x-b', '\xe4', 'x-c', '']
  allowDerived(shared)
  const lists = [['x-a', '1'], shared]
  const head = responseHead(200, lists, CLOSE, NOW_MS)
  assert.match(head, /^HTTP\/1.1 200 OK\r\nx-a: 1\r\nx-b: \xe4\r\nx-c: \r\nDate: /)
  assert.equal(responseHead(200, lists, CLOSE, NOW_MS), head)
})

test('Keep-Alive has the timeout in seconds', () => {
  assert.equal(keepAliveEnding(7_900), 'Connection: keep-alive\r\nKeep-Alive: timeout=7\r\n')
})

for (const value of ['a\r\nb: c', 'a\nb', '\0', '\x7f', '\u010a', '漢']) {
  test(`${JSON.stringify(value)} is never sent as a header value`, () => {
    assert.throws(() => responseHead(200, [['x-a', value]], CLOSE, NOW_MS), /x-a/)
  })
}

test('a status without a reason phrase is Unknown', () => assert.equal(reasonOf(512), 'Unknown'))
