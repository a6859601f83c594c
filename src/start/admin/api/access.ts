// Who may use the API. It reads and changes data, and reveals it, so it is open only to programs on this machine, and only where
// the key is known to everybody; otherwise it needs a token. From elsewhere control has to be switched on, too. Web pages of
// other origins may use nothing.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Exchange } from '../../../http/protocol/exchange.ts'
import { ApiError } from './route.ts'

export type AccessSettings = {
  /** undefined: on if only this machine can reach the port. */
  readonly control: boolean | undefined
  /** Asked for on every address if it is set, otherwise only where other machines can reach the port. */
  readonly token: string | undefined
  /** The accounts have keys of their own: whoever is on this machine may not have them. */
  readonly guardsKeys?: boolean
  /** Made for this run; only asked for where other machines can reach the port, or keys are guarded. */
  readonly generatedToken: string | undefined
}

type Asking = Pick<Exchange, 'head' | 'onLoopback'>

/** Returns whether the client has shown a token. */
export function checkAccess(
  { control, token: given, guardsKeys = false, generatedToken }: AccessSettings,
  { head: { headers }, onLoopback }: Asking,
  isChange: boolean,
): boolean {
  const { origin, host } = headers
  const isForeign = origin !== undefined && origin !== `http://${host}`
  if (isForeign || !OWN_SITES.has(headers['sec-fetch-site']))
    throw new ApiError(403, 'web pages of another origin may not use this API')
  const isOpen = onLoopback && !guardsKeys
  const token = given ?? (isOpen ? undefined : generatedToken)
  if (token === undefined && !onLoopback) {
    throw new ApiError(
      403,
      'other machines can reach this port, so this needs a token: start the server with --controlToken',
    )
  }
  if (token !== undefined) checkToken(token, headers.authorization)
  if (isChange && !(control ?? onLoopback))
    throw new ApiError(403, 'control is off: start the server with --control')
  return token !== undefined
}

/** What browsers say of a request of our own pages, or of one that a person typed. Other programs say nothing. */
const OWN_SITES: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none'])

const CHALLENGE = ['WWW-Authenticate', 'Bearer realm="lazuli"']

function checkToken(token: string, authorization: string | undefined): void {
  const sent = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (sent === undefined)
    throw new ApiError(401, 'this needs the header Authorization: Bearer TOKEN', CHALLENGE)
  // Hashes have the same length, whatever was sent.
  if (!timingSafeEqual(hashOf(sent), hashOf(token)))
    throw new ApiError(401, 'the token is not that of this server', CHALLENGE)
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
