// What the API reaches of a server. A part that the server does not have has no routes.
import type {
  BarrierApi,
  ClockApi,
  FaultApi,
  HeldApi,
  RaceApi,
  ResetResult,
  Scope,
  SnapshotApi,
} from '../../../control/api.ts'
import type { OverviewApi } from '../../../control/overview.ts'
import type { RaceKey } from '../../../control/race/replay/race-test.ts'
import type { Journal } from '../../../control/journal.ts'
import type { StorageParts } from './storage/storage-routes.ts'

export type ControlParts = {
  readonly overview?: OverviewApi | undefined
  readonly journal?: Journal | undefined
  readonly held?: HeldApi | undefined
  readonly races?: RacesPart | undefined
  readonly clock?: ClockApi | undefined
  readonly barriers?: BarrierApi | undefined
  readonly faults?: FaultApi | undefined
  readonly snapshots?: SnapshotApi | undefined
  readonly states?: StatesApi | undefined
  readonly backups?: BackupApi | undefined
  readonly storage?: StorageParts | undefined
}

/** One backup at a time. It goes on when whoever started it has gone. */
export interface BackupApi {
  /** `place` is a path on the machine that the server runs on; `location`, if given, must be the server's data folder. */
  start(place: string, location: string | undefined): Promise<BackupState>
  /** Of the last one. */
  state(): BackupState
  /** Returns when it has ended; an earlier backup in the same place stays. */
  stop(): Promise<BackupState>
}

export type BackupState = {
  readonly state: 'none' | 'running' | 'done' | 'failed'
  readonly place?: string
  /** What it is doing, and how much of it is done: records, or bytes of content. */
  readonly phase?: string
  readonly done?: number
  readonly total?: number
  /** What was backed up, or why it failed. */
  readonly message?: string
}

export interface RacesPart {
  races(): ReturnType<RaceApi['races']> | Promise<ReturnType<RaceApi['races']>>
  expectNoRaces(): Promise<void>
  /** A program that brings a race about: the one of this kind that went wrong with this entry. */
  test(race: RaceKey): string | Promise<string>
}

/** Emptying, filling and saving a store. Folders are those of the machine that the server runs on. */
export interface StatesApi {
  reset(scope?: Scope): Promise<ResetResult>
  seed(folder: string): Promise<void>
  export(folder: string): Promise<void>
}
