// Decodes the headers of paths: content headers, access control, expiry, and the leases of appends and flushes.
import {
  optionalBase64,
  optionalGuid,
  optionalHeader,
  optionalWord,
} from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import type { Acl } from '../../storage/blob/access/acl.ts'
import type { NewAccess } from '../../storage/blob/access/acl-change.ts'
import { isPrincipal, parseAcl } from '../../storage/blob/access/acl-text.ts'
import type { LeaseUse } from '../../storage/datalake/lease-use.ts'
import { parseMode, parseUmask, type Mode } from '../../storage/blob/access/permissions.ts'
import type { ContentHeaders } from '../../storage/shared/content-headers.ts'
import { invalidHeader, missingHeader } from '../../storage/shared/error.ts'
import { decodeDuration } from '../shared/lease-header.ts'

// prettier-ignore
const CONTENT_HEADERS = [
  ['contentType', 'x-ms-content-type'],
  ['contentEncoding', 'x-ms-content-encoding'],
  ['contentLanguage', 'x-ms-content-language'],
  ['contentDisposition', 'x-ms-content-disposition'],
  ['cacheControl', 'x-ms-cache-control'],
] as const

export function decodeContentHeaders({ headers }: Request): ContentHeaders {
  const decoded: { -readonly [K in keyof ContentHeaders]: ContentHeaders[K] } = {}
  for (const [name, header] of CONTENT_HEADERS) {
    const value = optionalHeader(headers, header)
    if (value !== undefined) decoded[name] = value
  }
  const contentMd5 = optionalBase64(headers, 'x-ms-content-md5')
  return contentMd5 === undefined ? decoded : { ...decoded, contentMd5 }
}

const OWNER = 'x-ms-owner'
const GROUP = 'x-ms-group'
const PERMISSIONS = 'x-ms-permissions'
const ACL = 'x-ms-acl'
const UMASK = 'x-ms-umask'

/** Owner, group, and either permissions or a list. */
export type AccessHeaders = {
  readonly owner: string | undefined
  readonly group: string | undefined
  readonly mode: Mode | undefined
  readonly acl: Acl | undefined
}

export function decodeAccess(request: Request): AccessHeaders {
  const mode = decodeMode(request)
  const text = optionalHeader(request.headers, ACL)
  const acl = text === undefined ? undefined : parseAcl(text)
  if (mode !== undefined && acl !== undefined) throw invalidHeader(ACL, text ?? '')
  return { owner: principal(request, OWNER), group: principal(request, GROUP), mode, acl }
}

export function decodeNewAccess(request: Request): NewAccess {
  const text = optionalHeader(request.headers, UMASK)
  const umaskBits = text === undefined ? undefined : parseUmask(text)
  if (text !== undefined && umaskBits === undefined) throw invalidHeader(UMASK, text)
  return { ...decodeAccess(request), umaskBits }
}

export function hasAccessHeaders({ headers }: Request): boolean {
  const names = [OWNER, GROUP, PERMISSIONS, ACL, UMASK]
  return names.some((name) => optionalHeader(headers, name) !== undefined)
}

function decodeMode({ headers }: Request): Mode | undefined {
  const text = optionalHeader(headers, PERMISSIONS)
  if (text === undefined) return undefined
  const mode = parseMode(text)
  if (mode === undefined) throw invalidHeader(PERMISSIONS, text)
  return mode
}

function principal({ headers }: Request, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text !== undefined && (!isPrincipal(text) || /[,:]/.test(text))) {
    throw invalidHeader(name, text)
  }
  return text
}

const PROPOSED_LEASE = 'x-ms-proposed-lease-id'
const LEASE_DURATION = 'x-ms-lease-duration'

/** The lease that a path is created with. */
export function decodeNewLease({ headers }: Request) {
  const proposedId = optionalGuid(headers, PROPOSED_LEASE)
  if (proposedId === undefined) return undefined
  return { proposedId, durationSeconds: decodeDuration(headers, LEASE_DURATION) }
}

const LEASE_ACTION = 'x-ms-lease-action'

/** `isFlush`: only a flush can release the lease. */
export function decodeLeaseUse({ headers }: Request, isFlush: boolean): LeaseUse | undefined {
  const words = ['acquire', 'auto-renew', 'release', 'acquire-release'] as const
  const action = optionalWord(headers, LEASE_ACTION, words)
  if (action === undefined) return undefined
  if (!isFlush && (action === 'release' || action === 'acquire-release')) {
    throw invalidHeader(LEASE_ACTION, action)
  }
  if (action === 'auto-renew' || action === 'release') {
    const leaseId = optionalGuid(headers, 'x-ms-lease-id')
    if (leaseId === undefined) throw missingHeader('x-ms-lease-id')
    return { action, leaseId }
  }
  const proposedId = optionalGuid(headers, PROPOSED_LEASE)
  if (proposedId === undefined) throw missingHeader(PROPOSED_LEASE)
  return { action, proposedId, durationSeconds: decodeDuration(headers, LEASE_DURATION) }
}

/** Bytes, as base64 in a header: opaque to the service. */
const CONTEXT_LENGTH_MAX = 1_024

export function decodeEncryptionContext({ headers }: Request): string | undefined {
  const context = optionalHeader(headers, 'x-ms-encryption-context')
  if (context !== undefined && context.length > CONTEXT_LENGTH_MAX) {
    throw invalidHeader('x-ms-encryption-context', context.slice(0, CONTEXT_LENGTH_MAX))
  }
  return context
}
