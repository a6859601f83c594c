// What faults do to the bytes of a request: slow bodies, and answers that are cut off or lost.
import type { Harm } from '../../control/point.ts'
import type { Body } from '../protocol/body.ts'
import type { Exchange } from '../protocol/exchange.ts'
import type { Answer, Request } from './operation.ts'

export function withSlowBody(request: Request, { pace }: Harm): Request {
  if (pace === undefined) return request
  const { body } = request
  const slow: Body = {
    lengthBytes: body.lengthBytes,
    read: async (bytesMax) => {
      const bytes = await body.read(bytesMax)
      await pace.take(bytes.length)
      return bytes
    },
    stream: () => slowed(body.stream(), pace),
  }
  return { ...request, body: slow }
}

/** undefined: the answer is lost, and so is the connection. */
export function harmedAnswer(exchange: Exchange, answer: Answer, harm: Harm): Answer | undefined {
  const { isAnswerLost = false, truncateBytes, pace } = harm
  if (isAnswerLost) {
    exchange.drop()
    return undefined
  }
  const isWhole = truncateBytes === undefined && pace === undefined
  if (isWhole || exchange.head.method === 'HEAD') return answer
  const stream = answer.stream ?? streamOfBody(answer.body)
  if (stream === undefined) return answer
  // Without `recycle`: chunks are cut, so they can't be given back.
  return {
    status: answer.status,
    headers: [...answer.headers, ...lengthHeader(answer)],
    stream: () => harmedStream(exchange, stream(), harm),
    ...(answer.onGone !== undefined && { onGone: answer.onGone }),
  }
}

function streamOfBody(body: Answer['body']): Answer['stream'] {
  if (body === undefined) return undefined
  return () => single(typeof body === 'string' ? Buffer.from(body) : body)
}

/** Content-Length is that of the whole body, so the client notices that some of it is missing. */
function lengthHeader({ headers, body }: Answer): readonly string[] {
  if (body === undefined || headers.includes('Content-Length')) return []
  return [
    'Content-Length',
    String(typeof body === 'string' ? Buffer.byteLength(body) : body.length),
  ]
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function harmedStream(
  exchange: Exchange,
  body: AsyncIterable<Uint8Array>,
  { truncateBytes, pace }: Harm,
): AsyncIterable<Uint8Array> {
  const paced = pace === undefined ? body : slowed(body, pace)
  return truncateBytes === undefined ? paced : truncated(exchange, paced, truncateBytes)
}

async function* slowed(
  body: AsyncIterable<Uint8Array>,
  pace: NonNullable<Harm['pace']>,
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    for (let at = 0; at < bytes.length; at += pace.sliceBytes) {
      const slice = bytes.subarray(at, at + pace.sliceBytes)
      await pace.take(slice.length)
      yield slice
    }
  }
}

/** A body that is no longer than this arrives whole. */
async function* truncated(
  exchange: Exchange,
  body: AsyncIterable<Uint8Array>,
  lengthBytes: number,
): AsyncGenerator<Uint8Array> {
  let left = lengthBytes
  for await (const bytes of body) {
    if (bytes.length <= left) {
      left -= bytes.length
      yield bytes
      continue
    }
    yield bytes.subarray(0, left)
    // The bytes so far are on their way before the connection ends.
    await new Promise<void>((resolve) => exchange.write(NOTHING, resolve))
    exchange.drop()
    return
  }
}

const NOTHING = new Uint8Array(0)
