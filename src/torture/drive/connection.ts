// Requests of one client over HTTP, signed with Shared Key Lite. A client has connections of its own. It shares no code with the
// server that it checks.
import { createHmac } from 'node:crypto'
import { Agent as HttpAgent, request as httpRequest, type ClientRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Reply, Request, Send, Service } from './kind.ts'
import { smbDoor } from './smb/door.ts'

export type Endpoints = {
  readonly account: string
  /** Of the URL of Data Lake Storage, if it is another one; with the same key. */
  readonly lakeAccount?: string
  readonly key: string
  /** Without a slash at the end. */
  readonly urls: Readonly<Partial<Record<Service, string>>>
}

const VERSION = '2025-11-05'

export type Connection = { readonly send: Send; close(): void }

export function connect(
  { account: plainAccount, lakeAccount = plainAccount, key, urls }: Endpoints,
  client: string,
  timeoutMs: number,
): Connection {
  // prettier-ignore
  const smb = urls.smb === undefined ? undefined : smbDoor({ ...addressOf(urls.smb), login: { user: plainAccount, password: key }, timeoutMs }) // prettier-ignore
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) } // prettier-ignore
  let count = 0
  return {
    send: (request) => {
      const base = urls[request.service]
      if (request.service === 'smb' && smb !== undefined) return smb.send(request)
      if (base === undefined) throw new Error(`there is no URL of the ${request.service} service`)
      const url = new URL(base + request.path)
      const account = request.service === 'dfs' ? lakeAccount : plainAccount
      count += 1
      const headers: Record<string, string> = {
        ...request.headers,
        Host: url.host,
        'x-ms-version': VERSION,
        'x-ms-date': new Date().toUTCString(),
        'x-ms-client-request-id': `${client}:${count}`,
        ...(request.method !== 'GET' && {
          'Content-Length': String(Buffer.byteLength(request.body ?? '')),
        }),
      }
      headers.Authorization = `SharedKeyLite ${account}:${signature({ account, key, url, request, headers })}`
      const isSecure = url.protocol === 'https:'
      const agent = isSecure ? agents.https : agents.http
      const options = { method: request.method, headers, agent, ...loopback(url) }
      const sent = isSecure ? httpsRequest(url, options) : httpRequest(url, options)
      return replyOf(sent, request.body, timeoutMs)
    },
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
      smb?.close()
    },
  }
}

function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port || 445) }
}

/** Names below localhost are this machine (RFC 6761), but not every resolver knows. */
function loopback({ hostname }: URL) {
  if (!hostname.endsWith('.localhost')) return {}
  return { hostname: '127.0.0.1', servername: hostname }
}

type Signed = {
  readonly account: string
  readonly key: string
  readonly url: URL
  readonly request: Request
  readonly headers: Readonly<Record<string, string>>
}

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key */
function signature({ account, key, url, request, headers }: Signed): string {
  const comp = url.searchParams.get('comp')
  const resource = `/${account}${url.pathname}${comp === null ? '' : `?comp=${comp}`}`
  const storage = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => name.startsWith('x-ms-'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value}\n`)
  const type = headers['Content-Type'] ?? ''
  const text =
    request.service === 'table'
      ? `${headers['x-ms-date']}\n${resource}`
      : `${request.method}\n\n${type}\n\n${storage.join('')}${resource}`
  return createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
}

function replyOf(sent: ClientRequest, body: Request['body'], timeoutMs: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => sent.destroy(new Error('TIMEOUT')), timeoutMs)
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    sent.on('error', fail)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(timer)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }) // prettier-ignore
      })
    })
    sent.end(body)
  })
}
