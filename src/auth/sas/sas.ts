// Common to every kind of SAS: its fields, its times, and the addresses and protocols that it allows. The signature
// covers the text of the fields exactly as received; their parsed values never go into the string to sign.
import { StorageError } from '../../storage/shared/error.ts'
import { authenticationFailed } from '../failure.ts'
import type { ResponseHeaderOverrides } from '../identity.ts'
import { queryField, type AuthRequest } from '../request.ts'
import { isInAddressRange, parseAddressRange } from './sas-address.ts'
import { parseSasTime } from './sas-time.ts'

const VERSION = /^\d{4}-\d{2}-\d{2}$/
const PERMISSIONS = /^[a-z]+$/

export function missingField(name: string): StorageError {
  return authenticationFailed(`${name} is mandatory. Cannot be empty`)
}

export function malformedField(name: string): StorageError {
  return authenticationFailed(`SAS field '${name}' is not well formed.`)
}

export function signatureMismatch(stringToSign: string): StorageError {
  return authenticationFailed(`Signature did not match. String to sign used was ${stringToSign}`)
}

export function requiredField(request: AuthRequest, name: string): string {
  const value = queryField(request, name)
  if (value === '') throw missingField(name)
  return value
}

/** `sv`, which also selects the layout of the string to sign. */
export function signedVersion(request: AuthRequest, oldest: string): string {
  const version = requiredField(request, 'sv')
  if (!VERSION.test(version) || version < oldest) throw malformedField('sv')
  return version
}

/** `sp`, if given, in the client's order. */
export function signedPermissions(request: AuthRequest): string | undefined {
  const permissions = queryField(request, 'sp')
  if (permissions === '') return undefined
  if (!PERMISSIONS.test(permissions)) throw malformedField('sp')
  return permissions
}

export function signedTime(
  request: AuthRequest,
  name: 'st' | 'se' | 'skt' | 'ske',
): number | undefined {
  const text = queryField(request, name)
  if (text === '') return undefined
  const timeMs = parseSasTime(text)
  if (timeMs === undefined) throw malformedField(name)
  return timeMs
}

export type Validity = { readonly startMs: number | undefined; readonly expiryMs: number }

export function checkValidity({ startMs, expiryMs }: Validity, nowMs: number): void {
  const fromMs = startMs ?? nowMs
  if (fromMs <= nowMs && nowMs < expiryMs) return
  const start = httpDate(fromMs)
  const expiry = httpDate(expiryMs)
  if (expiryMs <= fromMs) {
    throw authenticationFailed(
      `Signed expiry time [${expiry}] has to be after signed start time [${start}]`,
    )
  }
  throw authenticationFailed(
    'Signature not valid in the specified time frame: ' +
      `Start [${start}] - Expiry [${expiry}] - Current [${httpDate(nowMs)}]`,
  )
}

function httpDate(timeMs: number): string {
  return new Date(timeMs).toUTCString()
}

/** `sip` and `spr`. */
export function checkSource(request: AuthRequest): void {
  const addresses = queryField(request, 'sip')
  if (addresses !== '') checkAddress(request, addresses)
  const protocols = queryField(request, 'spr')
  if (protocols === '' || protocols === 'https,http' || protocols === 'http,https') return
  if (protocols !== 'https') throw malformedField('spr')
  if (!request.secure) throw new StorageError('AuthorizationProtocolMismatch')
}

function checkAddress(request: AuthRequest, addresses: string): void {
  const range = parseAddressRange(addresses)
  if (range === undefined) throw malformedField('sip')
  if (isInAddressRange(range, request.remoteAddress)) return
  const message =
    'This request is not authorized to perform this operation using this source IP ' +
    `${request.remoteAddress}.`
  throw new StorageError('AuthorizationSourceIPMismatch', {}, message)
}

/** The versions from which these fields are signed. Before that, anyone could add them. */
const ENCRYPTION_SCOPE_VERSION = '2020-12-06'
const RESPONSE_HEADERS_VERSION = '2013-08-15'

/** `ses`. */
export function encryptionScope(request: AuthRequest): string | undefined {
  if (queryField(request, 'sv') < ENCRYPTION_SCOPE_VERSION) return undefined
  return optionalField(request, 'ses')
}

/** `rscc`, `rscd`, `rsce`, `rscl` and `rsct` of blobs and files. */
export function responseHeaderOverrides(request: AuthRequest): ResponseHeaderOverrides {
  const hasHeaders = request.service === 'blob' || request.service === 'file'
  if (!hasHeaders || queryField(request, 'sv') < RESPONSE_HEADERS_VERSION) return {}
  const fields = {
    cacheControl: queryField(request, 'rscc'),
    contentDisposition: queryField(request, 'rscd'),
    contentEncoding: queryField(request, 'rsce'),
    contentLanguage: queryField(request, 'rscl'),
    contentType: queryField(request, 'rsct'),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))
}

export function optionalField(request: AuthRequest, name: string): string | undefined {
  return queryField(request, name) || undefined
}
