// Reads the claims of a JSON Web Token and verifies its signature if there are keys. jose does the cryptography.
import { readFileSync } from 'node:fs'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  errors,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose'
import { StorageError } from '../../storage/shared/error.ts'
import type { Claims } from '../identity.ts'

/** The claims of a token, or what is wrong with it. */
export type TokenReader = (
  token: string,
  wallNowMs: number,
) => Claims | string | Promise<Claims | string>

export const EXPIRED = 'Lifetime validation failed. The token is expired.'
export const NOT_YET_VALID = 'Lifetime validation failed. The token is not yet valid.'

/** The clock skew that Microsoft's own libraries allow. */
export const SKEW_MS_MAX = 5 * 60 * 1000

const MALFORMED = 'Token validation failed. The token is not well formed.'
const DISCOVERY_MS_MAX = 5000

export function tokenReader(options: {
  readonly issuer?: string
  readonly jwks?: string
}): TokenReader {
  const { issuer, jwks } = options
  if (jwks !== undefined) return verifyingReader(keySetOf(jwks))
  return issuer === undefined ? decodeToken : verifyingReader(discoveredKeys(issuer))
}

function decodeToken(token: string): Claims | string {
  try {
    return decodeJwt(token)
  } catch (error) {
    if (error instanceof errors.JWTInvalid) return MALFORMED
    throw error
  }
}

function verifyingReader(keys: JWTVerifyGetKey): TokenReader {
  return async (token, wallNowMs) => {
    const options = { currentDate: new Date(wallNowMs), clockTolerance: SKEW_MS_MAX / 1000 }
    try {
      return (await jwtVerify(token, keys, options)).payload
    } catch (error) {
      return problemOf(error)
    }
  }
}

/** A failure to load the keys is the server's fault, not the token's. */
function problemOf(error: unknown): string {
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return MALFORMED
  if (error instanceof errors.JWTExpired) return EXPIRED
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' ? NOT_YET_VALID : EXPIRED
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'Signature validation failed. No key matches the token.'
  }
  if (error instanceof errors.JWKSTimeout) throw new StorageError('OperationTimedOut')
  if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)) {
    return 'Signature validation failed. The signature did not match.'
  }
  throw error
}

function keySetOf(location: string): JWTVerifyGetKey {
  if (/^https?:\/\//.test(location)) return createRemoteJWKSet(new URL(location))
  return createLocalJWKSet(JSON.parse(readFileSync(location, 'utf8')))
}

/** OpenID Connect Discovery, done once for the first token and again after a failure. */
function discoveredKeys(issuer: string): JWTVerifyGetKey {
  let found: Promise<JWTVerifyGetKey> | undefined
  return async (header, token) => {
    found ??= discover(issuer)
    try {
      return await (
        await found
      )(header, token)
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) found = undefined
      throw error
    }
  }
}

async function discover(issuer: string): Promise<JWTVerifyGetKey> {
  const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer
  const signal = AbortSignal.timeout(DISCOVERY_MS_MAX)
  const answer = await fetch(`${base}/.well-known/openid-configuration`, { signal })
  const configuration: unknown = await answer.json()
  const location = Object(configuration).jwks_uri
  if (typeof location !== 'string') throw new Error(`No jwks_uri at the issuer ${issuer}`)
  return createRemoteJWKSet(new URL(location))
}
