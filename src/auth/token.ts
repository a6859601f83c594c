// Reads a JSON Web Token: its claims, and its signature where there are keys to check it with. The
// cryptography is jose's.
import { readFileSync } from 'node:fs'
import {
  compactVerify,
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  errors,
  type CompactVerifyGetKey,
} from 'jose'
import { StorageError } from '../storage/error.ts'
import type { Claims } from './identity.ts'

/** The claims of a token, or what is wrong with it. */
export type TokenReader = (token: string) => Claims | string | Promise<Claims | string>

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

function verifyingReader(keys: CompactVerifyGetKey): TokenReader {
  return async (token) => {
    try {
      await compactVerify(token, keys)
    } catch (error) {
      return signatureProblem(error)
    }
    return decodeToken(token)
  }
}

/** Keys that cannot be had are our trouble, not the token's. */
function signatureProblem(error: unknown): string {
  if (error instanceof errors.JWSInvalid) return MALFORMED
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'Signature validation failed. No key matches the token.'
  }
  if (error instanceof errors.JWKSTimeout) throw new StorageError('OperationTimedOut')
  if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)) {
    return 'Signature validation failed. The signature did not match.'
  }
  throw error
}

function keySetOf(location: string): CompactVerifyGetKey {
  if (/^https?:\/\//.test(location)) return createRemoteJWKSet(new URL(location))
  return createLocalJWKSet(JSON.parse(readFileSync(location, 'utf8')))
}

/** OpenID Connect Discovery: asked once, at the first token; asked again if it failed. */
function discoveredKeys(issuer: string): CompactVerifyGetKey {
  let found: Promise<CompactVerifyGetKey> | undefined
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

async function discover(issuer: string): Promise<CompactVerifyGetKey> {
  const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer
  const signal = AbortSignal.timeout(DISCOVERY_MS_MAX)
  const answer = await fetch(`${base}/.well-known/openid-configuration`, { signal })
  const configuration: unknown = await answer.json()
  const location = Object(configuration).jwks_uri
  if (typeof location !== 'string') throw new Error(`No jwks_uri at the issuer ${issuer}`)
  return createRemoteJWKSet(new URL(location))
}
