// Who sent a request. What counts as one client is a setting, because programs differ: two clients of one process may share
// connections, and one client may use several.
import type { IncomingHttpHeaders } from 'node:http'

/**
 * - name: the header x-lazuli-client.
 * - requestId: the part of x-ms-client-request-id before its first colon.
 * - userAgent: User-Agent and address.
 * - connection: the connection, or the SMB session.
 */
export const CLIENT_SOURCES = ['name', 'requestId', 'userAgent', 'connection'] as const

export type ClientSource = (typeof CLIENT_SOURCES)[number]

/** The first of these that a request has names its client; the others follow it if they are all there is. */
export const CLIENT_BY: readonly ClientSource[] = ['name', 'requestId', 'connection']

export type Sender = {
  readonly headers: IncomingHttpHeaders
  readonly address: string
  /** A number of its own for each connection. */
  readonly connection: number
}

export function clientName(sender: Sender, by: readonly ClientSource[]): string {
  for (const source of by) {
    const name = NAMES[source](sender)
    if (name !== undefined) return name
  }
  return NAMES.connection(sender)
}

const NAMES = {
  name: ({ headers }: Sender) => textOf(headers['x-lazuli-client']),
  requestId({ headers }: Sender) {
    const id = textOf(headers['x-ms-client-request-id']) ?? ''
    const end = id.indexOf(':')
    return end > 0 ? id.slice(0, end) : undefined
  },
  userAgent({ headers, address }: Sender) {
    const agent = textOf(headers['user-agent'])
    return agent === undefined ? undefined : `${agent} at ${address}`
  },
  connection: ({ address, connection }: Sender): string => `${address} #${connection}`,
} as const satisfies Record<ClientSource, (sender: Sender) => string | undefined>

function textOf(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value : value?.[0]
  return text === '' ? undefined : text
}
