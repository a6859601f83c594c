// Properties of containers, blobs, shares, directories and files in a seed, as headers and back.
import { ControlError } from '../../control/control-error.ts'
import { formatAcl } from '../../storage/blob/access/acl-text.ts'
import { usualAccess } from '../../storage/blob/path/access.ts'
import type { OwnAnswer } from './own-client.ts'
import type { SeedMetadata, SeedProperties } from './seed-form.ts'

const CONTENT_HEADERS = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentLanguage', 'content-language'],
  ['contentDisposition', 'content-disposition'],
  ['cacheControl', 'cache-control'],
] as const

const CONTENT_FIELDS = [...CONTENT_HEADERS.map(([field]) => field), 'metadata']
const ACCESS_FIELDS = ['owner', 'group', 'permissions', 'acl'] as const

/** Of a container or a share, and of what is in it. */
const FIELDS = {
  blobs: {
    root: ['publicAccess', 'metadata', ...ACCESS_FIELDS],
    item: [...CONTENT_FIELDS, 'type', 'tags', 'tier', ...ACCESS_FIELDS],
  },
  shares: { root: ['quota', 'metadata'], item: CONTENT_FIELDS },
} as const

const TYPES: readonly unknown[] = ['block', 'append', 'page', undefined]

export function checkProperties(
  kind: keyof typeof FIELDS,
  all: Readonly<Record<string, SeedProperties>> = {},
  place: string,
): void {
  for (const [name, properties] of Object.entries(all)) {
    const known: readonly string[] = FIELDS[kind][name.includes('/') ? 'item' : 'root']
    const wrong = Object.keys(properties).find((field) => !known.includes(field))
    if (wrong !== undefined) {
      const list = known.join(', ')
      throw new ControlError(`${place}: properties of ${name}: "${wrong}" is none of ${list}`)
    }
    if (!TYPES.includes(properties.type)) {
      throw new ControlError(`${place}: properties of ${name}: type must be block, append or page`)
    }
  }
}

export type AccessField = (typeof ACCESS_FIELDS)[number]

export function isAccessField(field: string): field is AccessField {
  return ACCESS_FIELDS.some((each) => each === field)
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

/** Of an answer to Get Access Control, or of an item of a list; only what a new path doesn't have. */
export function accessOf(
  get: (field: AccessField) => string | undefined,
  isDirectory: boolean,
): SeedProperties {
  const usual = usualAccess(isDirectory)
  const [owner, group, permissions, acl] = ACCESS_FIELDS.map(get)
  return {
    ...(owner !== undefined && owner !== usual.owner && { owner }),
    ...(group !== undefined && group !== usual.group && { group }),
    // A list has everything but the sticky bit.
    ...(permissions !== undefined && /t/i.test(permissions) && { permissions }),
    ...(acl !== undefined && acl !== formatAcl(usual.acl) && { acl }),
  }
}

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
