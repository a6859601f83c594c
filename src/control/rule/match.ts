// Which requests a barrier or a fault applies to.
import { shownText, decodeFields, optionalChoice, optionalText } from './field.ts'
import { FieldError } from '../field-error.ts'
import type { Match } from '../api.ts'
import type { ControlledService, Subject } from '../point.ts'

const SERVICES: readonly ControlledService[] = ['blob', 'queue', 'table', 'file', 'dfs', 'smb']

const MATCH_FIELDS: readonly (keyof Match)[] = [
  'service',
  'operation',
  'account',
  'path',
  'client',
  'clientRequestId',
]

export function decodeMatch(value: unknown, field: string): Match {
  const fields = decodeFields(value, field, MATCH_FIELDS)
  const path = optionalText(fields, 'path')
  if (path !== undefined && !/^[/*]/.test(path)) {
    const problem = `must begin with / or *, as /container/blob, not ${shownText(path)}`
    throw new FieldError(fields.nameOf('path'), problem)
  }
  return definedOf({
    service: optionalChoice(fields, 'service', SERVICES),
    operation: optionalText(fields, 'operation'),
    account: optionalText(fields, 'account'),
    path,
    client: optionalText(fields, 'client'),
    clientRequestId: optionalText(fields, 'clientRequestId'),
  })
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the fields that are undefined. */
export function definedOf<T extends object>(fields: T): Defined<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Defined<T>
}

export type MatchedSubject = Pick<
  Subject,
  'service' | 'operation' | 'account' | 'path' | 'client' | 'clientRequestId'
>

export function matches(match: Match, subject: MatchedSubject): boolean {
  const { service, operation, account, path, client, clientRequestId } = match
  return (
    isOrAny(service, subject.service) &&
    isOrAny(operation, subject.operation) &&
    isOrAny(account, subject.account) &&
    isOrAny(client, subject.client) &&
    isOrAny(clientRequestId, subject.clientRequestId) &&
    (path === undefined || matchesPath(path, subject.path))
  )
}

function isOrAny(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === actual
}

/** Takes linear time for each `*`, whatever the pattern: a regular expression could take much longer. */
export function matchesPath(pattern: string, path: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return path === first
  if (!path.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = path.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return path.length - last.length >= at && path.endsWith(last)
}
