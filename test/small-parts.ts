// Parts of a server that can be seen and steered without a server behind them.
import type {
  BarrierApi,
  BarrierState,
  ClockApi,
  FaultApi,
  HeldApi,
  SnapshotApi,
} from '../src/control/api.ts'
import type { ControlParts } from '../src/start/admin/api/parts.ts'
import { StorageError } from '../src/storage/shared/error.ts'
import { filledJournal } from './journal-entries.ts'

export const NOW = '2027-01-01T00:00:00.000Z'

/** Parts that answer without a server behind them, and keep what they were asked. */
export function smallParts() {
  const asked: unknown[] = []
  const barrier: BarrierState = {
    id: '1',
    at: 'checked',
    held: [],
    releasedCount: 0,
    passedCount: 0,
  }
  const state = async () => ({ now: NOW, isHeld: true, offsetMs: 0 })
  const ask = async (...what: readonly unknown[]): Promise<void> => void asked.push(what)
  const clock: ClockApi = {
    state: () => ({ now: NOW, isHeld: false, offsetMs: 0 }),
    hold: () => ask('hold').then(state),
    advance: (by) => ask('advance', by).then(state),
    set: (time) => ask('set', time).then(state),
    run: () => ask('run').then(state),
  }
  const found = {
    id: '1',
    held: async (count?: number, options?: object) => {
      await ask('held', count, options)
      return []
    },
    release: (...clients: readonly string[]) => ask('release', ...clients),
    remove: () => undefined,
    state: () => barrier,
  }
  const barriers: BarrierApi = {
    hold: (rule) => {
      asked.push(['hold', rule])
      return found
    },
    list: () => [barrier],
    find: (id) => (id === '1' ? found : undefined),
    remove: (id) => id === '1',
    clear: () => void asked.push(['clear barriers']),
  }
  const faults: FaultApi = {
    add: (rule) => {
      asked.push(['add', rule])
      const state = { seed: 1, ...rule, id: '1', matchedCount: 0, struckCount: 0 }
      return { id: '1', remove: () => undefined, state: () => state }
    },
    list: () => [],
    remove: (id) => id === '1',
    clear: () => void asked.push(['clear faults']),
  }
  const held: HeldApi = {
    leases: async () => [
      {
        kind: 'blob',
        resource: '/a/c/b',
        leaseId: 'l',
        state: 'leased',
        secondsLeft: 3.5,
        entry: 2,
      },
    ],
    invisibleMessages: async () => [],
    opens: async () => [],
    locks: async () => [],
    copies: async () => [],
    uncommitted: async () => [],
    breakLease: async (resource, kind) => {
      await ask('break', resource, ...(kind === undefined ? [] : [kind]))
      if (resource === '/a/none') throw new StorageError('BlobNotFound')
    },
    makeVisible: (message) => ask('visible', message),
    closeOpen: (id) => ask('close', id),
  }
  const snapshots: SnapshotApi = {
    save: async (name) => ({ name, time: NOW, recordCount: 5 }),
    restore: (name) => ask('restore', name),
    list: async () => [{ name: 'one', time: NOW, recordCount: 5 }],
    delete: async (name) => name === 'one',
  }
  const states = {
    reset: async (scope?: object) => {
      await ask('reset', scope)
      return { removedCount: 3 }
    },
    seed: (folder: string) => ask('seed', folder),
    export: (folder: string) => ask('export', folder),
  }
  const races = { races: () => [], expectNoRaces: () => ask('expectNoRaces'), test: () => '' }
  const parts: ControlParts = {
    journal: filledJournal(),
    held,
    races,
    clock,
    barriers,
    faults,
    snapshots,
    states,
  }
  return { parts, asked }
}
