// Copies from files to blobs. Only the home of the files may read a file: share modes and the caches of SMB clients are
// checked there, in the same transaction that writes the blob. So another node sends such a request to the home whole,
// which authenticates and runs it like any other, for the same client. None of these operations has a body.
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Exchange, RequestHandler } from '../../http/protocol/exchange.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import { nodeHttp } from '../../http/protocol/node-modules.ts'
import type { RequestHead } from '../../http/protocol/request-head.ts'
import type { PeerAddress } from '../../node/cluster-node.ts'
import type { FilesHome } from '../../node/home.ts'
import { openLink } from '../../peer/link.ts'
import type { CopySources } from '../../rest/shared/copy/copy-sources.ts'
import { ownService } from '../../rest/shared/copy/source.ts'
import type { Accounts } from '../../storage/shared/account.ts'

export type ForwardSettings = {
  readonly accounts: Accounts
  readonly tls: ConnectionOptions
  readonly home: FilesHome
  readonly listens: CopySources['listens']
}

/** An error with all its details fits many times over. */
const ANSWER_BYTES_MAX = 256 * 1024
/** They belong to one connection. */
const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'expect', 'upgrade']
const NOT_IN_REQUEST: ReadonlySet<string> = new Set(CONNECTION_HEADERS)
/** Our own connection writes the date. */
const NOT_IN_ANSWER: ReadonlySet<string> = new Set([...CONNECTION_HEADERS, 'date'])

/** A handler that runs every other request itself. */
export function forwardFileCopies(
  handler: RequestHandler,
  settings: ForwardSettings,
): RequestHandler {
  return {
    handle: (exchange) => {
      const place = readsFile(exchange.head, settings) ? settings.home.place() : 'here'
      if (place === undefined || place === 'here') return handler.handle(exchange)
      return forward(handler, settings, place, exchange)
    },
    logFault: handler.logFault,
  }
}

/** Whether the request copies from a file of this cluster. One with a body is not such a copy. */
function readsFile(
  { method, headers, lengthBytes = 0, chunked }: RequestHead,
  { accounts, listens }: ForwardSettings,
): boolean {
  const source = method === 'PUT' ? optionalHeader(headers, 'x-ms-copy-source') : undefined
  if (source === undefined || lengthBytes > 0 || chunked || !URL.canParse(source)) return false
  return ownService(new URL(source), { headers, service: 'blob' }, { listens }, accounts) === 'file'
}

/** Without a connection to the home, the handler itself answers that the files are not here. */
async function forward(
  handler: RequestHandler,
  { tls, home }: ForwardSettings,
  address: PeerAddress,
  exchange: Exchange,
): Promise<void> {
  const link = await open(tls, address, exchange)
  if (link === undefined) return handler.handle(exchange)
  exchange.whenGone(() => link.destroy())
  // A home that vanished without a word would keep its clients waiting.
  const stopListening = home.listen(() => link.destroy())
  try {
    const { message, bytes } = await ask(link, exchange.head)
    const headers = headersWithout(NOT_IN_ANSWER, message.rawHeaders)
    exchange.answer(message.statusCode ?? 500, [headers], bytes)
  } catch {
    // Whether the home has run the request is not known, as after a crash.
    exchange.drop()
  } finally {
    stopListening()
    link.destroy()
  }
}

async function open(
  tls: ConnectionOptions,
  address: PeerAddress,
  { remoteAddress, secure, onLoopback }: Exchange,
): Promise<Socket | undefined> {
  // Neither the client's port nor our own address matters to a request.
  const client = { remoteAddress, remotePort: 0, localAddress: remoteAddress, secure, onLoopback }
  try {
    return await openLink(tls, address, { service: 'blob', client }, new AbortController().signal)
  } catch {
    return undefined
  }
}

type Answer = { readonly message: IncomingMessage; readonly bytes: Buffer | undefined }

function ask(link: Socket, head: RequestHead): Promise<Answer> {
  const { method, target: path, rawHeaders } = head
  const headers = [...headersWithout(NOT_IN_REQUEST, rawHeaders), 'Connection', 'close']
  return new Promise((resolve, reject) => {
    const options = { method, path, headers, createConnection: () => link, setHost: false }
    const req: ClientRequest = nodeHttp().request(options)
    req.on('response', (message) => {
      readBody(message).then((bytes) => resolve({ message, bytes }), reject)
    })
    req.on('error', reject)
    req.on('close', () => reject(new Error('the home closed the connection')))
    req.end()
  })
}

async function readBody(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let lengthBytes = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    lengthBytes += chunk.length
    if (lengthBytes > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return lengthBytes === 0 ? undefined : Buffer.concat(chunks)
}

/** Name, value, name, value … */
function headersWithout(names: ReadonlySet<string>, rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (!names.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}
