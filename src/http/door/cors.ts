// Cross-origin resource sharing. Rules are tried in order, and the first one that matches origin and method
// decides: if it does not allow the headers, the preflight fails.
import { StorageError } from '../../storage/shared/error.ts'
import type { CorsRule } from '../../storage/shared/service/service-properties.ts'
import { optionalHeader, type HeaderFields } from '../protocol/header.ts'
import type { Answer } from './operation.ts'

const REQUEST_HEADER_COUNT_MAX = 256

/** The answer to OPTIONS: 200, or 403 CorsPreflightFailure. */
export function preflightAnswer(rules: readonly CorsRule[], headers: HeaderFields): Answer {
  const origin = requiredCorsHeader(headers, 'Origin')
  const method = requiredCorsHeader(headers, 'Access-Control-Request-Method')
  const wanted = optionalHeader(headers, 'access-control-request-headers')
  const rule = matchingRule(rules, origin, method)
  if (rule === undefined || !allowsHeaders(rule, wanted)) {
    const details = { MessageDetails: 'No CORS rules matches this request' }
    throw new StorageError('CorsPreflightFailure', details)
  }
  const answer = ['Access-Control-Allow-Origin', isForAll(rule) ? '*' : origin]
  answer.push('Access-Control-Allow-Methods', method)
  if (wanted !== undefined) answer.push('Access-Control-Allow-Headers', wanted)
  answer.push('Access-Control-Max-Age', String(rule.maxAgeInSeconds))
  if (!isForAll(rule)) answer.push('Access-Control-Allow-Credentials', 'true')
  return { status: 200, headers: answer }
}

function requiredCorsHeader(headers: HeaderFields, name: string): string {
  const value = optionalHeader(headers, name.toLowerCase())
  if (value !== undefined) return value
  const details = { MessageDetails: `Invalid required CORS header ${name}` }
  throw new StorageError('InvalidHeaderValue', details, 'A required CORS header is not present.')
}

/**
 * The headers (name, value …) to add to any other answer. `answerHeaders` are its own headers, which may be
 * exposed. If no `*` rule matches a GET or HEAD, the answer depends on the origin, so caches get `Vary` even
 * if this request has no origin.
 */
export function corsHeaders(
  rules: readonly CorsRule[],
  method: string,
  origin: string | undefined,
  answerHeaders: readonly string[] = [],
): string[] {
  if (rules.length === 0) return []
  const isRead = method === 'GET' || method === 'HEAD'
  const rule = matchingRule(rules, origin, method, isRead)
  if (rule === undefined) return isRead ? ['Vary', 'Origin'] : []
  const headers = ['Access-Control-Allow-Origin', isForAll(rule) ? '*' : (origin ?? '*')]
  const exposed = exposedHeaders(rule, answerHeaders)
  if (exposed !== '') headers.push('Access-Control-Expose-Headers', exposed)
  if (isForAll(rule)) return headers
  headers.push('Access-Control-Allow-Credentials', 'true')
  if (isRead) headers.push('Vary', 'Origin')
  return headers
}

/** With `originless`, a request without an origin matches rules for all origins. */
function matchingRule(
  rules: readonly CorsRule[],
  origin: string | undefined,
  method: string,
  originless = false,
): CorsRule | undefined {
  return rules.find((rule) => {
    if (!rule.allowedMethods.includes(method)) return false
    if (origin === undefined) return originless && isForAll(rule)
    return rule.allowedOrigins.some((allowed) => matchesOrigin(allowed, origin))
  })
}

function isForAll(rule: CorsRule): boolean {
  return rule.allowedOrigins.includes('*')
}

/** Case-sensitive; `https://*.example` matches every host below `example`. */
function matchesOrigin(allowed: string, origin: string): boolean {
  if (allowed === '*' || allowed === origin) return true
  const star = allowed.indexOf('*')
  if (star < 0) return false
  const [before, after] = [allowed.slice(0, star), allowed.slice(star + 1)]
  return (
    origin.length > before.length + after.length &&
    origin.startsWith(before) &&
    origin.endsWith(after)
  )
}

function allowsHeaders(rule: CorsRule, wanted: string | undefined): boolean {
  if (wanted === undefined) return true
  const names = wanted.split(',').map((name) => name.trim().toLowerCase())
  if (names.length > REQUEST_HEADER_COUNT_MAX) return false
  return names.every((name) => rule.allowedHeaders.some((allowed) => matchesHeader(allowed, name)))
}

/** `allowed` is a name, or a prefix followed by a star. */
function matchesHeader(allowed: string, lowerName: string): boolean {
  const lower = allowed.toLowerCase()
  return lower.endsWith('*') ? lowerName.startsWith(lower.slice(0, -1)) : lower === lowerName
}

/** Headers of every answer, which are added after these. */
const COMMON_HEADERS = ['x-ms-request-id', 'x-ms-version', 'Server', 'Date', 'Content-Length']

/** The rule's names; a prefix is expanded to the answer's headers that match it. */
function exposedHeaders(rule: CorsRule, answerHeaders: readonly string[]): string {
  const { exposedHeaders } = rule
  if (!exposedHeaders.some((name) => name.endsWith('*'))) return exposedHeaders.join(',')
  const exposed = new Map<string, string>()
  const present = answerHeaders.filter((_, at) => at % 2 === 0).concat(COMMON_HEADERS)
  for (const allowed of exposedHeaders) {
    const names = allowed.endsWith('*')
      ? present.filter((name) => matchesHeader(allowed, name.toLowerCase()))
      : [allowed]
    for (const name of names) exposed.set(name.toLowerCase(), name)
  }
  return [...exposed.values()].join(',')
}
