// The static website of an account: serves the container $web to anybody, by GET and HEAD on a port of its own. Nothing
// of the Blob API is available there: no credentials, no operations, no CORS; errors are HTML pages.
import { randomUUID } from 'node:crypto'
import { clientName } from '../../control/client.ts'
import { ConnectionReset } from '../../control/point.ts'
import { RequestWatch } from '../../control/watch.ts'
import { hostRefusal } from '../../http/protocol/allowed-host.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import { errorHeaders, storageErrorOf, wireCode } from '../../http/door/error.ts'
import { decodeConditions } from '../../http/protocol/header.ts'
import type { Exchange, RequestHandler } from '../../http/protocol/exchange.ts'
import type { Answer } from '../../http/door/operation.ts'
import { decodePercent } from '../../http/protocol/query.ts'
import { contentRange, decodeRange } from '../../http/protocol/range.ts'
import type { RequestHead } from '../../http/protocol/request-head.ts'
import { harmedAnswer } from '../../http/door/harm.ts'
import { respond } from '../../http/door/respond.ts'
import type { Front } from '../../http/door/serve.ts'
import type { ReadTx } from '../../kv/kv.ts'
import { readBlobBytes, type BlobAddress } from '../../storage/blob/blob.ts'
import type { Blob } from '../../storage/blob/record.ts'
import type { BlobGuard } from '../../storage/blob/guard.ts'
import { NO_CONDITIONS } from '../../storage/shared/condition.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { etagOf } from '../../storage/shared/etag.ts'
import { checkBlobName } from '../../storage/shared/name.ts'
import { getServiceProperties } from '../../storage/shared/service/service.ts'
import type { StaticWebsite } from '../../storage/shared/service/service-properties.ts'
import { bodyOf, readSent } from './read.ts'
import type { BlobService } from './service.ts'

const CONTAINER = '$web'
/** Website requests carry no version; this one allows ranges without an end. */
const VERSION = '2026-04-06'

export function websiteHandler(service: BlobService, front: Front<BlobService>): RequestHandler {
  return { logFault: front.logFault, handle: (exchange) => handle(service, front, exchange) }
}

async function handle(
  service: BlobService,
  { acceptsHost, logFault, watching, observe }: Front<BlobService>,
  exchange: Exchange,
): Promise<void> {
  const startedMs = performance.now()
  const requestId = randomUUID()
  // A website is public, so every request is admitted.
  exchange.admit(false)
  const { head } = exchange
  const { host } = head.headers
  const operation = head.method === 'HEAD' ? 'Get Web Content Properties' : 'Get Web Content'
  const site = siteOf(service, head)
  const watch = watchOf(watching, exchange, operation, site)
  let errorCode: string | undefined
  const answer = await (async () => {
    if (exchange.onLoopback && !acceptsHost(host)) throw hostRefusal(host ?? '')
    if (watch?.isArmed === true) await watch.reach('received')
    return answerOf(watch?.over(service) ?? service, head, site)
  })().catch((error: unknown) => {
    if (exchange.gone || error instanceof ConnectionReset) return undefined
    const known = storageErrorOf(error) ?? new StorageError('InternalError')
    if (known !== error) logFault(error, requestId)
    errorCode = wireCode(known.code)
    return pageOf(known)
  })
  const harmed = watch?.harm && answer ? harmedAnswer(exchange, answer, watch.harm) : answer
  if (harmed === undefined) exchange.drop()
  const sent = harmed === undefined ? 0 : respond(exchange, harmed, commonHeaders(requestId))
  const responseBytes = await Promise.resolve(sent).finally(() => watch?.end())
  observe({
    operation,
    request: undefined,
    resource: site && { account: site.account, path: [CONTAINER, site.rawPath] },
    identity: { kind: 'anonymous' },
    watch,
    head,
    connection: exchange.connection,
    via: exchange.via,
    answerHeaders: answer?.headers ?? [],
    writes: false,
    requestId,
    method: head.method,
    url: head.target,
    httpVersion: head.httpVersion,
    remoteAddress: exchange.remoteAddress,
    status: answer?.status ?? 0,
    errorCode: answer === undefined ? 'ClientGone' : errorCode,
    requestBytes: 0,
    responseBytes,
    durationMs: performance.now() - startedMs,
  })
}

function watchOf(
  { points, clientBy, isAlwaysOn, clock }: Front<BlobService>['watching'],
  exchange: Exchange,
  operation: string,
  site: Site | undefined,
): RequestWatch | undefined {
  if (!isAlwaysOn && !points.isArmed) return undefined
  return new RequestWatch(points, clock(), () => {
    const { head, remoteAddress: address, connection } = exchange
    return {
      service: 'blob',
      operation,
      account: site?.account ?? '',
      path: `/${CONTAINER}/${site?.rawPath ?? ''}`,
      client: clientName({ headers: head.headers, address, connection }, clientBy),
      clientRequestId: undefined,
      whenGone: (listener) => exchange.whenLeft(listener),
    }
  })
}

function commonHeaders(requestId: string): string[] {
  const common = ['Server', 'Windows-Azure-Web/1.0 Microsoft-HTTPAPI/2.0']
  common.push('x-ms-request-id', requestId, 'x-ms-version', '2018-03-28')
  return common
}

async function answerOf(
  service: BlobService,
  req: RequestHead,
  place: Site | undefined,
): Promise<Answer> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    throw new StorageError('UnsupportedHttpVerb', { Allow: 'GET, HEAD' })
  }
  if (place === undefined) throw new StorageError('WebContentNotFound')
  const { account } = place
  const path = decodePercent(place.rawPath)
  const site = await service.kv.read((tx) => getServiceProperties(tx, { account, service: 'blob' }))
  if (!site.staticWebsite.enabled) throw new StorageError('WebContentNotFound')
  const guard = { conditions: decodeConditions(req.headers), readRule: 'any' as const }
  for (const blob of documentsOf(path, site.staticWebsite)) {
    const found = await read(service, { account, blob }, guard, req)
    if (found !== undefined) return found
  }
  const { errorDocument404Path: missing } = site.staticWebsite
  const plain = { conditions: NO_CONDITIONS, readRule: 'any' as const }
  const page = missing && (await read(service, { account, blob: missing }, plain, undefined))
  if (!page) throw new StorageError('WebContentNotFound')
  return { ...page, status: 404 }
}

/** `rawPath`: percent-encoded, without the first slash. */
type Site = { readonly account: string; readonly rawPath: string }

/**
 * The account is the first label of the host or the first segment of the path. If neither is an account, it is the first
 * one of the server, so that a site works at the root of the port.
 */
function siteOf({ accounts }: BlobService, { headers, target }: RequestHead): Site | undefined {
  const rawPath = target.split('?', 1)[0] ?? '/'
  const label = headers.host?.split('.', 1)[0]?.toLowerCase() ?? ''
  if (accounts.get(label) !== undefined) return { account: label, rawPath: rawPath.slice(1) }
  const [segment = '', ...rest] = rawPath.slice(1).split('/')
  if (accounts.get(segment) !== undefined) {
    return { account: segment, rawPath: rest.join('/') }
  }
  const [first] = accounts.names()
  return first === undefined ? undefined : { account: first, rawPath: rawPath.slice(1) }
}

/** The blobs to try for a path, in order: the path itself, then the index document of that folder. */
function documentsOf(path: string, site: StaticWebsite): readonly string[] {
  const { indexDocument, defaultIndexDocumentPath } = site
  const isFolder = path === '' || path.endsWith('/')
  const index = indexDocument === undefined ? [] : [indexDocument]
  if (isFolder) {
    const inFolder = index.map((name) => `${path}${name}`)
    return defaultIndexDocumentPath === undefined ? inFolder : [defaultIndexDocumentPath]
  }
  return [path, ...index.map((name) => `${path}/${name}`)]
}

/** Includes errors for invalid names: no blob can have one. */
const NOT_FOUND_CODES: ReadonlySet<string> = new Set([
  'BlobNotFound',
  'ContainerNotFound',
  'InvalidResourceName',
  'InvalidUri',
  'OutOfRangeInput',
])

/** Returns undefined if there is no such blob. `req` is given if its range applies. */
async function read(
  service: BlobService,
  { account, blob: name }: { readonly account: string; readonly blob: string },
  guard: BlobGuard,
  req: RequestHead | undefined,
): Promise<Answer | undefined> {
  const address = { account, container: CONTAINER, blob: name }
  const { nowMs } = service.moment()
  try {
    checkBlobName(name)
    const found = await service.kv.read((tx) => findDocument(tx, address, guard, { req, nowMs }))
    const headers = documentHeaders(found.blob, found.part.to - found.part.from)
    const body = bodyOf(service, found)
    if (found.range === undefined) return { status: 200, headers, ...body }
    headers.push('Content-Range', contentRange(found.range, found.blob.lengthBytes))
    return { status: 206, headers, ...body }
  } catch (error) {
    if (error instanceof StorageError && NOT_FOUND_CODES.has(error.code)) return undefined
    throw error
  }
}

function* findDocument(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  { req, nowMs }: { readonly req: RequestHead | undefined; readonly nowMs: number },
) {
  const { stored } = yield* readBlobBytes(tx, address, guard, nowMs)
  const { lengthBytes } = stored.blob
  const range = req && decodeRange(req.headers, VERSION, lengthBytes)
  const part = range ?? { from: 0, to: lengthBytes }
  const sent = yield* readSent(tx, stored, part, { account: address.account })
  return { blob: stored.blob, range, part, ...sent }
}

function documentHeaders({ headers: stored, stamp, modifiedMs }: Blob, lengthBytes: number) {
  const headers = [
    'Content-Length', String(lengthBytes),
    'Content-Type', stored.contentType || 'application/octet-stream',
    'Accept-Ranges', 'bytes',
    'ETag', etagOf(stamp),
    'Last-Modified', formatHttpDate(modifiedMs),
  ] // prettier-ignore
  const optional = [
    ['Content-MD5', stored.contentMd5],
    ['Content-Encoding', stored.contentEncoding],
    ['Content-Language', stored.contentLanguage],
    ['Content-Disposition', stored.contentDisposition],
    ['Cache-Control', stored.cacheControl],
  ] as const
  for (const [name, value] of optional) if (value !== undefined) headers.push(name, value)
  return headers
}

function pageOf(error: StorageError): Answer {
  const headers = Object.entries(errorHeaders(error)).flat()
  if (error.status === 304) return { status: 304, headers }
  const body =
    `<!DOCTYPE html><html><head><title>${error.code}</title></head><body>` +
    `<h1>${error.message}</h1><ul><li>HttpStatusCode: ${error.status}</li>` +
    `<li>ErrorCode: ${error.code}</li></ul></body></html>\n`
  return { status: error.status, headers: [...headers, 'Content-Type', 'text/html'], body }
}
