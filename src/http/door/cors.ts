// Cross-origin resource sharing. Rules are tried in their order, and the first one that has the origin
// and the method is the one that counts: if its headers don't fit, the preflight fails.
import { StorageError } from '../../storage/shared/error.ts'
import type { CorsRule } from '../../storage/shared/service-properties.ts'
import { optionalHeader, type HeaderFields } from '../protocol/header.ts'

const REQUEST_HEADER_COUNT_MAX = 256

export type PreflightAnswer = { readonly status: number; readonly headers: readonly string[] }

/** The answer to OPTIONS: 200, or 403 CorsPreflightFailure. */
export function preflightAnswer(
  rules: readonly CorsRule[],
  headers: HeaderFields,
): PreflightAnswer {
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
 * What any other answer gets besides its own headers (name, value …), of which `answerHeaders` says
 * which there are to be exposed. A GET or HEAD that no `*` rule fits differs by origin, so caches are
 * told, even if this request had none.
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

/** Without an origin, a rule for all origins fits if `originless`. */
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

/** Exact, case and all; `https://*.example` stands for every host below it. */
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

/** A name, or its beginning and a star. */
function matchesHeader(allowed: string, lowerName: string): boolean {
  const lower = allowed.toLowerCase()
  return lower.endsWith('*') ? lowerName.startsWith(lower.slice(0, -1)) : lower === lowerName
}

/** Headers that every answer has and that are added later than these. */
const COMMON_HEADERS = ['x-ms-request-id', 'x-ms-version', 'Server', 'Date', 'Content-Length']

/** Names as set; a prefix stands for those headers of the answer that it fits. */
function exposedHeaders(rule: CorsRule, answerHeaders: readonly string[]): string {
  const { exposedHeaders } = rule
  if (!exposedHeaders.some((name) => name.endsWith('*'))) return exposedHeaders.join(',')
  const exposed = new Map<string, string>()
  const present = answerHeaders.filter((_, at) => at % 2 === 0).concat(COMMON_HEADERS)
  for (const allowed of exposedHeaders) {
    const fits = allowed.endsWith('*')
      ? present.filter((name) => matchesHeader(allowed, name.toLowerCase()))
      : [allowed]
    for (const name of fits) exposed.set(name.toLowerCase(), name)
  }
  return [...exposed.values()].join(',')
}
