// The answer of Get Page Ranges: ranges with inclusive ends, in the order of their offsets. Recorded: both kinds of
// range are mixed, and the last page has an empty marker.
import type { MapRange } from '../../../extent/content/map-range.ts'
import { createTextWriter } from '../../../http/protocol/text-writer.ts'
import { XML_DECLARATION, xmlElement } from '../../../http/protocol/xml.ts'

type PageListAnswer = {
  readonly ranges: readonly MapRange[]
  /** Empty on the last page; undefined if the client requested no paging and everything fits. */
  readonly nextMarker: string | undefined
}

const RANGE_BYTES_LIKELY = 80

export function encodePageListXml({ ranges, nextMarker }: PageListAnswer): Uint8Array {
  const xml = createTextWriter(ranges.length * RANGE_BYTES_LIKELY + 512)
  xml.add(`${XML_DECLARATION}<PageList>`)
  for (const { from, to, isCleared } of ranges) {
    const name = isCleared ? 'ClearRange' : 'PageRange'
    xml.add(`<${name}><Start>${from}</Start><End>${to - 1}</End></${name}>`)
  }
  if (nextMarker !== undefined) xml.add(xmlElement('NextMarker', nextMarker))
  xml.add('</PageList>')
  return xml.bytes()
}
