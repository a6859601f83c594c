// Resolves the source of a copy. A URL of a blob or file on this server is authorized like a request for it and then
// read from the store, without a socket. fetch-source.ts reads any other URL that --allowCopyFrom permits.
import { authenticate } from '../../../auth/authenticate.ts'
import { authorize, hasPermission } from '../../../auth/authorize.ts'
import type { Permission } from '../../../auth/permission.ts'
import type { AuthRequest } from '../../../auth/request.ts'
import { decodeCustomerKey, type CustomerKey } from '../customer-key.ts'
import { optionalHeader, requiredHeader } from '../../../http/protocol/header.ts'
import type { Call, Request } from '../../../http/door/operation.ts'
import { withoutSignature } from '../../../http/protocol/signature-field.ts'
import type { Accounts } from '../../../storage/shared/account.ts'
import { ofSource } from '../../../storage/shared/copy/copy-source.ts'
import { invalidHeader, StorageError } from '../../../storage/shared/error.ts'
import type { CopySource, CopySources, SourceServiceName } from './copy-sources.ts'
import { requestOfUrl } from '../other-resource.ts'
import type { ContentService } from '../service.ts'

/** A call to the Blob or the File service. */
export type SourceCall = Call<
  Pick<ContentService, 'kv' | 'extents' | 'moment' | 'accounts' | 'copySources'>
>

const SOURCE = 'x-ms-copy-source'
const SOURCE_IF_TAGS = 'x-ms-source-if-tags'
const AUTHORIZATION = 'x-ms-copy-source-authorization'
const SOURCE_LENGTH_MAX = 2 * 1024
const READ_FILE: Permission = { resourceType: 'o', accountSas: 'r', serviceSas: 'r' }
const READ_SOURCE = {
  blob: { ...READ_FILE, anonymous: 'blob' },
  file: READ_FILE,
} as const satisfies Record<SourceServiceName, Permission>

/** Also authorizes a source of our own. Reading its tags, and conditions on tags, need a permission of their own. */
export async function resolveSource(
  call: SourceCall,
  wants: { readonly tags: boolean } = { tags: false },
): Promise<CopySource> {
  const { request, service } = call
  const text = requiredHeader(request.headers, SOURCE)
  const url = text.length <= SOURCE_LENGTH_MAX && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidHeader(SOURCE, withoutSignature(text).slice(0, SOURCE_LENGTH_MAX))
  }
  const own = ownService(url, request, service.copySources, service.accounts)
  const publicText = withoutSignature(text)
  if (own === undefined) return { kind: 'remote', text: publicText, url, wholeText: text }
  try {
    const readRequest = { ...request, ...sourceRequest(call, own, text) }
    const readsTags = wants.tags || optionalHeader(request.headers, SOURCE_IF_TAGS) !== undefined
    await authorizeSource(call, own, readRequest, readsTags)
    const object = service.copySources.services[own].locate(readRequest, call.watch)
    return { kind: 'local', text: publicText, service: own, readRequest, object }
  } catch (error) {
    throw ofSource(error)
  }
}

/** The token for reading the source, if the client sent one. */
export function sourceAuthorization({ headers }: Request): string | undefined {
  const authorization = optionalHeader(headers, AUTHORIZATION)
  if (authorization === undefined || /^bearer +\S+$/i.test(authorization)) return authorization
  throw new StorageError('InvalidHeaderValue', { HeaderName: AUTHORIZATION })
}

/** The key that the source is encrypted with, if the client sent one. */
export function sourceKey({ headers, secure }: Request): CustomerKey | undefined {
  return decodeCustomerKey(headers, secure, 'source-')
}

/** The request that a client would send to read the source. */
function sourceRequest(
  { request, service }: SourceCall,
  own: SourceServiceName,
  text: string,
): AuthRequest {
  const { accounts, copySources } = service
  const origin = { request, accounts, pathStyleOnly: copySources.pathStyleOnly }
  const authorization = sourceAuthorization(request)
  const headers = sourceHeaders(request, authorization)
  const readRequest = requestOfUrl(origin, text, { service: own, method: 'GET', headers })
  if (readRequest === undefined) throw invalidHeader(SOURCE, withoutSignature(text))
  // A SAS is part of the source's URL, but a token was sent with this request, so this request's transport counts.
  return authorization === undefined ? readRequest : { ...readRequest, secure: request.secure }
}

/** The headers of the request that apply to the source too. */
function sourceHeaders(
  { headers }: Request,
  authorization: string | undefined,
): AuthRequest['headers'] {
  const intent = headers['x-ms-file-request-intent']
  const dots = headers['x-ms-source-allow-trailing-dot']
  return {
    ...(authorization !== undefined && { authorization }),
    ...(intent !== undefined && { 'x-ms-file-request-intent': intent }),
    ...(dots !== undefined && { 'x-ms-allow-trailing-dot': dots }),
  }
}

/** The account key or a token is valid for both ends of a copy within the account. */
async function authorizeSource(
  call: SourceCall,
  own: SourceServiceName,
  readRequest: AuthRequest,
  tags: boolean,
): Promise<void> {
  const { request, identity, service } = call
  const world = service.copySources.services[own].world()
  const isSigned =
    readRequest.headers.authorization !== undefined ||
    readRequest.query.has('sig') ||
    readRequest.query.has('sv')
  const isHolder = identity.kind === 'sharedKey' || identity.kind === 'bearer'
  const isShared = !isSigned && isHolder && readRequest.account === request.account
  const reader = isShared ? identity : await authenticate(readRequest, world)
  await authorize(reader, READ_SOURCE[own], readRequest, world)
  if (tags && !hasPermission(reader, 't')) {
    throw new StorageError('AuthorizationPermissionMismatch')
  }
}

// Azure has no such account; the azure CLI writes the sources of the development account this way.
const PRODUCT_STYLE = /^devstoreaccount1\.(blob|file)\.core\.windows\.net$/

/** The service that a URL addresses on this server: under the host of the request, or any address we listen on. */
export function ownService(
  url: URL,
  request: Pick<Request, 'headers' | 'service'>,
  sources: Pick<CopySources, 'listens'>,
  accounts: Accounts,
): SourceServiceName | undefined {
  const [, style] = PRODUCT_STYLE.exec(url.hostname) ?? []
  if (style === 'blob' || style === 'file') return style
  const hostname = withoutAccount(url.hostname, accounts)
  const requestUrl = `${url.protocol}//${request.headers.host ?? ''}`
  const here = URL.canParse(requestUrl) ? new URL(requestUrl) : undefined
  const isHere = here !== undefined && withoutAccount(here.hostname, accounts) === hostname
  if (isHere && here.port === url.port) return request.service === 'file' ? 'file' : 'blob'
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const place = sources
    .listens()
    .find((each) => each.port === port && (isHere || reaches(hostname, each.host)))
  return place?.service === 'blob' || place?.service === 'file' ? place.service : undefined
}

/** Removes the account from a host-style name: `account.blob.localhost` becomes `blob.localhost`. */
function withoutAccount(hostname: string, accounts: Accounts): string {
  const dot = hostname.indexOf('.')
  const label = hostname.slice(0, Math.max(dot, 0)).replace(/-secondary$/, '')
  return accounts.get(label) === undefined ? hostname : hostname.slice(dot + 1)
}

const LOOPBACK = /^(?:127\.0\.0\.1|\[::1\]|(?:.+\.)?localhost)$/
const ON_LOOPBACK = /^(?:127\.0\.0\.1|::1|localhost|0\.0\.0\.0|::)$/

function reaches(hostname: string, listenHost: string): boolean {
  if (hostname === listenHost.toLowerCase()) return true
  return LOOPBACK.test(hostname) && ON_LOOPBACK.test(listenHost)
}
