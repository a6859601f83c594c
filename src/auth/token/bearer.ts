// Bearer tokens of Microsoft Entra ID. 'basic' checks the claims of a token (lifetime, issuer, audience), which is
// enough for development and works offline. With an issuer or a key set it also checks the signature. It does not
// check role assignments: a valid token may do everything that tokens may do.
import {
  authenticationFailed,
  ChallengeError,
  CHALLENGE_DEFAULT,
  hasChallenge,
} from '../failure.ts'
import type { BearerIdentity, Claims } from '../identity.ts'
import type { AuthRequest } from '../request.ts'
import { isLoopbackAddress } from '../remote-address.ts'
import { setBounded } from '../../memory/memoize.ts'
import { EXPIRED, NOT_YET_VALID, SKEW_MS_MAX, tokenReader, type TokenReader } from './token.ts'

export type BearerOptions = {
  readonly mode: 'basic'
  /** The only issuer to accept. Its keys are found by OpenID discovery unless `jwks` is given. */
  readonly issuer?: string
  /** A JSON Web Key Set: the path of a file, or a URL. */
  readonly jwks?: string
  /** Further audiences, besides Azure's and the account's hosts. */
  readonly audiences?: readonly string[]
  /** Whether to accept tokens over plain HTTP from this machine; true by default. */
  readonly httpFromLoopback?: boolean
  /** Where the challenge sends clients for a token. */
  readonly authorizationUri?: string
}

export interface BearerValidator {
  /** The WWW-Authenticate value for requests without a valid token. */
  readonly challenge: string
  validate(
    request: AuthRequest,
    token: string,
    wallNowMs: number,
  ): BearerIdentity | Promise<BearerIdentity>
}

const OLDEST_VERSION = '2017-11-09'
const TOKEN_COUNT_MAX = 1000

const ISSUERS = [
  'https://sts.windows.net/',
  'https://sts.windows-ppe.net/',
  'https://sts.microsoftonline.de/',
  'https://sts.chinacloudapi.cn/',
  'https://login.microsoftonline.com/',
  'https://login.microsoftonline.us/',
  'https://login.partner.microsoftonline.cn/',
]
/** https://storage.azure.com and the application id behind it. */
const AUDIENCES = ['https://storage.azure.com', 'e406a681-f3d4-42a8-90b6-c2b029497af1']

export function createBearerValidator(options: BearerOptions): BearerValidator {
  const challenge = challengeOf(options)
  const read = cachedReader(tokenReader(options))
  return {
    challenge,
    validate(request, token, wallNowMs) {
      checkTransport(request, options.httpFromLoopback ?? true)
      const refuse = (detail: string) => refusal(request, challenge, detail)
      const accept = (claims: Claims | string): BearerIdentity => {
        if (typeof claims === 'string') throw refuse(claims)
        const problem = problemOf(claims, options, request, wallNowMs)
        if (problem !== undefined) throw refuse(problem)
        return { kind: 'bearer', claims }
      }
      const claims = read(token, wallNowMs)
      return claims instanceof Promise ? claims.then(accept) : accept(claims)
    },
  }
}

/** What is wrong with the token, in the service's words. */
function problemOf(
  claims: Claims,
  options: BearerOptions,
  request: AuthRequest,
  wallNowMs: number,
): string | undefined {
  const { nbf, exp, iss, aud } = claims
  if (typeof exp !== 'number' || wallNowMs >= exp * 1000 + SKEW_MS_MAX) {
    return EXPIRED
  }
  if (typeof nbf === 'number' && wallNowMs < nbf * 1000 - SKEW_MS_MAX) {
    return NOT_YET_VALID
  }
  if (typeof iss !== 'string' || !isIssuer(iss, options.issuer)) {
    return 'Issuer validation failed. Issuer did not match.'
  }
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.some((audience) => isAudience(audience, options, request))) {
    return 'Audience validation failed. Audience did not match.'
  }
  return undefined
}

function isIssuer(issuer: string, expected: string | undefined): boolean {
  if (expected === undefined) return ISSUERS.some((prefix) => issuer.startsWith(prefix))
  return withoutSlash(issuer) === withoutSlash(expected)
}

/** Azure's audience, or the account's own host at this service, in any cloud. */
function isAudience(audience: unknown, options: BearerOptions, request: AuthRequest): boolean {
  if (typeof audience !== 'string') return false
  const name = withoutSlash(audience)
  if (AUDIENCES.includes(name)) return true
  if (options.audiences?.some((other) => withoutSlash(other) === name)) return true
  const host = /^https?:\/\/([^/]+)$/.exec(name)?.[1]
  const endpoints = request.service === 'blob' ? ['blob', 'dfs'] : [request.service]
  return endpoints.some((endpoint) => host?.startsWith(`${request.account}.${endpoint}.`))
}

function withoutSlash(text: string): string {
  return text.endsWith('/') ? text.slice(0, -1) : text
}

function challengeOf({ authorizationUri, issuer }: BearerOptions): string {
  const uri = authorizationUri ?? (issuer && `${withoutSlash(issuer)}/oauth2/authorize`)
  if (uri === undefined) return CHALLENGE_DEFAULT
  return `Bearer authorization_uri=${uri} resource_id=https://storage.azure.com`
}

function refusal(request: AuthRequest, challenge: string, detail: string): Error {
  return hasChallenge(request)
    ? new ChallengeError('InvalidAuthenticationInfo', challenge, detail)
    : authenticationFailed(detail)
}

/** Anyone on the way can steal a token sent over plain HTTP, except on the loopback interface. */
function checkTransport(request: AuthRequest, httpFromLoopback: boolean): void {
  if (request.version < OLDEST_VERSION) {
    throw authenticationFailed('Authentication scheme Bearer is not supported in this version.')
  }
  if (request.secure || (httpFromLoopback && isLoopbackAddress(request.remoteAddress))) return
  throw authenticationFailed('Authentication scheme Bearer is not allowed with HTTP.')
}

/** Clients use one token for an hour: its signature is checked once, its lifetime every time. */
function cachedReader(read: TokenReader): TokenReader {
  const cache = new Map<string, Claims>()
  const addToCache = (token: string, claims: Claims | string) => {
    if (typeof claims !== 'string') setBounded(cache, token, claims, TOKEN_COUNT_MAX)
    return claims
  }
  return (token, wallNowMs) => {
    const claims = cache.get(token) ?? read(token, wallNowMs)
    if (claims instanceof Promise) return claims.then((later) => addToCache(token, later))
    return addToCache(token, claims)
  }
}
