// What the lists of every service ask for and say in the same way: how many, which extras, and the echo of
// what was asked.
import type { Request } from '../../http/door/operation.ts'
import { xmlElement, xmlEscapeAttribute, xmlOptional } from '../../http/protocol/xml.ts'
import { invalidQuery, outOfRangeQuery } from '../../storage/shared/error.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'

const COUNT_MAX = 5_000

/** More than the service gives at once is not refused, only not given. */
export function decodeMaxResults({ query }: Request, countMax = COUNT_MAX): number {
  const text = query.get('maxresults')
  if (text === undefined || text === '') return countMax
  if (!/^-?\d{1,15}$/.test(text)) throw invalidQuery('maxresults', text)
  const count = Number(text)
  if (count <= 0) throw outOfRangeQuery('maxresults', text, { min: 1, max: countMax })
  return Math.min(count, countMax)
}

const NO_INCLUDES: ReadonlySet<string> = new Set()

export function decodeInclude({ query }: Request, known: ReadonlySet<string>): ReadonlySet<string> {
  const text = query.get('include') ?? ''
  if (text === '') return NO_INCLUDES
  const asked = new Set(text.split(',').map((word) => word.trim().toLowerCase()))
  for (const word of asked) {
    if (!known.has(word)) throw invalidQuery('include', text)
  }
  return asked
}

/** What was asked, said again: only what was sent. */
export function listEchoXml({ query }: Request): string {
  return (
    xmlOptional('Prefix', query.get('prefix')) +
    xmlOptional('Marker', query.get('marker')) +
    xmlOptional('MaxResults', query.get('maxresults'))
  )
}

/** For the attribute ServiceEndpoint. */
export function serviceEndpointXml({ endpoint }: Request): string {
  return xmlEscapeAttribute(`${endpoint}/`)
}

export function metadataXml(metadata: Metadata): string {
  if (metadata.length === 0) return '<Metadata />'
  return `<Metadata>${metadata.map(([name, value]) => xmlElement(name, value)).join('')}</Metadata>`
}
