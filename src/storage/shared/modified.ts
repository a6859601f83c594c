// What every change of an object leaves on it: a new stamp, which gives the ETag, and the time for Last-Modified.
import { nextStamp, type Moment } from '../../node/moment.ts'

export type Modified = { readonly stamp: number; readonly modifiedMs: number }

/** Neither goes back, whichever of two writers took its moment first. */
export function modifiedAt(current: Modified | undefined, moment: Moment): Modified {
  return { stamp: nextStamp(current?.stamp, moment), modifiedMs: laterMs(current, moment) }
}

export function laterMs(
  current: Pick<Modified, 'modifiedMs'> | undefined,
  { nowMs }: Moment,
): number {
  return current === undefined ? nowMs : Math.max(current.modifiedMs, nowMs)
}
