// Finds the journal entries with which leases, gets, opens and the like began: what the store has says who holds something,
// but not from where.
import { keyName } from '../../kv/key.ts'
import type { Key } from '../../kv/kv.ts'
import { isLeaseRunning, type Lease } from '../../storage/shared/lease.ts'
import type { Holder } from '../api.ts'
import { clientName } from '../client.ts'
import { resourceOf, type Entry } from '../entry.ts'
import type { Journal } from '../journal.ts'
import type { Note } from '../object.ts'

/** An entry that wrote the record `key`, or any entry on `resource`. */
export type Sought = ({ readonly key: Key } | { readonly resource: string }) & {
  isStart(entry: Entry, note?: Note): boolean
  /** The first entry counts; by default, the last. */
  readonly isFirst?: true
}

/** In the order of `sought`. */
export function findHolders(
  journal: Journal | undefined,
  sought: readonly Sought[],
): readonly Holder[] {
  if (journal === undefined || sought.length === 0) return sought.map(() => ({}))
  const found: (Entry | undefined)[] = sought.map(() => undefined)
  const [byKey, byResource] = [newIndex(), newIndex()]
  for (const [at, each] of sought.entries()) {
    if ('key' in each) add(byKey, keyName(each.key), at)
    else add(byResource, each.resource, at)
  }
  const test = (at: number, entry: Entry, note?: Note): void => {
    const each = sought[at]
    if (each?.isFirst === true && found[at] !== undefined) return
    if (each?.isStart(entry, note) === true) found[at] = entry
  }
  for (const entry of journal.entries()) {
    if (byResource.size > 0) {
      for (const at of byResource.get(resourceOf(entry)) ?? []) test(at, entry)
    }
    for (const note of entry.notes) {
      if (!note.isWritten) continue
      for (const at of byKey.get(note.key) ?? []) test(at, entry, note)
    }
  }
  return found.map((entry) => (entry === undefined ? {} : holderOf(journal, entry)))
}

type Index = Map<string, number[]>

function newIndex(): Index {
  return new Map()
}

function add(index: Index, name: string, at: number): void {
  const same = index.get(name)
  if (same === undefined) index.set(name, [at])
  else same.push(at)
}

function holderOf({ clientBy }: Journal, entry: Entry): Holder {
  return {
    entry: entry.id,
    client: clientName(entry, clientBy),
    address: entry.address,
    since: new Date(entry.startedMs).toISOString(),
  }
}

/** The acquire or change that gave the lease its id. */
export function leaseStart(key: Key, { id }: Lease): Sought {
  return {
    key,
    isStart({ startedMs }, note) {
      if (note?.after?.lease?.id !== id) return false
      const before = note.before?.lease
      return before?.id !== id || !isLeaseRunning(before, startedMs)
    },
  }
}

/** The get, put or update that hid the message until the time at which it becomes visible now. */
export function messageStart(key: Key, sequence: number): Sought {
  return { key, isStart: (_entry, note) => note?.after?.version === sequence }
}

/** The CREATE of an open, or the LOCK of a lock. */
export function volatileStart(key: Key): Sought {
  return {
    key,
    isStart: (_entry, note) => note?.before === undefined && note?.after !== undefined,
  }
}

/** The last copy to the resource that began no later than this one. */
export function copyStart(key: Key, startedMs: number): Sought {
  return {
    key,
    isStart: (entry) => entry.operation.startsWith('Copy') && entry.startedMs <= startedMs,
  }
}

/** The Put Block during which the first block was stored. The clock has whole milliseconds. */
export function blocksStart(resource: string, createdMs: number): Sought {
  return {
    resource,
    isFirst: true,
    isStart: ({ service, operation, errorCode, startedMs, durationMs }) =>
      service === 'blob' &&
      BLOCK_OPERATIONS.has(operation) &&
      errorCode === undefined &&
      startedMs <= createdMs &&
      createdMs <= startedMs + durationMs + 1,
  }
}

const BLOCK_OPERATIONS: ReadonlySet<string> = new Set(['Put Block', 'Put Block From URL'])
