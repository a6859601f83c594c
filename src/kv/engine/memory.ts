// The memory engine, for tests and `--inMemoryPersistence`. It runs in three modes: for one runner; shared by several
// runners; and shared, with every read and commit waiting a random number of turns of the event loop, as with a database
// on another machine.
import { changeMap, getEntry, scanEntries, type SortedMap } from '../sorted-map.ts'
import { commitInOrder, commitThenRetry } from './check.ts'
import {
  type Engine,
  type Found,
  type LocalReads,
  type Transaction,
  type Verdict,
  type Versioned,
  type Wanted,
} from './engine.ts'
import { Exclusive } from './exclusive.ts'
import { partOf } from './part.ts'

export type MemoryEngineOptions = {
  /** Several runners write to it. */
  readonly isShared?: boolean
  /** Seeds the number of turns that each read and commit waits; implies `isShared`. */
  readonly waitSeed?: number
}

type State = SortedMap<Versioned>

const NO_STATE: State = []

export function openMemoryEngine(options: MemoryEngineOptions = {}): Engine {
  const { waitSeed, isShared = waitSeed !== undefined } = options
  let state = NO_STATE
  let sizeBytes = 0
  const commits = new Exclusive()
  const wait = waitSeed === undefined ? undefined : waiting(waitSeed)
  const apply = (transactions: readonly Transaction[]): readonly Verdict[] => {
    let next = state
    const verdicts = commitInOrder(
      transactions,
      (wanted) => readState(next, wanted),
      (writes) => {
        for (const { key, value } of writes) {
          sizeBytes += (value === undefined ? 0 : key.length + value.length) - sizeOf(next, key)
        }
        next = changeMap(next, writes.map(toChange))
      },
    )
    state = next
    return verdicts
  }
  const commit = async (transactions: readonly Transaction[]): Promise<readonly Verdict[]> => {
    await wait?.()
    const verdicts = apply(transactions)
    await wait?.()
    return verdicts
  }
  const read = (from: () => State, wanted: Wanted): Found | Promise<Found> =>
    wait === undefined ? readState(from(), wanted) : wait().then(() => readState(from(), wanted))
  return {
    ...(!isShared && { local: localReads(() => state) }),
    read: (wanted) => read(() => state, wanted),
    snapshot: () => {
      const taken = state
      return {
        ...(!isShared && { local: localReads(() => taken) }),
        read: (wanted) => read(() => taken, wanted),
        release: () => undefined,
      }
    },
    commit: (transactions, retry) =>
      isShared
        ? commits.run(() => commitThenRetry(transactions, commit, retry))
        : commit(transactions),
    alone: (work) => commits.run(() => work(commit)),
    sizeBytes: () => sizeBytes,
    close: async () => {},
  }
}

function toChange({ key, value, version }: Transaction['writes'][number]) {
  return { key, value: value && { value, version } }
}

function sizeOf(state: State, key: Uint8Array): number {
  const found = getEntry(state, key)
  return found === undefined ? 0 : key.length + found.value.length
}

function localReads(state: () => State): LocalReads {
  return {
    get: (key, part) => {
      const found = getEntry(state(), key)
      return found && partOf(found.value, part)
    },
    keys: (range) => scanEntries(state(), range).map(({ key }) => key),
  }
}

function readState(state: State, { keys, ranges }: Wanted): Found {
  return {
    keys: keys.map(({ key, known }) => {
      const found = getEntry(state, key)
      return found !== undefined && found.version === known ? 'unchanged' : found
    }),
    ranges: ranges.map((range) =>
      scanEntries(state, range).map(({ key, value: { value, version } }) => {
        return { key, value: partOf(value, range.part), version }
      }),
    ),
  }
}

/** Waits for zero to three turns of the event loop, chosen by the seed. */
function waiting(seed: number): () => Promise<void> {
  let state = seed | 1
  return async () => {
    // xorshift32
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    for (let turns = (state >>> 0) % 4; turns > 0; turns -= 1) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
