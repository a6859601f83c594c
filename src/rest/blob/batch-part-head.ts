// The head of a part of a batch as the journal keeps it: what the part says of itself, sent by the client of the batch.
import type { Request } from '../../http/door/operation.ts'
import { parseRequestHead } from '../../http/protocol/request-head.ts'

/** undefined: the part has a head that no request could have. */
export function partHeadText(outer: Request, part: Request): string | undefined {
  const { method, rawPath, query, rawHeaders } = part
  const fields = new URLSearchParams([...query]).toString()
  const lines = [`${method} ${rawPath}${fields === '' ? '' : `?${fields}`} HTTP/1.1`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (!NOT_ITS_OWN.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1] ?? ''}`)
  }
  for (const name of SENDER) {
    const value = outer.headers[name]
    const isOwn = part.headers[name] !== undefined && !NOT_ITS_OWN.has(name)
    if (typeof value === 'string' && !isOwn) lines.push(`${name}: ${value}`)
  }
  const text = `${lines.join('\r\n')}\r\n`
  try {
    return parseRequestHead(text).text
  } catch {
    return undefined
  }
}

const NOT_ITS_OWN: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding'])
const SENDER = ['host', 'user-agent', 'x-lazuli-client', 'x-ms-client-request-id'] as const
