// Markers of List Containers and List Blobs. A marker is opaque to clients: base64 of a letter, an optional number,
// and a name. It is a position between names, not a count, so it stays valid while blobs are created and deleted.
import type { Request } from '../../../http/door/operation.ts'
import type { ContainerPosition } from '../../../storage/blob/container/container-list.ts'
import type { ListPosition } from '../../../storage/blob/list/list-page.ts'
import { invalidQuery } from '../../../storage/shared/error.ts'

export function encodeBlobMarker(next: ListPosition | undefined): string | undefined {
  return next === undefined ? undefined : encoded(blobMarkerText(next))
}

function blobMarkerText(next: ListPosition): string {
  if ('afterPrefix' in next) return `p${next.afterPrefix}`
  if ('afterPast' in next) return `s${next.stamp}:${next.afterPast}`
  return `n${'afterName' in next ? next.afterName : next.fromName}`
}

export function decodeBlobMarker(request: Request): ListPosition | undefined {
  const marker = decodeMarker(request, 's')
  if (marker === undefined) return undefined
  const { kind, name, number } = marker
  if (kind === 'p') return { afterPrefix: name }
  return kind === 'n' ? { afterName: name } : { afterPast: name, stamp: number }
}

export function encodeContainerMarker(next: ContainerPosition | undefined): string | undefined {
  if (next === undefined) return undefined
  const { name, deletedId } = next
  return encoded(deletedId === undefined ? `n${name}` : `d${deletedId}:${name}`)
}

/** `parameter`: `marker`, or `continuation` in Data Lake Storage. */
export function decodeContainerMarker(
  request: Request,
  parameter?: string,
): ContainerPosition | undefined {
  const marker = decodeMarker(request, 'd', parameter)
  if (marker === undefined) return undefined
  const { kind, name, number } = marker
  return kind === 'n' || kind === 'p' ? { name } : { name, deletedId: number }
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

export const NAME_LENGTH_MAX = 1_024

type Marker = { readonly kind: string; readonly number: number; readonly name: string }

/** A letter; for `s` and `d` a number and a colon; then a name. */
const MARKER = /^(?:([np])|([sd])(\d{1,16}):)(.{0,1024})$/su

function decodeMarker(
  { query }: Request,
  numbered: 's' | 'd',
  parameter = 'marker',
): Marker | undefined {
  const marker = query.get(parameter)
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('utf8')
  const isOurs = encoded(text) === marker
  const [, plain, kind, digits = '0', name = ''] = (isOurs && MARKER.exec(text)) || []
  const number = Number(digits)
  const isKnown = plain !== undefined || kind === numbered
  const isName = name.length <= NAME_LENGTH_MAX
  if (!isKnown || !isName || !Number.isSafeInteger(number)) throw invalidQuery(parameter, marker)
  return { kind: plain ?? numbered, number, name }
}
