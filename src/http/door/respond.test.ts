// How an answer ends: by its length, by its last chunk, or with its connection.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Exchange } from '../protocol/exchange.ts'
import { respond } from './respond.ts'

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half')
  throw new Error('the disk is gone')
}

/** Sends a streamed answer and returns what the client sees. */
async function sendAnswer(
  httpVersion: '1.0' | '1.1',
  headers: readonly string[],
  stream: () => AsyncIterable<Uint8Array>,
) {
  const seen = { headers: [] as string[], isLast: false, body: '', end: 'none' }
  const exchange = {
    head: { method: 'GET', httpVersion },
    gone: false,
    begin(_: number, lists: readonly (readonly string[])[], ending?: { isLast: boolean }) {
      seen.headers = lists.flat()
      seen.isLast = ending?.isLast === true
    },
    write(bytes: Uint8Array) {
      seen.body += Buffer.from(bytes).toString()
      return true
    },
    end: () => void (seen.end = 'end'),
    drop: () => void (seen.end = 'dropped'),
  } as unknown as Exchange
  const failure = await Promise.resolve(
    respond(exchange, { status: 200, headers, stream }, []),
  ).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { ...seen, failed: failure !== undefined }
}

describe('a streamed answer', () => {
  test('with a length is sent unchanged', async () => {
    const length = ['Content-Length', '6']
    for (const version of ['1.0', '1.1'] as const) {
      assert.deepEqual(await sendAnswer(version, length, () => parts('one', 'two')), {
        headers: length,
        isLast: false,
        body: 'onetwo',
        end: 'end',
        failed: false,
      })
    }
  })

  test('without a length is sent chunked, and the connection stays open', async () => {
    const long = 'x'.repeat(17)
    assert.deepEqual(await sendAnswer('1.1', [], () => parts('one', '', long)), {
      headers: ['Transfer-Encoding', 'chunked'],
      isLast: false,
      body: `3\r\none\r\n11\r\n${long}\r\n0\r\n\r\n`,
      end: 'end',
      failed: false,
    })
  })

  test('without a length, to an HTTP/1.0 client, ends with its connection', async () => {
    assert.deepEqual(await sendAnswer('1.0', [], () => parts('one', 'two')), {
      headers: [],
      isLast: true,
      body: 'onetwo',
      end: 'end',
      failed: false,
    })
  })

  test('that fails midway has no last chunk', async () => {
    const { body, end, failed } = await sendAnswer('1.1', [], broken)
    assert.deepEqual([body, end, failed], ['4\r\nhalf\r\n', 'dropped', true])
  })
})
