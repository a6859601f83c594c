// List Ranges of a file or of its state in a share snapshot: all written ranges, or those that differ from an older
// snapshot.
import { optionalBoolean, optionalGuid } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { decodeRange } from '../../http/protocol/range.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import { listRanges, type RangeListQuery } from '../../storage/file/bytes/range-list.ts'
import { validators } from '../shared/answer-header.ts'
import { decodeRangePage, encodeRangeMarker, encodeRangesXml } from '../shared/range-page.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { decodeSnapshot, fileAddressAt, type FileCall } from './service.ts'

/** Older versions get all ranges at once. */
const PAGED_SINCE = '2026-10-06'
const SUPPORT_RENAME = 'x-ms-file-support-rename'
const RANGE_LIST = { list: 'Ranges', range: 'Range' }

export async function runListRanges({ request, service }: FileCall): Promise<Answer> {
  refuseConditions(request)
  const [address, query] = [fileAddressAt(request), decodeQuery(request)]
  const { node, ranges, next } = await afterBreaks(service, request, () => {
    const { nowMs } = service.moment()
    return service.kv.attemptRead((tx) => listRanges(tx, address, query, nowMs))
  })
  const nextMarker = query.page === undefined ? undefined : encodeRangeMarker(next)
  const length = ['x-ms-content-length', String(node.lengthBytes)]
  return {
    status: 200,
    headers: ['Content-Type', 'application/xml', ...validators(node), ...length],
    body: await encodeRangesXml(RANGE_LIST, ranges, nextMarker),
  }
}

function decodeQuery(request: Request): RangeListQuery {
  const { headers, version } = request
  const previous = decodePrevious(request)
  return {
    leaseId: optionalGuid(headers, 'x-ms-lease-id'),
    // The file's length, not known yet, limits the range later.
    range: decodeRange(headers, version, Infinity) ?? { from: 0, to: Infinity },
    ...(previous !== undefined && { previous }),
    ...(isAtLeast(version, PAGED_SINCE) && { page: decodeRangePage(request) }),
  }
}

function decodePrevious({ headers, query }: Request): RangeListQuery['previous'] {
  const text = query.get('prevsharesnapshot')
  const mayBeRenamed = optionalBoolean(headers, SUPPORT_RENAME)
  if (!text) {
    if (mayBeRenamed !== undefined) throw invalidHeader(SUPPORT_RENAME, String(mayBeRenamed))
    return undefined
  }
  const snapshot = decodeSnapshot('prevsharesnapshot', text)
  return { snapshot, mayBeRenamed: mayBeRenamed ?? false }
}
