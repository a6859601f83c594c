// Snapshots of the whole store, as people ask for them. One thing at a time, and not during a sweep.
import type { SweptExtentStore } from '../extent/extent.ts'
import type { Gate } from '../kv/gate.ts'
import type { Moment } from '../node/moment.ts'
import type { FileKv } from '../storage/file/open/open.ts'
import { beginRestore, finishRestore } from '../storage/saved/restore-state.ts'
import {
  deleteState,
  getState,
  listStates,
  saveState,
  STATES_MAX,
  TooManyStates,
  type NamedState,
} from '../storage/saved/saved-state.ts'
import { StorageError } from '../storage/shared/error.ts'
import type { SnapshotApi, SnapshotState } from './api.ts'
import { ControlError } from './control-error.ts'
import type { ForkedStore } from './fork.ts'

export type SnapshotWorld = {
  readonly store: {
    readonly gate: Gate
    readonly kvBehindGate: FileKv
    readonly extents: SweptExtentStore
    newId(): number
    moment(): Moment
  }
  clock(): number
  /** Other nodes use the store, too. */
  readonly isShared: boolean
  betweenSweeps<T>(work: () => Promise<T>): Promise<T>
  /** Called after a restore. */
  restored(): Promise<void>
}

export type Snapshots = SnapshotApi & {
  /** Whoever gets it closes both parts. */
  forkStore(name: string): Promise<ForkedStore>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

export function snapshotApi(world: SnapshotWorld): Snapshots {
  const { gate, kvBehindGate: kv, newId } = world.store
  const exclusively = async <T>(work: () => Promise<T>): Promise<T> => {
    if (world.isShared) throw new ControlError(NOT_SHARED)
    return world.betweenSweeps(work)
  }
  return {
    save: async (name) => {
      checkName(name)
      return exclusively(async () => {
        const state = { name, savedMs: world.clock(), newId }
        if (gate.isClosed) throw new ControlError(UNFINISHED)
        gate.close()
        try {
          return viewOf(await named(saveState(kv, state)))
        } finally {
          gate.open()
        }
      })
    },
    restore: async (name) => {
      checkName(name)
      await exclusively(async () => {
        await restore(world.store, name)
        await world.restored()
      })
    },
    list: async () => (await kv.read(listStates)).map(viewOf),
    delete: async (name) => {
      checkName(name)
      return exclusively(() => kv.write((tx) => deleteState(tx, name)))
    },
    forkStore: async (name) => {
      checkName(name)
      return exclusively(async () => {
        const state = await requireState(kv, name)
        // Loaded on demand: few programs need it.
        const { forkStore } = await import('./fork.ts')
        return forkStore(world.store, state)
      })
    },
  }
}

const NOT_SHARED =
  'Snapshots need the whole store for themselves, so they are not available with --store, where other nodes use it, too.'

const UNFINISHED =
  'A restore failed and left the store incomplete: requests get ServerBusy until a restore succeeds, or until the server restarts.'

/** If it fails in the middle, the gate stays closed: nobody should see such a store. */
async function restore(
  { gate, kvBehindGate: kv }: SnapshotWorld['store'],
  name: string,
): Promise<void> {
  const state = await requireState(kv, name)
  const wasOpen = !gate.isClosed
  gate.close(serverBusy)
  try {
    await beginRestore(kv, state)
  } catch (error) {
    if (wasOpen) gate.open()
    throw error
  }
  try {
    await finishRestore(kv)
  } catch (cause) {
    throw new Error(UNFINISHED, { cause })
  }
  gate.open()
}

async function requireState(kv: FileKv, name: string): Promise<NamedState> {
  const state = await kv.read((tx) => getState(tx, name))
  if (state !== undefined) return { name, ...state }
  const names = (await kv.read(listStates)).map((each) => each.name)
  const known = names.length === 0 ? 'there is none' : `there is ${names.join(', ')}`
  throw new ControlError(`there is no snapshot "${name}"; ${known}`, 'name')
}

async function named<T>(saving: Promise<T>): Promise<T> {
  try {
    return await saving
  } catch (error) {
    if (!(error instanceof TooManyStates)) throw error
    throw new ControlError(`there are ${STATES_MAX} snapshots already; delete some of them`)
  }
}

function checkName(name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return
  throw new ControlError(
    'the name of a snapshot has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or a digit',
    'name',
  )
}

function serverBusy(): StorageError {
  return new StorageError('ServerBusy', { 'Retry-After': '1' })
}

function viewOf({ name, savedMs, recordCount }: NamedState): SnapshotState {
  return { name, time: new Date(savedMs).toISOString(), recordCount }
}
