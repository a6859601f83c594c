// Paging of Get Page Ranges and List Ranges: how many ranges an answer has, and where the next one begins.
import type { Request } from '../../http/door/operation.ts'
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
