// Continuations of lists and of walks through a tree: opaque to clients, a place between paths in base64, so that it stays
// valid while paths come and go.
import type { Request } from '../../http/door/operation.ts'
import { invalidQuery } from '../../storage/shared/error.ts'

const LENGTH_MAX = 16 * 1024

export function encodePathContinuation(place: string | undefined): string | undefined {
  return place === undefined ? undefined : Buffer.from(place).toString('base64url')
}

export function decodePathContinuation({ query }: Request): string | undefined {
  const text = query.get('continuation')
  if (text === undefined || text === '') return undefined
  const place = text.length > LENGTH_MAX ? '' : Buffer.from(text, 'base64url').toString('utf8')
  if (place === '' || encodePathContinuation(place) !== text)
    throw invalidQuery('continuation', text)
  return place
}
