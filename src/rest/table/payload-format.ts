// OData's three levels of metadata in an answer. `$format` takes precedence over Accept. JSON is the only format: Atom
// ended with version 2015-12-11, and the service never had verbose JSON.
import { optionalHeader } from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { memoize } from '../../memory/memoize.ts'
import { StorageError } from '../../storage/shared/error.ts'

export type MetadataLevel = 'nometadata' | 'minimalmetadata' | 'fullmetadata'

const LEVELS: Readonly<Record<string, MetadataLevel>> = {
  nometadata: 'nometadata',
  minimalmetadata: 'minimalmetadata',
  fullmetadata: 'fullmetadata',
}

export function decodeFormat({
  query,
  headers,
}: Pick<Request, 'headers' | 'query'>): MetadataLevel {
  const format = query.get('$format')
  if (format) return levelOfMedia(format === 'json' ? 'application/json' : format)
  const accept = optionalHeader(headers, 'accept')
  return accept === undefined ? 'minimalmetadata' : levelOfMedia(accept)
}

/** The first media type that the client accepts and the service has. */
const levelOfMedia = memoize((text: string): MetadataLevel => {
  const media = text.toLowerCase().split(',')
  for (const one of media) {
    const [type = '', ...parameters] = one.split(';').map((part) => part.trim())
    if (type !== 'application/json' && type !== '*/*' && type !== 'application/*') continue
    const odata = parameters.find((parameter) => /^odata\s*=/.test(parameter))
    return odata === undefined ? 'minimalmetadata' : levelOfParameter(odata)
  }
  const isAtom = media.some((one) => /atom|xml/.test(one))
  throw new StorageError(isAtom ? 'AtomFormatNotSupported' : 'MediaTypeNotSupported')
})

function levelOfParameter(parameter: string): MetadataLevel {
  const name = parameter.slice(parameter.indexOf('=') + 1).trim()
  if (name === 'verbose') throw new StorageError('JsonVerboseFormatNotSupported')
  const level = Object.hasOwn(LEVELS, name) ? LEVELS[name] : undefined
  if (level === undefined) throw new StorageError('MediaTypeNotSupported')
  return level
}

const JSON_MEDIA = /^application\/json\s*(?:;|$)/

/** A body has to be JSON; without a Content-Type it is assumed to be. */
export function checkJsonBody({ headers }: Pick<Request, 'headers'>): void {
  const type = optionalHeader(headers, 'content-type')?.toLowerCase()
  if (type === undefined || type === 'application/json' || JSON_MEDIA.test(type)) return
  throw new StorageError(/atom|xml/.test(type) ? 'AtomFormatNotSupported' : 'MediaTypeNotSupported')
}

/** Headers of every answer of this service. */
export const TABLE_HEADERS: readonly string[] = [
  'X-Content-Type-Options', 'nosniff',
  'Cache-Control', 'no-cache',
] // prettier-ignore

function jsonHeadersOf(level: MetadataLevel): readonly string[] {
  const type = `application/json;odata=${level};streaming=true;charset=utf-8`
  return [...TABLE_HEADERS, 'Content-Type', type]
}

const JSON_HEADERS: Readonly<Record<MetadataLevel, readonly string[]>> = {
  nometadata: jsonHeadersOf('nometadata'),
  minimalmetadata: jsonHeadersOf('minimalmetadata'),
  fullmetadata: jsonHeadersOf('fullmetadata'),
}

export function jsonHeaders(level: MetadataLevel): readonly string[] {
  return JSON_HEADERS[level]
}

export type Preference = 'return-content' | 'return-no-content'

/** Whether the answer to an insert returns the entity; other preferences are ignored. */
export function decodePrefer({ headers }: Pick<Request, 'headers'>): Preference | undefined {
  const text = optionalHeader(headers, 'prefer')
  return text === undefined ? undefined : preferenceOf(text)
}

const preferenceOf = memoize((text: string): Preference | undefined => {
  for (const each of text.toLowerCase().split(',')) {
    const preference = each.trim()
    if (preference === 'return-content' || preference === 'return-no-content') return preference
  }
  return undefined
})
