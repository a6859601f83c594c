// List Ranges of a file or of its state in a share snapshot: all written ranges, or those that differ from an older
// snapshot.
import { optionalBoolean, optionalGuid } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { decodeRange } from '../../http/protocol/range.ts'
import { createTextWriter } from '../../http/protocol/text-writer.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { XML_DECLARATION, xmlElement } from '../../http/protocol/xml.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import { listRanges, type RangeListQuery } from '../../storage/file/bytes/range-list.ts'
import type { MapRange } from '../../extent/content/map-range.ts'
import { validators } from '../shared/answer-header.ts'
import { decodeRangePage, encodeRangeMarker } from '../shared/range-page.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { decodeSnapshot, fileAddressAt, type FileCall } from './service.ts'

/** Older versions get all ranges at once. */
const PAGED_SINCE = '2026-10-06'
const SUPPORT_RENAME = 'x-ms-file-support-rename'
const RANGE_BYTES_LIKELY = 80

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
    body: encodeRangesXml(ranges, nextMarker),
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

/** Ranges with inclusive ends, both kinds mixed, in the order of their offsets. */
function encodeRangesXml(ranges: readonly MapRange[], nextMarker: string | undefined): Uint8Array {
  const xml = createTextWriter(ranges.length * RANGE_BYTES_LIKELY + 512)
  xml.add(`${XML_DECLARATION}<Ranges>`)
  for (const { from, to, isCleared } of ranges) {
    const name = isCleared ? 'ClearRange' : 'Range'
    xml.add(`<${name}><Start>${from}</Start><End>${to - 1}</End></${name}>`)
  }
  if (nextMarker !== undefined) xml.add(xmlElement('NextMarker', nextMarker))
  xml.add('</Ranges>')
  return xml.bytes()
}
