// A request as it was sent, without what would let somebody else send one: signatures, tokens and encryption keys.
import type { Entry } from './entry.ts'

export type SentRequest = {
  readonly method: string
  /** With the query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
}

const REMOVED = '(removed)'

/** undefined: it had no head, as over SMB. */
export function sentOf({ method, target, headers }: Entry): SentRequest | undefined {
  if (method === '') return undefined
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) shown[name] = headerText(name, String(value))
  }
  return { method, target: withoutSignature(target), headers: shown }
}

const SECRET = /^(cookie|proxy-authorization|x-ms-(source-)?encryption-key)$/

function headerText(name: string, value: string): string {
  if (SECRET.test(name)) return REMOVED
  if (name.endsWith('authorization')) return schemeOf(value)
  return withoutSignature(value)
}

/** The scheme, and the account of a Shared Key. */
function schemeOf(value: string): string {
  const [, scheme = '', account = ''] = /^(\w+)(?: ([\w-]+:))?/.exec(value) ?? []
  return [scheme, `${account}${REMOVED}`].join(' ').trim()
}

/** Of a SAS, wherever there may be one: names of fields may be encoded, and in any case. */
function withoutSignature(text: string): string {
  return text.replaceAll(
    /([?&;])([^=&;?\s]+)=([^&;\s"]*)/g,
    (whole, before: string, name: string) =>
      isSignature(name) ? `${before}${name}=${REMOVED}` : whole,
  )
}

function isSignature(name: string): boolean {
  try {
    return decodeURIComponent(name).toLowerCase() === 'sig'
  } catch {
    return false
  }
}
