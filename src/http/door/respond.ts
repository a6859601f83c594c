// Writes an answer. A small body is sent together with its head; a stream is sent as fast as the client reads
// and closed when the client disconnects.
import { setImmediate } from 'node:timers/promises'
import type { Exchange } from '../protocol/exchange.ts'
import type { Answer } from './operation.ts'

/** Returns how many bytes of the body went to the connection. `common` are the headers of every answer. */
export function respond(
  exchange: Exchange,
  answer: Answer,
  common: string[],
): number | Promise<number> {
  const { status, headers, stream, recycle, onGone } = answer
  const headOnly = exchange.head.method === 'HEAD'
  if (stream === undefined || headOnly) return respondWhole(exchange, answer, common, headOnly)
  if (onGone !== undefined) exchange.whenGone(onGone)
  if (hasContentLength(headers)) {
    exchange.begin(status, [common, headers])
    return sendStream(exchange, stream(), recycle)
  }
  // HTTP/1.0 has no chunks: the body ends where the connection ends (RFC 9112, 6.3).
  const mayChunk = exchange.head.httpVersion !== '1.0'
  if (mayChunk) common.push('Transfer-Encoding', 'chunked')
  exchange.begin(status, [common, headers], { isLast: !mayChunk })
  return sendStream(exchange, mayChunk ? inChunks(stream()) : stream(), undefined)
}

/** Chunked encoding (RFC 9112, 7.1): if the last chunk is missing, the client knows the body is incomplete. */
async function* inChunks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    if (bytes.length === 0) continue
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1')
    yield Buffer.concat([size, bytes, LINE_END])
  }
  yield LAST_CHUNK
}

const LINE_END = Buffer.from('\r\n', 'latin1')
const LAST_CHUNK = Buffer.from('0\r\n\r\n', 'latin1')

function respondWhole(
  exchange: Exchange,
  { status, headers, body }: Answer,
  common: string[],
  headOnly: boolean,
): number {
  const content = headOnly ? undefined : body
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const lengthBytes = bytes?.length ?? 0
  if (status !== 204 && status !== 304 && !hasContentLength(headers)) {
    common.push('Content-Length', String(lengthBytes))
  }
  exchange.answer(status, [common, headers], bytes)
  return lengthBytes
}

function hasContentLength(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === 'Content-Length') return true
  return false
}

/** A few milliseconds' worth, whatever the length of the chunks. */
const YIELD_CHUNKS = 32

async function sendStream(
  exchange: Exchange,
  body: AsyncIterable<Uint8Array>,
  recycle: Answer['recycle'],
): Promise<number> {
  let sentBytes = 0
  let chunkCount = 0
  try {
    for await (const chunk of body) {
      if (exchange.gone) break
      sentBytes += chunk.length
      if (!exchange.write(chunk, recycle && (() => recycle(chunk)))) await exchange.drained()
      chunkCount += 1
      // Chunks from memory, sent to a fast client, would otherwise block the event loop.
      if (chunkCount % YIELD_CHUNKS === 0) await setImmediate()
    }
    exchange.end()
  } catch (error) {
    if (exchange.gone) return sentBytes
    // The head is already sent: dropping the connection shows the client that the body is incomplete.
    exchange.drop()
    throw error
  }
  return sentBytes
}
