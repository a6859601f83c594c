// Shared Key and Shared Key Lite: an account key signs the canonical form of the request. Clients do this on every
// request, so the documented form is built by plain concatenation; the other forms are tried only if it does not
// match.
import type { Account } from '../../storage/shared/account.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  canonicalHeaders,
  canonicalResource,
  canonicalResourceLite,
  otherCanonicalHeaders,
  signedPaths,
} from './canonical.ts'
import { authenticationFailed } from '../failure.ts'
import type { SharedKeyIdentity } from '../identity.ts'
import { headerText, type AuthRequest } from '../request.ts'
import { isSameSignature, sign } from '../signature.ts'

export type SharedKeyScheme = 'SharedKey' | 'SharedKeyLite'

const SKEW_MS_MAX = 15 * 60 * 1000
/** From this version on, a Content-Length of 0 is signed as nothing. */
const EMPTY_LENGTH_VERSION = '2015-02-21'
/** A longer string is tried in the documented form only, so that a wrong signature is refused quickly. */
const VARIED_LENGTH_MAX = 16 * 1024
const RFC_1123 = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

const IDENTITY: SharedKeyIdentity = { kind: 'sharedKey' }

/** `credential` is the account's name and the signature, with a colon between them. */
export function authenticateSharedKey(
  request: AuthRequest,
  scheme: SharedKeyScheme,
  credential: string,
  account: Account,
  wallNowMs: number,
): SharedKeyIdentity {
  const colon = credential.indexOf(':')
  const signature = credential.slice(colon + 1)
  if (colon <= 0 || signature === '') throw new StorageError('InvalidAuthenticationInfo')
  if (credential.slice(0, colon) !== request.account) throw new StorageError('AuthenticationFailed')
  checkDate(request, wallNowMs)
  const paths = signedPaths(request)
  const text = stringToSign(request, scheme, paths[0] ?? '/')
  if (isSignedByAny(account, text, signature)) return IDENTITY
  if (text.length <= VARIED_LENGTH_MAX) {
    for (const other of otherStringsToSign(request, scheme, paths)) {
      if (other !== text && isSignedByAny(account, other, signature)) return IDENTITY
    }
  }
  throw authenticationFailed(
    `The MAC signature found in the HTTP request '${signature}' is not the same as any computed ` +
      `signature. Server used following string to sign: '${text}'.`,
  )
}

function isSignedByAny(account: Account, text: string, signature: string): boolean {
  for (const { secret } of account.keys) {
    if (isSameSignature(sign(secret, text), signature)) return true
  }
  return false
}

/** At most twelve: six texts of the headers for each of two paths. */
function* otherStringsToSign(
  request: AuthRequest,
  scheme: SharedKeyScheme,
  paths: readonly string[],
): Generator<string> {
  const isTable = request.service === 'table'
  const texts = isTable ? [] : [...otherCanonicalHeaders(request)]
  for (const path of paths) {
    yield stringToSign(request, scheme, path)
    for (const headers of texts) yield stringToSign(request, scheme, path, headers)
  }
}

export function stringToSign(
  request: AuthRequest,
  scheme: SharedKeyScheme,
  path: string,
  canonical?: string,
): string {
  if (request.service === 'table') return tableStringToSign(request, scheme, path)
  const headers = canonical ?? canonicalHeaders(request)
  if (scheme === 'SharedKey') {
    return standardHeaders(request) + headers + canonicalResource(request, path)
  }
  return (
    contentHeaders(request) + signedDate(request) + headers + canonicalResourceLite(request, path)
  )
}

function standardHeaders(request: AuthRequest): string {
  return (
    request.method +
    '\n' +
    headerText(request, 'content-encoding') +
    '\n' +
    headerText(request, 'content-language') +
    '\n' +
    contentLength(request) +
    '\n' +
    headerText(request, 'content-md5') +
    '\n' +
    headerText(request, 'content-type') +
    '\n' +
    signedDate(request) +
    headerText(request, 'if-modified-since') +
    '\n' +
    headerText(request, 'if-match') +
    '\n' +
    headerText(request, 'if-none-match') +
    '\n' +
    headerText(request, 'if-unmodified-since') +
    '\n' +
    headerText(request, 'range') +
    '\n'
  )
}

function contentLength(request: AuthRequest): string {
  const length = headerText(request, 'content-length')
  return length === '0' && request.version >= EMPTY_LENGTH_VERSION ? '' : length
}

function contentHeaders(request: AuthRequest): string {
  const md5 = headerText(request, 'content-md5')
  return request.method + '\n' + md5 + '\n' + headerText(request, 'content-type') + '\n'
}

/** Empty if x-ms-date has a value, which is then among the canonical headers. An empty x-ms-date is no date. */
function signedDate(request: AuthRequest): string {
  return headerText(request, 'x-ms-date') === '' ? headerText(request, 'date') + '\n' : '\n'
}

/** Tables have no canonical headers, so here the date is never empty. */
function tableStringToSign(request: AuthRequest, scheme: SharedKeyScheme, path: string): string {
  const date = headerText(request, 'x-ms-date') || headerText(request, 'date')
  const text = date + '\n' + canonicalResourceLite(request, path)
  return scheme === 'SharedKeyLite' ? text : contentHeaders(request) + text
}

/** The service accepts only RFC 1123 with a two-digit day, and dates at most 15 minutes off. */
function checkDate(request: AuthRequest, wallNowMs: number): void {
  const text = headerText(request, 'x-ms-date') || headerText(request, 'date')
  if (text === '') throw authenticationFailed('Neither x-ms-date nor Date is given')
  const dateMs = RFC_1123.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(dateMs)) {
    throw authenticationFailed('The Date header in the request is incorrect.')
  }
  if (dateMs < wallNowMs - SKEW_MS_MAX) {
    throw authenticationFailed(`Request date header too old: '${text}'`)
  }
  if (dateMs > wallNowMs + SKEW_MS_MAX) {
    throw authenticationFailed(`Request date header too far in the future: '${text}'`)
  }
}
