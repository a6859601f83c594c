// Something that ends at a time that is known only roughly: clients see when a call began and ended, not when it took effect.
import type { Moment } from './model.ts'

export type Ending = {
  /** Not before. */
  readonly from: number
  /** Not after. */
  readonly until: number
}

/** A client that got no answer; its call has taken effect by then, or never will. */
export const LATE_MS = 5_000

export function endingAfter(seconds: number, { began, ended, answer }: Moment, slackMs: number) {
  const late = answer === undefined ? LATE_MS : 0
  return {
    from: began + seconds * 1_000 - slackMs,
    until: ended + late + seconds * 1_000 + slackMs,
  }
}

/** The possibilities during a call; each with what it reveals of the end. */
export function hasEnded(
  ending: Ending,
  { began, ended, answer }: Moment,
): readonly { readonly isOver: boolean; readonly ending: Ending }[] {
  const mayRun = began < ending.until
  const mayBeOver = answer === undefined || ended >= ending.from
  if (!mayRun) return [{ isOver: true, ending }]
  if (!mayBeOver) return [{ isOver: false, ending }]
  return [
    { isOver: false, ending: { ...ending, from: Math.max(ending.from, began) } },
    {
      isOver: true,
      ending: answer === undefined ? ending : { ...ending, until: Math.min(ending.until, ended) },
    },
  ]
}
