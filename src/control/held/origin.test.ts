// Which journal entry counts as the beginning of what is held.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeKey, keyName } from '../../kv/key.ts'
import type { Lease } from '../../storage/shared/lease.ts'
import type { NewEntry } from '../entry.ts'
import { Journal } from '../journal.ts'
import type { Note, ObjectState } from '../object.ts'
import {
  blocksStart,
  copyStart,
  findHolders,
  leaseStart,
  messageStart,
  volatileStart,
} from './origin.ts'

const KEY = encodeKey('blob', 1, 'a')
const LEASE: Lease = { id: 'one', durationSeconds: 15, endsAtMs: 15_000 }

function newJournal(entries: readonly Partial<NewEntry>[]): Journal {
  const head = { method: 'PUT', target: '/', headers: {} }
  const journal = new Journal({
    countMax: 100,
    bytesMax: 100_000,
    clientBy: ['connection'],
    decodeHead: () => head,
  })
  for (const entry of entries) journal.record({ ...ENTRY, ...entry })
  return journal
}

const ENTRY: NewEntry = {
  startedMs: 0,
  durationMs: 1,
  service: 'blob',
  operation: 'Lease Blob',
  writes: true,
  account: 'account',
  path: ['box', 'a'],
  headText: '',
  address: '127.0.0.1',
  connection: 1,
  identity: 'sharedKey',
  requestId: 'r',
  status: 201,
  errorCode: undefined,
  notes: [],
}

function note(before: ObjectState | undefined, after: ObjectState | undefined): Note {
  return { kind: 'blob', key: keyName(KEY), before, after, isWritten: true }
}

function state(lease?: Lease, version = 1): ObjectState {
  return { version, lease }
}

test('without a journal, or after it was emptied, nobody is known', () => {
  const sought = [leaseStart(KEY, LEASE)]
  assert.deepEqual(findHolders(undefined, sought), [{}])
  const journal = newJournal([{ notes: [note(state(), state(LEASE))] }])
  journal.clear()
  assert.deepEqual(findHolders(journal, sought), [{}])
})

test('a lease began with the acquire or change that gave it its id, not with a renew or a write', () => {
  const journal = newJournal([
    { notes: [note(state(), state({ ...LEASE, id: 'other' }))] },
    { startedMs: 1_000, notes: [note(state({ ...LEASE, id: 'other' }), state(LEASE))] },
    { notes: [note(state(LEASE), state({ ...LEASE, endsAtMs: 20_000 }))] },
    { operation: 'Put Blob', notes: [note(state(LEASE), state(LEASE, 2))] },
  ])
  assert.deepEqual(findHolders(journal, [leaseStart(KEY, LEASE)]), [
    { entry: 2, client: '127.0.0.1 #1', address: '127.0.0.1', since: '1970-01-01T00:00:01.000Z' },
  ])
})

test('acquiring an expired lease again with its id starts a new lease', () => {
  const again = { ...LEASE, endsAtMs: 35_000 }
  const journal = newJournal([
    { notes: [note(state(), state(LEASE))] },
    { startedMs: 20_000, notes: [note(state(LEASE), state(again))] },
  ])
  assert.equal(findHolders(journal, [leaseStart(KEY, again)])[0]?.entry, 2)
})

test('a message is held by whoever moved it last', () => {
  const journal = newJournal([
    { notes: [note(undefined, state(undefined, 1))] },
    { notes: [note(state(undefined, 1), state(undefined, 2))] },
  ])
  assert.equal(findHolders(journal, [messageStart(KEY, 2)])[0]?.entry, 2)
  assert.equal(findHolders(journal, [messageStart(KEY, 1)])[0]?.entry, 1)
})

test('an open began when its record did', () => {
  const journal = newJournal([
    { notes: [note(undefined, state())] },
    { notes: [note(state(), state())] },
  ])
  assert.equal(findHolders(journal, [volatileStart(KEY)])[0]?.entry, 1)
})

test('a copy began with the last Copy Blob that is not later than it', () => {
  const notes = [note(state(), state())]
  const journal = newJournal([
    { operation: 'Copy Blob', startedMs: 10, notes },
    { operation: 'Copy Blob', startedMs: 20, notes },
    { operation: 'Set Blob Metadata', startedMs: 21, notes },
    { operation: 'Copy Blob', startedMs: 30, notes },
  ])
  assert.equal(findHolders(journal, [copyStart(KEY, 21)])[0]?.entry, 2)
})

test('uncommitted blocks began with the Put Block that stored the first', () => {
  const journal = newJournal([
    { operation: 'Put Block', startedMs: 5, durationMs: 1 },
    { operation: 'Put Block', startedMs: 19, errorCode: 'InvalidBlobOrBlock' },
    { operation: 'Put Block', startedMs: 19, durationMs: 3 },
    { operation: 'Put Block', startedMs: 20, path: ['box', 'b'] },
    { operation: 'Put Block', startedMs: 20 },
  ])
  assert.equal(findHolders(journal, [blocksStart('/account/box/a', 20)])[0]?.entry, 3)
})
