// The service version of a request. Any well-formed version is accepted, since clients are often newer than
// the server; `--strictApiVersion` accepts only versions that the service has had. Versions are dates, so they
// compare as text.
import type { ReadRule } from '../../storage/shared/condition.ts'
import { invalidHeader, invalidQuery } from '../../storage/shared/error.ts'
import { optionalHeader, type HeaderFields } from '../protocol/header.ts'

// prettier-ignore
export const KNOWN_VERSIONS: ReadonlySet<string> = new Set([
  '2009-04-14', '2009-07-17', '2009-09-19', '2011-08-18', '2012-02-12', '2013-08-15', '2014-02-14',
  '2015-02-21', '2015-04-05', '2015-07-08', '2015-12-11', '2016-05-31', '2017-04-17', '2017-07-29',
  '2017-11-09', '2018-03-28', '2018-11-09', '2019-02-02', '2019-07-07', '2019-10-10', '2019-12-12',
  '2020-02-10', '2020-04-08', '2020-06-12', '2020-08-04', '2020-10-02', '2020-12-06', '2021-02-12',
  '2021-04-10', '2021-06-08', '2021-08-06', '2021-10-04', '2021-12-02', '2022-11-02', '2023-01-03',
  '2023-05-03', '2023-08-03', '2023-11-03', '2024-02-04', '2024-05-04', '2024-08-04', '2024-11-04',
  '2025-01-05', '2025-05-05', '2025-07-05', '2025-11-05', '2026-02-06', '2026-04-06', '2026-06-06',
  '2026-10-06',
])

/** The version of a request that names none, as anonymous requests do. */
export const FALLBACK_VERSION = '2014-02-14'

/** A SAS's `api-version` wins over the header, which wins over the SAS's `sv`. */
export function serviceVersion(
  headers: HeaderFields,
  query: ReadonlyMap<string, string>,
  strict: boolean,
  fallback: string = FALLBACK_VERSION,
): string {
  const explicit = query.get('api-version')
  const header = optionalHeader(headers, 'x-ms-version')
  const version = explicit || header || query.get('sv') || fallback
  if (version === fallback || KNOWN_VERSIONS.has(version)) return version
  if (!strict && isWellFormed(version)) return version
  if (!explicit && version === header) throw invalidHeader('x-ms-version', version)
  throw invalidQuery(explicit ? 'api-version' : 'sv', version)
}

/** The version for an answer to a request whose version could not be decoded. */
export function echoedVersion(headers: HeaderFields): string {
  const header = optionalHeader(headers, 'x-ms-version')
  return header !== undefined && isWellFormed(header) ? header : FALLBACK_VERSION
}

function isWellFormed(version: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(version)) return false
  const timeMs = Date.parse(`${version}T00:00:00Z`)
  return !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(version)
}

/** The newest known version that is not newer than `version`; the oldest if all are newer. */
export function knownVersion(version: string): string {
  return NEWEST_FIRST.find((known) => known <= version) ?? NEWEST_FIRST.at(-1) ?? version
}

/** Newest first: most clients with an unknown version are newer than this server. */
const NEWEST_FIRST: readonly string[] = [...KNOWN_VERSIONS].toReversed()

export function isAtLeast(version: string, since: string): boolean {
  return version >= since
}

/** How conditions on reads combine at this version. */
export function readRule(version: string): ReadRule {
  return isAtLeast(version, '2013-08-15') ? 'any' : 'pairs'
}
