// Writes an answer. Small bodies go out with their head in one piece; streams as fast as the client takes
// them, and are let go of when the client does.
import { setImmediate } from 'node:timers/promises'
import type { Exchange } from '../protocol/exchange.ts'
import type { Answer } from './operation.ts'

/** The bytes of the body that were handed to the connection. `common` are headers that every answer has. */
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
  // Who does not know chunks sees the end of the body by that of the connection (RFC 9112, 6.3).
  const mayChunks = exchange.head.httpVersion !== '1.0'
  if (mayChunks) common.push('Transfer-Encoding', 'chunked')
  exchange.begin(status, [common, headers], { isLast: !mayChunks })
  return sendStream(exchange, mayChunks ? inChunks(stream()) : stream(), undefined)
}

/** A body of unknown length (RFC 9112, 7.1): without the last chunk a client knows that it is not whole. */
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

/** A few milliseconds of chunks, short or long. */
const GIVE_WAY_CHUNKS = 32

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
      // Chunks that are at hand, to a client that takes them at once, would leave nobody else a turn.
      if (chunkCount % GIVE_WAY_CHUNKS === 0) await setImmediate()
    }
    exchange.end()
  } catch (error) {
    // Nobody is left to miss the rest.
    if (exchange.gone) return sentBytes
    // The head is out: all that is left is to let the client see that the body is not whole.
    exchange.drop()
    throw error
  }
  return sentBytes
}
