// The rules on entries that are hard to bring about with a server: clients without names, answers that end late, many
// requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENT_BY } from '../client.ts'
import { Entry, type Head, type NewEntry } from '../entry.ts'
import { Journal } from '../journal.ts'
import { keyName } from '../../kv/key.ts'
import { blobKey } from '../../storage/blob/keys.ts'
import { createRaces, findRaces } from './race.ts'

type Step = {
  readonly by: string
  readonly operation: string
  /** Of the blob; 0: it does not exist. */
  readonly from: number
  readonly to?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly connection?: number
}

const state = (version: number) => (version === 0 ? undefined : { version, lease: undefined })

const decodeHead = (text: string): Head => JSON.parse(text) as Head

function newEntryOf(step: Step): NewEntry {
  const { by, operation, from, to, headers = {}, connection = 1 } = step
  return {
    startedMs: 0,
    durationMs: 1,
    service: 'blob',
    operation,
    writes: to !== undefined,
    account: 'a',
    path: ['box', 'doc'],
    headText: JSON.stringify({
      method: 'GET',
      target: '/a/box/doc',
      headers: { ...headers, ...(by !== '' && { 'x-lazuli-client': by }) },
    }),
    address: '127.0.0.1',
    connection,
    identity: 'sharedKey',
    requestId: '',
    status: headers['x-ms-range'] === undefined ? 200 : 206,
    errorCode: undefined,
    notes: [
      {
        kind: 'blob',
        key: keyName(blobKey(1, 'doc')),
        before: state(from),
        after: state(to ?? from),
        isWritten: to !== undefined,
      },
    ],
  }
}

const entryOf = (step: Step, id: number) => new Entry(id, undefined, newEntryOf(step), decodeHead)

const racesOf = (steps: readonly Step[]) =>
  findRaces(
    steps.map((step, at) => entryOf(step, at + 1)),
    CLIENT_BY,
  )

/** `kind entry…` of each finding. */
const found = (steps: readonly Step[]): readonly string[] =>
  racesOf(steps).map(({ kind, acts }) => [kind, ...acts.map(({ entry }) => entry.id)].join(' '))

const reads = (by: string, from: number): Step => ({ by, operation: 'Get Blob', from })
const puts = (by: string, from: number, to: number): Step => ({
  by,
  operation: 'Put Blob',
  from,
  to,
})

test('the write that is named is the one that was overwritten', () => {
  const steps = [reads('A', 1), puts('B', 1, 2), puts('C', 2, 3), puts('A', 3, 4)]
  assert.deepEqual(found(steps), ['lost update 1 3 4'])
})

test('a client that has read the last version before its write loses nothing', () => {
  const steps = [reads('A', 1), puts('B', 1, 2), reads('A', 2), puts('A', 2, 3)]
  assert.deepEqual(found(steps), [])
})

test('an answer that ends after the next request of its client was read before it', () => {
  const steps = [reads('A', 1), puts('B', 1, 2), puts('A', 2, 3), reads('A', 2)]
  assert.deepEqual(found(steps), [])
})

test('entries may be in another order than the versions', () => {
  const steps = [reads('A', 1), puts('A', 2, 3), puts('B', 1, 2)]
  assert.deepEqual(found(steps), ['lost update 1 3 2'])
})

test('appended blocks overwrite nothing, and are overwritten', () => {
  const appends = (by: string, from: number, to: number): Step => ({
    ...puts(by, from, to),
    operation: 'Append Block',
  })
  assert.deepEqual(found([reads('A', 1), appends('B', 1, 2), appends('A', 2, 3)]), [])
  const overwritten = [reads('A', 1), appends('B', 1, 2), puts('A', 2, 3)]
  assert.deepEqual(found(overwritten), ['lost update 1 2 3'])
})

test('a write to a part does not tell its client of the rest', () => {
  const metadata: Step = { by: 'A', operation: 'Set Blob Metadata', from: 2, to: 3 }
  const append: Step = { by: 'B', operation: 'Append Block', from: 1, to: 2 }
  const steps = [reads('A', 1), append, metadata, puts('A', 3, 4)]
  assert.deepEqual(found(steps), ['lost update 1 2 4'])
})

test('what was appended between two ranged reads does not tear them', () => {
  const ranged = (range: string, from: number): Step => ({
    ...reads('A', from),
    headers: { 'x-ms-range': `bytes=${range}` },
  })
  const change = (operation: string, range = ''): Step => ({
    by: 'B',
    operation,
    from: 1,
    to: 2,
    headers: range === '' ? {} : { range: `bytes=${range}` },
  })
  const around = (step: Step): readonly string[] =>
    found([ranged('0-9', 1), step, ranged('10-19', 2)])
  assert.deepEqual(around(change('Append Block')), [])
  assert.deepEqual(around(change('Put Page', '20-29')), [])
  assert.deepEqual(around(change('Put Page', '19-29')), ['torn read 1 2 3'])
  assert.deepEqual(around(change('Put Blob')), ['torn read 1 2 3'])
})

test('connections of one pool are no clients: what one has read, another may write', () => {
  const on = (connection: number, step: Step): Step => ({ ...step, by: '', connection })
  const sequential = [
    on(1, reads('', 1)),
    on(2, puts('', 1, 2)),
    on(3, reads('', 2)),
    on(1, puts('', 2, 3)),
  ]
  assert.deepEqual(found(sequential), [])
  const pooled = [on(1, reads('', 1)), on(2, puts('', 1, 2)), on(1, puts('', 2, 3))]
  assert.deepEqual(found(pooled), [])
  const blind = [on(1, puts('', 0, 1)), on(2, puts('', 1, 2)), on(1, puts('', 2, 3))]
  assert.deepEqual(found(blind), [])
})

test('connections race if both have read before either has written', () => {
  const on = (connection: number, step: Step): Step => ({ ...step, by: '', connection })
  const steps = [
    on(1, reads('', 1)),
    on(2, reads('', 1)),
    on(2, puts('', 1, 2)),
    on(1, puts('', 2, 3)),
  ]
  assert.deepEqual(found(steps), ['lost update 1 3 4'])
  const [race] = racesOf(steps)
  assert.deepEqual(race?.clients, ['127.0.0.1 #1', '127.0.0.1 #2'])
})

test('a hundred thousand entries, all of one object', () => {
  const steps: Step[] = []
  for (let version = 1; steps.length < 100_000; version += 1) {
    steps.push(puts(`client ${version % 100}`, version, version + 1))
  }
  // Everyone but each client's first write overwrites what its neighbour wrote.
  assert.equal(racesOf(steps).length, 100_000 - 100)
})

test('a report shows some of the races and counts the rest', async () => {
  const journal = new Journal({
    countMax: 1_000,
    bytesMax: 1 << 20,
    clientBy: CLIENT_BY,
    decodeHead,
  })
  for (const by of ['A', 'B']) journal.record(newEntryOf(reads(by, 1)))
  for (let version = 1; version <= 50; version += 1) {
    const step = puts(version % 2 === 0 ? 'A' : 'B', version, version + 1)
    journal.record(newEntryOf(step))
  }
  const races = createRaces(journal)
  assert.equal(races.races().length, 49)
  await assert.rejects(
    races.expectNoRaces(),
    /^Error: 49 races:\n1\. lost update: .*\n… and 29 more\.$/s,
  )
  journal.clear()
  await races.expectNoRaces()
})
