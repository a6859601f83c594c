// Another web server as the source of copies. The test sets the response for each path and can pause a response in the
// middle of its body; all requests are recorded.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type SourceServer = {
  readonly origin: string
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** Sets the response for a path. */
  answer(path: string, respond: Respond): void
  close(): Promise<void>
}

export type Respond = (res: ServerResponse, headers: IncomingHttpHeaders) => void

export async function startSourceServer(): Promise<SourceServer> {
  const answers = new Map<string, Respond>()
  const requests: { path: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((req, res) => {
    const path = req.url ?? ''
    requests.push({ path, headers: req.headers })
    const respond = answers.get(path)
    if (respond !== undefined) return respond(res, req.headers)
    res.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (path, respond) => answers.set(path, respond),
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Polls until the destination of a copy has this state; the test runner ends a copy that hangs. */
export async function untilCopy<Properties>(
  destination: { getProperties(): Promise<Properties> },
  isReached: (properties: Properties) => boolean,
): Promise<Properties> {
  for (;;) {
    const properties = await destination.getProperties()
    if (isReached(properties)) return properties
  }
}

/** Waits for the end of a copy, successful or not. */
export function untilCopied<Properties extends { readonly copyStatus?: string }>(destination: {
  getProperties(): Promise<Properties>
}): Promise<Properties> {
  return untilCopy(destination, ({ copyStatus }) => copyStatus !== 'pending')
}

const MODIFIED = 'Thu, 01 Jan 2026 00:00:00 GMT'

/** The status that a web server answers if a condition is not met. */
function unmetStatus(sent: IncomingHttpHeaders, etag: string): 304 | 412 | undefined {
  const since = sent['if-modified-since']
  const unmodified = sent['if-unmodified-since']
  if (sent['if-match'] !== undefined && sent['if-match'] !== etag) return 412
  if (unmodified !== undefined && Date.parse(MODIFIED) > Date.parse(unmodified)) return 412
  return since !== undefined && Date.parse(MODIFIED) <= Date.parse(since) ? 304 : undefined
}

/** Serves a file as web servers do, with an ETag, conditions and ranges. */
export function file(bytes: Buffer, headers: Readonly<Record<string, string>> = {}): Respond {
  return (res, sent) => {
    const etag = headers['etag'] ?? '"1"'
    const all = { etag, 'accept-ranges': 'bytes', 'content-type': 'text/plain', ...headers }
    const unmet = unmetStatus(sent, etag)
    if (unmet !== undefined) {
      res.writeHead(unmet).end()
      return
    }
    const from = Number(/^bytes=(\d+)-/.exec(sent.range ?? '')?.[1] ?? -1)
    if (from < 0) {
      res.writeHead(200, { ...all, 'content-length': bytes.length }).end(bytes)
      return
    }
    const end = /-(\d+)$/.exec(sent.range ?? '')?.[1]
    const part = bytes.subarray(from, end === undefined ? undefined : Number(end) + 1)
    const range = `bytes ${from}-${from + part.length - 1}/${bytes.length}`
    const partHeaders = { 'content-range': range, 'content-length': part.length }
    res.writeHead(206, { ...all, ...partHeaders }).end(part)
  }
}

/** Holds back the rest of a response until it is opened. */
export type Gate = { readonly opened: Promise<void>; open(): void }

export function gate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Sends the first `firstBytes` at once and the rest when the gate is opened. */
export function heldFile(
  bytes: Buffer,
  firstBytes: number,
  { opened }: Gate,
  headers: Readonly<Record<string, string>> = {},
): Respond {
  return (res) => {
    const all = { etag: '"1"', 'accept-ranges': 'bytes', ...headers }
    res.writeHead(200, { ...all, 'content-length': bytes.length })
    res.write(bytes.subarray(0, firstBytes))
    void opened.then(() => res.end(bytes.subarray(firstBytes)))
  }
}
