// Decodes the rule of a fault.
import { ERRORS, type ErrorCode } from '../../storage/shared/error.ts'
import type { FaultEffect, FaultRule } from '../api.ts'
import { SEED_END } from './chance.ts'
import { checkedDuration, durationMs } from '../rule/duration.ts'
import {
  decodeFields,
  optionalChoice,
  optionalCount,
  shownText,
  type Fields,
} from '../rule/field.ts'
import { FieldError } from '../field-error.ts'
import { decodeMatch, definedOf } from '../rule/match.ts'

const FAULT_FIELDS: readonly (keyof FaultRule)[] = [
  'match',
  'effect',
  'probability',
  'nth',
  'times',
  'seed',
]

const COUNT = { min: 1, max: 1_000_000_000 }
const RETRY_AFTER = { min: 0, max: 86_400 }
const TRUNCATE = { min: 0, max: Number.MAX_SAFE_INTEGER }

/** Throws an FieldError if anything is wrong. */
export function decodeFaultRule(value: unknown): FaultRule {
  const fields = decodeFields(value, '', FAULT_FIELDS)
  const effect = decodeEffect(fields.get('effect'))
  const given = fields.get('match')
  const match = given === undefined ? undefined : decodeMatch(given, 'match')
  if ('truncate' in effect && match?.service === 'smb') {
    throw new FieldError('effect.truncate', 'applies to answers over HTTP, not to SMB')
  }
  return {
    effect,
    ...definedOf({
      match,
      probability: decodeProbability(fields.get('probability')),
      nth: optionalCount(fields, 'nth', COUNT),
      times: optionalCount(fields, 'times', COUNT),
      seed: optionalCount(fields, 'seed', { min: 0, max: SEED_END - 1 }),
    }),
  }
}

function decodeProbability(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new FieldError('probability', 'must be a number from 0 to 1')
}

/** Each effect has one field that names it; some have others besides. */
const EFFECTS = {
  status: decodeStatus,
  delay: decodeDelay,
  reset: (fields) => ({ reset: required(optionalChoice(fields, 'reset', ['before', 'after'])) }),
  truncate: (fields) => ({ truncate: required(optionalCount(fields, 'truncate', TRUNCATE)) }),
  bytesPerSecond: (fields) => ({
    bytesPerSecond: required(optionalCount(fields, 'bytesPerSecond', COUNT)),
  }),
  requestsPerSecond: (fields) => ({
    requestsPerSecond: required(optionalCount(fields, 'requestsPerSecond', COUNT)),
  }),
  disk: (fields) => ({
    disk: required(optionalChoice(fields, 'disk', ['full', 'sync failure'])),
  }),
} as const satisfies Record<string, (fields: Fields) => FaultEffect>

const EFFECT_NAMES = Object.keys(EFFECTS) as readonly (keyof typeof EFFECTS)[]
const STATUS_FIELDS = ['status', 'code', 'retryAfterSeconds']

function decodeEffect(value: unknown): FaultEffect {
  if (value === undefined) throw new FieldError('effect', 'is missing')
  const fields = decodeFields(value, 'effect', [...EFFECT_NAMES, ...STATUS_FIELDS.slice(1)])
  const [name, other] = EFFECT_NAMES.filter((each) => fields.has(each))
  if (name === undefined) {
    throw new FieldError('effect', `must have one of: ${EFFECT_NAMES.join(', ')}`)
  }
  if (other !== undefined) {
    throw new FieldError(`effect.${other}`, `can't be combined with ${name}; add another fault`)
  }
  decodeFields(value, 'effect', name === 'status' ? STATUS_FIELDS : [name])
  return EFFECTS[name](fields)
}

/** The field that names an effect is there. */
function required<T>(value: T | undefined): T {
  if (value === undefined) throw new FieldError('effect', 'is empty')
  return value
}

const STATUS = { min: 400, max: 599 }
/** Azure's codes for the statuses of a server that is overloaded or broken. */
const CODE_OF: Readonly<Record<number, ErrorCode>> = {
  408: 'OperationTimedOut',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServerBusy',
}
const RETRY_AFTER_SECONDS = 1

function decodeStatus(fields: Fields): StatusEffect {
  const status = required(optionalCount(fields, 'status', STATUS))
  const code = decodeCode(fields.get('code')) ?? CODE_OF[status]
  if (code === undefined) {
    throw new FieldError('effect.code', `is missing: status ${status} has no code of its own`)
  }
  const given = optionalCount(fields, 'retryAfterSeconds', RETRY_AFTER)
  const isBusy = status === 429 || status === 503
  const retryAfterSeconds = given ?? (isBusy ? RETRY_AFTER_SECONDS : undefined)
  return { status, code, ...definedOf({ retryAfterSeconds }) }
}

export type StatusEffect = Extract<FaultEffect, { status: number }> & { readonly code?: ErrorCode }

function decodeCode(value: unknown): ErrorCode | undefined {
  if (value === undefined) return undefined
  if (isErrorCode(value)) return value
  const problem = `must be an error code that this server knows, not ${shownText(String(value))}`
  throw new FieldError('effect.code', problem)
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value)
}

function decodeDelay(fields: Fields): FaultEffect {
  const delay = fields.get('delay')
  if (typeof delay !== 'object') return { delay: checkedDuration(delay, 'effect.delay') }
  const range = decodeFields(delay, 'effect.delay', ['from', 'to'])
  const from = checkedDuration(range.get('from'), 'effect.delay.from')
  const to = checkedDuration(range.get('to'), 'effect.delay.to')
  if (durationMs(from, '') > durationMs(to, '')) {
    throw new FieldError('effect.delay.to', 'must not be less than from')
  }
  return { delay: { from, to } }
}
