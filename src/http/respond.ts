// Writes an answer. Small bodies go out with their head in one piece; streams as fast as the client takes
// them, and are let go of when the client does.
import type { Exchange } from './exchange.ts'
import type { Answer } from './operation.ts'

/** The bytes of the body that were handed to the connection. */
export function respond(
  exchange: Exchange,
  answer: Answer,
  headers: string[],
): number | Promise<number> {
  const { status, body, stream, recycle } = answer
  for (const text of answer.headers) headers.push(text)
  const headOnly = exchange.head.method === 'HEAD'
  if (stream === undefined || headOnly) {
    return respondWhole(exchange, status, headers, headOnly ? undefined : body)
  }
  exchange.begin(status, headers)
  return sendStream(exchange, stream(), recycle)
}

function respondWhole(
  exchange: Exchange,
  status: number,
  headers: string[],
  body: string | Uint8Array | undefined,
): number {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const lengthBytes = bytes?.length ?? 0
  if (status !== 204 && status !== 304 && !hasContentLength(headers)) {
    headers.push('Content-Length', String(lengthBytes))
  }
  exchange.answer(status, headers, bytes)
  return lengthBytes
}

function hasContentLength(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === 'Content-Length') return true
  return false
}

async function sendStream(
  exchange: Exchange,
  body: AsyncIterable<Uint8Array>,
  recycle: Answer['recycle'],
): Promise<number> {
  let sentBytes = 0
  try {
    for await (const chunk of body) {
      if (exchange.gone) break
      sentBytes += chunk.length
      if (!exchange.write(chunk, recycle && (() => recycle(chunk)))) await exchange.drained()
    }
    exchange.end()
  } catch (error) {
    // The head is out: all that is left is to let the client see that the body is not whole.
    exchange.drop()
    throw error
  }
  return sentBytes
}
