// Applies the table of header versions to an answer. What a version drops is computed once for each operation,
// so a request costs two map lookups, and a cached header list is filtered once for all its answers.
import { HEADER_ROWS, type HeaderRow } from './header-table.ts'
import type { Answer } from './operation.ts'
import { derived } from '../../kv/derived.ts'
import { knownVersion, KNOWN_VERSIONS } from './version.ts'

/** Names of headers or elements to drop. Versions that drop the same names share one set. */
type DroppedHeaders = ReadonlySet<string>

/** Keys for the filtered lists (kv/derived.ts). */
const filterKeys = new Map<DroppedHeaders, string>()

const droppedByOperation = new Map<string, ReadonlyMap<string, DroppedHeaders>>()

/** The headers that `operation` does not send at `version`; undefined if it sends all. */
export function droppedHeaders(operation: string, version: string): DroppedHeaders | undefined {
  let byVersion = droppedByOperation.get(operation)
  if (byVersion === undefined) {
    byVersion = droppedByVersion(HEADER_ROWS, operation)
    droppedByOperation.set(operation, byVersion)
  }
  return byVersion.get(KNOWN_VERSIONS.has(version) ? version : knownVersion(version))
}

/** The answer without the headers that `operation` does not send at `version`. */
export function answerAt(answer: Answer, operation: string, version: string): Answer {
  const dropped = droppedHeaders(operation, version)
  if (dropped === undefined) return answer
  const { headers: all } = answer
  const headers = derived(all, filterKey(dropped), () => without(all, dropped))
  return headers === all ? answer : { ...answer, headers }
}

function filterKey(dropped: DroppedHeaders): string {
  let key = filterKeys.get(dropped)
  if (key === undefined) filterKeys.set(dropped, (key = `filter ${filterKeys.size}`))
  return key
}

const patterns = new WeakMap<DroppedHeaders, RegExp>()

/** A list item without the elements that the version does not send. Metadata may use the same names and stay. */
export function itemAt(xml: string, dropped: DroppedHeaders | undefined): string {
  if (dropped === undefined) return xml
  let pattern = patterns.get(dropped)
  if (pattern === undefined) {
    const names = [...dropped].join('|')
    pattern = new RegExp(`<(${names})(?: />|>[^<]*</\\1>)`, 'g')
    patterns.set(dropped, pattern)
  }
  const [from, to] = [xml.indexOf('<Metadata'), xml.lastIndexOf('</Metadata>')]
  if (from < 0 || to < 0) return xml.replace(pattern, '')
  return (
    xml.slice(0, from).replace(pattern, '') +
    xml.slice(from, to) +
    xml.slice(to).replace(pattern, '')
  )
}

/** Known versions that drop nothing are left out. */
export function droppedByVersion(
  rows: readonly HeaderRow[],
  operation: string,
): ReadonlyMap<string, DroppedHeaders> {
  const sets = new Map<string, DroppedHeaders>()
  const byVersion = new Map<string, DroppedHeaders>()
  const applicable = rows.filter(({ on }) => on === undefined || on.includes(operation))
  for (const version of KNOWN_VERSIONS) {
    const names = applicable.filter((row) => !isSent(row, version)).flatMap((row) => row.headers)
    if (names.length === 0) continue
    const key = names.join()
    const dropped = sets.get(key) ?? new Set(names)
    sets.set(key, dropped)
    byVersion.set(version, dropped)
  }
  return byVersion
}

function isSent({ since, until }: HeaderRow, version: string): boolean {
  return (since === undefined || version >= since) && (until === undefined || version < until)
}

/** Returns the same list if nothing is dropped. */
function without(headers: readonly string[], dropped: DroppedHeaders): readonly string[] {
  let kept: string[] | undefined
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (dropped.has(name)) kept ??= headers.slice(0, at)
    else kept?.push(name, headers[at + 1] ?? '')
  }
  return kept ?? headers
}
