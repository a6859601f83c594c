// Decodes the rule of a barrier.
import type { BarrierRule } from '../api.ts'
import { checkedDuration } from '../rule/duration.ts'
import { decodeFields, optionalChoice, optionalCount } from '../rule/field.ts'
import { FieldError } from '../field-error.ts'
import { decodeMatch, definedOf } from '../rule/match.ts'
import { POINTS } from '../point.ts'

const BARRIER_FIELDS: readonly (keyof BarrierRule)[] = ['at', 'match', 'count', 'timeLimit']
const COUNT_MAX = 1_000_000

/** Throws an FieldError if anything is wrong. */
export function decodeBarrierRule(value: unknown): BarrierRule {
  const fields = decodeFields(value, '', BARRIER_FIELDS)
  const at = optionalChoice(fields, 'at', POINTS)
  if (at === undefined) throw new FieldError('at', `is missing; one of: ${POINTS.join(', ')}`)
  const [given, timeLimit] = [fields.get('match'), fields.get('timeLimit')]
  const match = given === undefined ? undefined : decodeMatch(given, 'match')
  if (at === 'answered' && match?.service === 'smb') {
    // The responses of a compound are sent together (smb/connection/watch.ts).
    throw new FieldError('at', "can't be answered for SMB; its last point is committed")
  }
  return {
    at,
    ...definedOf({
      match,
      count: optionalCount(fields, 'count', { min: 1, max: COUNT_MAX }),
      timeLimit: timeLimit === undefined ? undefined : checkedDuration(timeLimit, 'timeLimit'),
    }),
  }
}
