// Sends one HTTP request of the benchmark itself: to prepare, check or time. Always on a new connection, because a server
// that was paused may have closed the old one.
import { request } from 'node:http'

export type Call = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export type Answer = { readonly status: number; readonly body: Buffer }

const CALL_MS_MAX = 60_000

export function call(url: string, { method = 'GET', headers = {}, body }: Call = {}) {
  return new Promise<Answer>((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const options = { method, agent: false, headers: { ...length, ...headers } }
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }),
      )
    })
    sent.setTimeout(CALL_MS_MAX, () => sent.destroy(new Error(`${method} ${url}: no answer`)))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Like `call`, but anything except 2xx ends the benchmark. */
export async function mustCall(url: string, options: Call = {}): Promise<Buffer> {
  const answer = await call(url, options)
  if (answer.status >= 200 && answer.status < 300) return answer.body
  const what = `${options.method ?? 'GET'} ${url.replace(/\?.*/, '')}`
  throw new Error(`${what}: ${answer.status} ${answer.body.toString().slice(0, 400)}`)
}
