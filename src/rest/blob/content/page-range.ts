// Get Page Ranges of a page blob, a snapshot or a version: all written ranges, or those that differ from an older
// snapshot.
import { optionalHeader } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { decodePercent } from '../../../http/protocol/query.ts'
import { decodeRange } from '../../../http/protocol/range.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import { getPageRanges, type PageRangeQuery } from '../../../storage/blob/content/page-range.ts'
import { invalidHeader, invalidQuery } from '../../../storage/shared/error.ts'
import { parseTimestamp } from '../../../storage/shared/etag.ts'
import { validators } from '../../shared/answer-header.ts'
import { decodeRangePage, encodeRangeMarker, encodeRangesXml } from '../../shared/range-page.ts'
import { isTimestamp } from '../../shared/snapshot-time.ts'
import { blobGuard } from '../header.ts'
import { checkVersion } from './page.ts'
import { blobAddressAt, type BlobCall } from '../service.ts'

/** Older versions get all ranges at once. */
const PAGED_SINCE = '2020-10-02'
const PAGE_LIST = { list: 'PageList', range: 'PageRange' }

export async function runGetPageRanges(call: BlobCall): Promise<Answer> {
  return pageList(call, undefined)
}

export async function runGetPageRangesDiff(call: BlobCall): Promise<Answer> {
  return pageList(call, decodePrevious(call.request))
}

async function pageList(
  { request, service }: BlobCall,
  previous: PageRangeQuery['previous'],
): Promise<Answer> {
  checkVersion(request)
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  const { headers, version } = request
  // The blob's length, not known yet, limits the range later.
  const range = decodeRange(headers, version, Infinity) ?? { from: 0, to: Infinity }
  const page = isAtLeast(version, PAGED_SINCE) ? decodeRangePage(request) : undefined
  const query = { range, ...(previous && { previous }), ...(page && { page }) }
  const { nowMs } = service.moment()
  const { blob, ranges, next } = await service.kv.read((tx) =>
    getPageRanges(tx, address, guard, query, nowMs),
  )
  // The last page has an empty marker, but only if the client requested paging.
  const isPagingRequested = request.query.has('maxresults') || request.query.has('marker')
  const isPaged = page !== undefined && (next !== undefined || isPagingRequested)
  const nextMarker = isPaged ? encodeRangeMarker(next) : undefined
  const length = ['x-ms-blob-content-length', String(blob.lengthBytes)]
  return {
    status: 200,
    headers: ['Content-Type', 'application/xml', ...validators(blob), ...length],
    body: await encodeRangesXml(PAGE_LIST, ranges, nextMarker),
  }
}

const PREVIOUS_URL = 'x-ms-previous-snapshot-url'

/** The snapshot of `prevsnapshot`, or of a URL of the same blob. */
function decodePrevious(request: Request): PageRangeQuery['previous'] {
  const given = request.query.get('prevsnapshot')
  const text = given || snapshotOfUrl(request)
  const snapshot = parseTimestamp(text)
  if (snapshot !== undefined) return { snapshot }
  if (isTimestamp(text)) return 'unknown'
  if (given === undefined) throw invalidHeader(PREVIOUS_URL, urlOf(request))
  throw invalidQuery('prevsnapshot', text)
}

function urlOf({ headers }: Request): string {
  return optionalHeader(headers, PREVIOUS_URL) ?? ''
}

function snapshotOfUrl(request: Request): string {
  const text = urlOf(request)
  if (text === '') return ''
  if (!URL.canParse(text)) throw invalidHeader(PREVIOUS_URL, text)
  const url = new URL(text)
  // In path style the host does not matter: a server has many names.
  const isHere = request.pathStyle || url.host === request.headers['host']
  if (!isHere || decodePercent(url.pathname) !== decodePercent(request.rawPath)) {
    throw invalidHeader(PREVIOUS_URL, text)
  }
  return url.searchParams.get('snapshot') ?? ''
}
