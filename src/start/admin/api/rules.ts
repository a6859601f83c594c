// The rules that people give to barriers and faults, and what they have in common.
import type { BarrierRule, FaultRule, Match } from '../../../control/api.ts'
import { POINTS } from '../../../control/point.ts'
import { ERRORS, type ErrorCode } from '../../../storage/shared/error.ts'
import {
  about,
  choice,
  either,
  integer,
  number,
  optional,
  record,
  text,
  type Schema,
} from './schema.ts'

export const duration: Schema<number | string> = about(
  either(number(0), text),
  'Milliseconds, or a duration of ISO 8601 such as PT60S.',
)

const match: Schema<Match> = record({
  service: optional(text, 'blob, dfs (Data Lake Storage), queue, table, file or smb.'),
  operation: optional(text, 'As the journal names it, such as Put Blob.'),
  account: optional(text),
  path: optional(text, '/container/blob; a * stands for any text.'),
  client: optional(text, 'As the journal names it.'),
  clientRequestId: optional(text),
})

export const barrierFields = {
  at: about(choice(POINTS), 'Where it holds requests.'),
  match: optional(match, 'What it holds; by default everything.'),
  count: optional(integer(1), 'How many requests it holds; later ones pass. By default all.'),
  timeLimit: optional(duration, 'A held request goes on after this time; by default a minute.'),
}

export const barrierRule: Schema<BarrierRule> = record(barrierFields)

const ERROR_CODES = Object.keys(ERRORS).filter((code): code is ErrorCode =>
  Object.hasOwn(ERRORS, code),
)

const effect: Schema<FaultRule['effect']> = either(
  record({
    status: integer(400, 599),
    code: optional(
      choice(ERROR_CODES),
      'By default the usual one of the status, such as ServerBusy.',
    ),
    retryAfterSeconds: optional(integer(0, 86_400)),
  }),
  record({ delay: either(duration, record({ from: duration, to: duration })) }),
  record({
    reset: about(choice(['before', 'after']), 'after: the write is stored, and its answer lost.'),
  }),
  record({ truncate: about(integer(0), 'The answer ends after so many bytes.') }),
  record({ bytesPerSecond: integer(1) }),
  record({ requestsPerSecond: integer(1) }),
  record({ disk: choice(['full', 'sync failure']) }),
)

export const faultFields = {
  match: optional(match, 'What it strikes; by default everything.'),
  effect,
  probability: optional(number(0, 1), 'By default 1.'),
  nth: optional(integer(1), 'Only the n-th matching request.'),
  times: optional(integer(1), 'At most so often.'),
  seed: optional(integer(0), 'The same seed gives the same faults.'),
}

export const faultRule: Schema<FaultRule> = record(faultFields)
