// What a detector reports, and the words that all explanations share.
import { resourceOf } from '../entry.ts'
import type { ClientAct } from './act.ts'
import type { History } from './history.ts'
import type { Knowledge } from './knowledge.ts'
import type { RaceKind } from '../api.ts'

export type Finding = {
  readonly kind: RaceKind
  readonly isHarmless?: boolean
  readonly resource: string
  readonly explanation: string
  readonly clients: readonly string[]
  /** In the order of the story. The last one is the request that went wrong. */
  readonly acts: readonly ClientAct[]
}

export type RaceContext = {
  readonly history: History
  /** As it was before the request that a detector looks at. */
  readonly knowledge: Knowledge
  report(finding: Finding): void
}

/** Gets the requests one by one, in the order in which they ended. */
export type Detector = (act: ClientAct) => void

/** `entry 7, Put Blob at 12:00:00.123`. */
export function when({ entry: { id, operation, startedMs } }: ClientAct): string {
  return `entry ${id}, ${operation} at ${timeOfDay(startedMs)}`
}

export function timeOfDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(11, -1)
}

export function quoted({ client }: ClientAct): string {
  return `"${client}"`
}

export function resourceOfAct({ entry }: ClientAct): string {
  return resourceOf(entry)
}

export function seconds(lengthMs: number): string {
  return `${Math.round(lengthMs / 100) / 10} s`
}

/** Each client once, in the order of the acts. */
export function clientsOf(acts: readonly ClientAct[]): readonly string[] {
  return [...new Set(acts.map(({ client }) => client))]
}
