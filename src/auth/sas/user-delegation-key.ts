// User delegation keys. The service stores none: the value of a key is an HMAC of its fields with an account key,
// so it can be derived again from the fields in a SAS.
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Account, AccountKey } from '../../storage/shared/account.ts'
import { authenticationFailed } from '../failure.ts'
import type { Claims } from '../identity.ts'
import { formatSasTime } from './sas-time.ts'
import { setBounded } from '../../memory/memoize.ts'
import { sign } from '../signature.ts'

const DAYS_7_MS = 7 * 24 * 60 * 60 * 1000
/** A client whose clock is a little ahead may still ask for seven full days. */
const SKEW_MS_MAX = 5 * 60 * 1000
const DERIVED_COUNT_MAX = 1000

/** Named as in the response of Get User Delegation Key. In a SAS they are the sk… fields. */
export type UserDelegationKeyFields = {
  readonly signedOid: string
  readonly signedTid: string
  readonly signedStart: string
  readonly signedExpiry: string
  /** b, q, t or f. */
  readonly signedService: string
  readonly signedVersion: string
  readonly signedDelegatedUserTid?: string
}

export type UserDelegationKey = UserDelegationKeyFields & { readonly value: string }

export type UserDelegationKeyRequest = {
  readonly claims: Claims
  /** Absent: from now on. */
  readonly startMs?: number | undefined
  readonly expiryMs: number
  readonly service: string
  readonly version: string
  readonly delegatedUserTid?: string | undefined
}

/** Get User Delegation Key, for the caller whose token has the claims. */
export function getUserDelegationKey(
  account: Account,
  request: UserDelegationKeyRequest,
  nowMs: number,
): UserDelegationKey {
  const startMs = request.startMs ?? nowMs
  const { claims, expiryMs, delegatedUserTid } = request
  checkLifetime(startMs, expiryMs, nowMs)
  const fields: UserDelegationKeyFields = {
    signedOid: requiredClaim(claims, 'oid'),
    signedTid: requiredClaim(claims, 'tid'),
    signedStart: formatSasTime(startMs),
    signedExpiry: formatSasTime(expiryMs),
    signedService: request.service,
    signedVersion: request.version,
    ...(delegatedUserTid === undefined ? {} : { signedDelegatedUserTid: delegatedUserTid }),
  }
  const key = account.keys[0]
  if (key === undefined) throw authenticationFailed('The account has no key.')
  return { ...fields, value: keyValue(key, fields) }
}

function checkLifetime(startMs: number, expiryMs: number, nowMs: number): void {
  if (expiryMs <= startMs || expiryMs <= nowMs) {
    throw authenticationFailed(
      'The expiry of a user delegation key must be after its start and now.',
    )
  }
  if (expiryMs - nowMs > DAYS_7_MS + SKEW_MS_MAX) {
    throw authenticationFailed('The expiry of a user delegation key must be within 7 days of now.')
  }
}

function requiredClaim(claims: Claims, name: 'oid' | 'tid'): string {
  const claim = claims[name]
  if (typeof claim !== 'string' || claim === '') {
    throw authenticationFailed(`The token has no claim '${name}'.`)
  }
  return claim
}

function keyValue(key: AccountKey, fields: UserDelegationKeyFields): string {
  return sign(key.secret, fieldsText(fields))
}

/** JSON, so that different fields never give the same text. */
function fieldsText(fields: UserDelegationKeyFields): string {
  return JSON.stringify([
    'user delegation key',
    fields.signedOid,
    fields.signedTid,
    fields.signedStart,
    fields.signedExpiry,
    fields.signedService,
    fields.signedVersion,
    fields.signedDelegatedUserTid ?? '',
  ])
}

const derived = new WeakMap<KeyObject, Map<string, KeyObject>>()

/** The value of the key as a KeyObject, which signs the SAS. */
export function userDelegationSecret(key: AccountKey, fields: UserDelegationKeyFields): KeyObject {
  const text = fieldsText(fields)
  const map = derived.get(key.secret) ?? new Map<string, KeyObject>()
  const cached = map.get(text)
  if (cached !== undefined) return cached
  const secret = createSecretKey(Buffer.from(keyValue(key, fields), 'base64'))
  derived.set(key.secret, map)
  setBounded(map, text, secret, DERIVED_COUNT_MAX)
  return secret
}
