// The answers of Get Page Ranges and List Ranges: how many ranges one has, where the next one begins, and its XML.
import { setImmediate } from 'node:timers/promises'
import type { MapRange } from '../../extent/content/map-range.ts'
import type { Request } from '../../http/door/operation.ts'
import { createTextWriter } from '../../http/protocol/text-writer.ts'
import { XML_DECLARATION, xmlElement } from '../../http/protocol/xml.ts'
import { inTurns } from '../../kv/turn.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import { decodeMaxResults } from './list-query.ts'

const RANGE_COUNT_MAX = 10_000

type RangePage = { readonly from: number; readonly countMax: number }

export function decodeRangePage(request: Request): RangePage {
  const marker = request.query.get('marker')
  const from = marker ? decodeMarker(marker) : 0
  return { from, countMax: decodeMaxResults(request, RANGE_COUNT_MAX) }
}

// A marker is opaque to clients. It encodes an offset, so it stays valid while ranges are written.
export function encodeRangeMarker(next: number | undefined): string {
  return next === undefined ? '' : Buffer.from(String(next)).toString('base64url')
}

function decodeMarker(marker: string): number {
  const text = Buffer.from(marker, 'base64url').toString('latin1')
  const offset = /^\d{1,15}$/.test(text) ? Number(text) : -1
  if (offset < 0 || encodeRangeMarker(offset) !== marker) throw invalidQuery('marker', marker)
  return offset
}

type RangeElements = { readonly list: string; readonly range: string }

const RANGE_BYTES_LIKELY = 80
const LONG_PAGE_COUNT = 1_000

/**
 * Ranges with inclusive ends. Recorded: both kinds are mixed, in the order of their offsets, and the last page has an
 * empty marker.
 */
export async function encodeRangesXml(
  elements: RangeElements,
  ranges: readonly MapRange[],
  nextMarker: string | undefined,
): Promise<Uint8Array> {
  // The read of a long page has used up its turn.
  if (ranges.length > LONG_PAGE_COUNT) await setImmediate()
  const xml = createTextWriter(ranges.length * RANGE_BYTES_LIKELY + 512)
  xml.add(`${XML_DECLARATION}<${elements.list}>`)
  await inTurns(ranges, ({ from, to, isCleared }) => {
    const name = isCleared ? 'ClearRange' : elements.range
    xml.add(`<${name}><Start>${from}</Start><End>${to - 1}</End></${name}>`)
  })
  if (nextMarker !== undefined) xml.add(xmlElement('NextMarker', nextMarker))
  xml.add(`</${elements.list}>`)
  return xml.bytes()
}
