// What Get Page Ranges answers with: ranges with both ends inside, in the order of their offsets. That kinds
// are mixed and that the last page has an empty marker is as in recordings of the service.
import type { MapRange } from '../../../extent/content/map-range.ts'
import { createTextWriter } from '../../../http/protocol/text-writer.ts'
import { XML_DECLARATION, xmlElement } from '../../../http/protocol/xml.ts'

export type PageListAnswer = {
  readonly ranges: readonly MapRange[]
  /** Empty when this is the last page; undefined where nobody asked for pages and this is all. */
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
