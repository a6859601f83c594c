// The parts that lists have in common in every service: maxresults, include, and the echo of the request.
import type { Request } from '../../http/door/operation.ts'
import { xmlElement, xmlEscapeAttribute, xmlOptional } from '../../http/protocol/xml.ts'
import { invalidQuery, outOfRangeQuery } from '../../storage/shared/error.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'

const COUNT_MAX = 5_000

/** A count above the limit is reduced to it, not refused. */
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
  const words = new Set(text.split(',').map((word) => word.trim().toLowerCase()))
  for (const word of words) {
    if (!known.has(word)) throw invalidQuery('include', text)
  }
  return words
}

/** Repeats the parameters that the client sent. */
export function listEchoXml({ query }: Request): string {
  return (
    xmlOptional('Prefix', query.get('prefix')) +
    xmlOptional('Marker', query.get('marker')) +
    xmlOptional('MaxResults', query.get('maxresults'))
  )
}

/** The value of the attribute ServiceEndpoint. */
export function serviceEndpointXml({ endpoint }: Request): string {
  return xmlEscapeAttribute(`${endpoint}/`)
}

export function metadataXml(metadata: Metadata): string {
  if (metadata.length === 0) return '<Metadata />'
  return `<Metadata>${metadata.map(([name, value]) => xmlElement(name, value)).join('')}</Metadata>`
}
