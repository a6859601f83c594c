// If-Match and If-None-Match, and the ETag of an object.
import type { Answer, Condition } from '../history/call.ts'
import { WRONG } from './model.ts'

/** Without an ETag, it is not known yet: the write that made it was not answered. */
export type Tagged = { readonly etag?: string }

/** What a read shows of it. */
export function tagOf({ etag }: Tagged): Tagged {
  return etag === undefined ? {} : { etag }
}

export type ConditionView<S> = {
  /** With what the view reveals. */
  readonly current: S
  readonly fails?: 'match' | 'none'
}

/** The possibilities; several only if the ETag is not known. */
export function conditionViews<S extends Tagged>(
  current: S,
  { match, none }: Condition = {},
): readonly ConditionView<S>[] {
  const views: ConditionView<S>[] = []
  for (const sent of new Set([match, none])) {
    if (sent !== undefined && sent !== '*' && current.etag === undefined)
      views.push({ current: { ...current, etag: sent }, ...failure(sent, { match, none }) })
  }
  return [{ current, ...failure(current.etag ?? '', { match, none }) }, ...views]
}

function failure(
  etag: string,
  { match, none }: { match?: string | undefined; none?: string | undefined },
) {
  // prettier-ignore
  if (match !== undefined && match !== '*' && match !== etag) return { fails: 'match' } as const
  if (none === '*' || none === etag) return { fails: 'none' } as const
  return {}
}

/** The object after a write: its ETag is a new one. */
export function retagged<S extends object>(
  before: Tagged | undefined,
  after: S,
  answer: Answer | undefined,
): (Omit<S, 'etag'> & Tagged) | typeof WRONG {
  const { etag: _, ...rest } = after as S & Tagged
  if (answer === undefined) return rest
  if (answer.etag === undefined || answer.etag === before?.etag) return WRONG
  return { ...rest, etag: answer.etag }
}

/** The object after a read that shows its ETag. */
export function revealed<S extends Tagged>(
  current: S,
  answer: Answer | undefined,
): S | typeof WRONG {
  if (answer === undefined) return current
  if (answer.etag === undefined) return WRONG
  if (current.etag === undefined) return { ...current, etag: answer.etag }
  return current.etag === answer.etag ? current : WRONG
}
