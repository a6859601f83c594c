// Properties of containers, blobs, shares, directories and files in a seed, as headers and back.
import { ControlError } from '../../control/control-error.ts'
import type { OwnAnswer } from './own-client.ts'
import type { SeedMetadata, SeedProperties } from './seed-form.ts'

const CONTENT_HEADERS = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentLanguage', 'content-language'],
  ['contentDisposition', 'content-disposition'],
  ['cacheControl', 'cache-control'],
] as const

const FIELDS: ReadonlySet<string> = new Set([
  ...CONTENT_HEADERS.map(([field]) => field),
  'type',
  'metadata',
  'tags',
  'tier',
  'publicAccess',
  'quota',
])

const TYPES: readonly unknown[] = ['block', 'append', 'page', undefined]

export function checkProperties(
  all: Readonly<Record<string, SeedProperties>> = {},
  place: string,
): void {
  for (const [name, properties] of Object.entries(all)) {
    const wrong = Object.keys(properties).find((field) => !FIELDS.has(field))
    if (wrong !== undefined) {
      const known = [...FIELDS].join(', ')
      throw new ControlError(`${place}: properties of ${name}: "${wrong}" is none of ${known}`)
    }
    if (!TYPES.includes(properties.type)) {
      throw new ControlError(`${place}: properties of ${name}: type must be block, append or page`)
    }
  }
}

export function metadataHeaders(metadata: SeedMetadata = {}): Record<string, string> {
  const pairs = Object.entries(metadata)
  return Object.fromEntries(pairs.map(([name, value]) => [`x-ms-meta-${name}`, value]))
}

/** With metadata. */
export function contentHeaders(prefix: string, properties: SeedProperties) {
  const pairs = CONTENT_HEADERS.map(([field, name]) => [prefix + name, properties[field]] as const)
  return { ...Object.fromEntries(pairs), ...metadataHeaders(properties.metadata) }
}

const DEFAULT_TYPE = 'application/octet-stream'

/** Of an answer to Get Blob, Get File and the like; only what is not as by default. */
export function propertiesOf({ headers }: OwnAnswer): SeedProperties {
  const content = CONTENT_HEADERS.map(([field, name]) => [field, headers.get(name)] as const)
  const metadata = [...headers].flatMap(([name, value]) =>
    name.startsWith('x-ms-meta-') ? [[name.slice('x-ms-meta-'.length), value] as const] : [],
  )
  const given = content.filter(([, value]) => value !== undefined && value !== DEFAULT_TYPE)
  return {
    ...Object.fromEntries(given),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  }
}
