// The leases of blobs and containers, which follow the same table: how a test puts a lease into each state, and what
// each action then does. The test controls the clock, so nothing waits for a lease to end.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome, rawRequest, type Headers, type TestServer } from '../harness.ts'

export const A = '11111111-aaaa-4aaa-8aaa-111111111111'
export const B = '22222222-bbbb-4bbb-8bbb-222222222222'
export const C = '33333333-cccc-4ccc-8ccc-333333333333'

/** `acquire 15 A` as headers: the number is the duration or the break period, the letter the lease id. */
export function leaseHeaders(text: string): Headers {
  const [action = '', ...words] = text.split(' ')
  const headers: Record<string, string> = { 'x-ms-lease-action': action }
  const ids = words.filter((word) => Object.hasOwn(IDS, word)).map((word) => IDS[word] ?? '')
  const seconds = words.find((word) => /^-?\d+$/.test(word))
  const [first, second] = ids
  if (first !== undefined) {
    headers[action === 'acquire' ? 'x-ms-proposed-lease-id' : 'x-ms-lease-id'] = first
  }
  if (second !== undefined) headers['x-ms-proposed-lease-id'] = second
  if (seconds !== undefined) {
    headers[action === 'break' ? 'x-ms-lease-break-period' : 'x-ms-lease-duration'] = seconds
  }
  return headers
}

const IDS: Readonly<Record<string, string>> = { A, B, C }

/** A leased blob or container: the path to read it, and the path of its Lease operation. */
export type Leased = { readonly path: string; readonly leasePath: string }

export function leasedBlob(path: string): Leased {
  return { path, leasePath: `${path}?comp=lease` }
}

export function leasedContainer(name: string): Leased {
  const path = `/${name}?restype=container`
  return { path, leasePath: `${path}&comp=lease` }
}

export function lease(server: TestServer, { leasePath }: Leased, text: string, more: Headers = {}) {
  const headers = { ...leaseHeaders(text), ...more }
  return rawRequest(server, { method: 'PUT', path: leasePath, headers })
}

export const STATES = ['available', 'leased', 'breaking', 'broken', 'expired'] as const
export type State = (typeof STATES)[number]

/** Actions, and seconds to wait. */
const STEPS: Readonly<Record<State, readonly (string | number)[]>> = {
  available: [],
  leased: ['acquire 15 A'],
  breaking: ['acquire 60 A', 'break 10'],
  broken: ['acquire 60 A', 'break 0'],
  expired: ['acquire 15 A', 15],
}

export async function enter(server: TestServer, leased: Leased, state: State): Promise<void> {
  for (const step of STEPS[state]) {
    if (typeof step === 'number') server.advance(step * 1000)
    else assert.ok((await lease(server, leased, step)).status < 300, step)
  }
  assert.equal((await leaseOf(server, leased)).state, state)
}

export type LeaseProperties = {
  readonly state: string | undefined
  readonly status: string | undefined
  readonly duration: string | undefined
  readonly etag: string | undefined
  readonly modified: string | undefined
}

export async function leaseOf(server: TestServer, { path }: Leased): Promise<LeaseProperties> {
  const { headers } = await rawRequest(server, { method: 'HEAD', path })
  const text = (name: string) => headers[name]?.toString()
  return {
    state: text('x-ms-lease-state'),
    status: text('x-ms-lease-status'),
    duration: text('x-ms-lease-duration'),
    etag: headers.etag,
    modified: headers['last-modified'],
  }
}

const PRESENT = '409 LeaseAlreadyPresent'
const ABSENT = '409 LeaseNotPresentWithLeaseOperation'
const OTHER = '409 LeaseIdMismatchWithLeaseOperation'
const BREAKING = '409 LeaseIsBreakingAndCannotBeAcquired'
const FIXED = '409 LeaseIsBreakingAndCannotBeChanged'
const BROKEN = '409 LeaseIsBrokenAndCannotBeRenewed'

type Row = readonly [action: string, ...outcomes: readonly [string, string, string, string, string]]

/** Status, state and lease id after each action; X is an id that the service generated. An error changes nothing. */
const ACTIONS: readonly Row[] = [
  // action         available       leased A         breaking A       broken A        expired A
  ['acquire 15',    '201 leased X', PRESENT,         PRESENT,         '201 leased X', '201 leased X'],
  ['acquire 15 A',  '201 leased A', '201 leased A',  BREAKING,        '201 leased A', '201 leased A'],
  ['acquire 15 B',  '201 leased B', PRESENT,         PRESENT,         '201 leased B', '201 leased B'],
  ['renew A',       OTHER,          '200 leased A',  BROKEN,          BROKEN,         '200 leased A'],
  ['renew B',       OTHER,          OTHER,           OTHER,           OTHER,          OTHER],
  ['change A B',    ABSENT,         '200 leased B',  FIXED,           ABSENT,         ABSENT],
  ['change B A',    ABSENT,         '200 leased A',  OTHER,           ABSENT,         ABSENT],
  ['change B C',    ABSENT,         OTHER,           OTHER,           ABSENT,         ABSENT],
  ['release A',     OTHER,          '200 available', '200 available', '200 available', '200 available'],
  ['release B',     OTHER,          OTHER,           OTHER,           OTHER,          OTHER],
  ['break',         ABSENT,         '202 breaking',  '202 breaking',  '202 broken',   '202 broken'],
  ['break B',       ABSENT,         '202 breaking',  '202 breaking',  '202 broken',   '202 broken'],
  ['break 0',       ABSENT,         '202 broken',    '202 broken',    '202 broken',   '202 broken'],
] // prettier-ignore

/** Tests one cell of the table. */
async function checkAction(
  server: TestServer,
  leased: Leased,
  action: string,
  state: State,
  expected: string,
): Promise<void> {
  await enter(server, leased, state)
  const before = await leaseOf(server, leased)
  const response = await lease(server, leased, action)
  const after = await leaseOf(server, leased)
  const { headers } = response
  if (expected.startsWith('409')) {
    assert.equal(outcome(response), expected)
    assert.deepEqual(after, before)
    return
  }
  const [status, stateAfter, idName] = expected.split(' ')
  assert.deepEqual([outcome(response), after.state], [status, stateAfter])
  // No action changes the ETag or Last-Modified, and the response has them.
  assert.deepEqual([after.etag, after.modified], [before.etag, before.modified])
  assert.deepEqual([headers.etag, headers['last-modified']], [before.etag, before.modified])
  const id = headers['x-ms-lease-id']?.toString()
  assert.equal(headers['x-ms-lease-time'] !== undefined, action.startsWith('break'))
  if (idName === undefined) assert.equal(id, undefined)
  else if (idName !== 'X') assert.equal(id, IDS[idName])
  if (id === undefined) return
  assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  const read = { method: 'HEAD', path: leased.path, headers: { 'x-ms-lease-id': id } }
  assert.equal(outcome(await rawRequest(server, read)), '200')
}

type Break = readonly [lease: string, afterSeconds: number, breaks: string, leaseTime: string]

/** A break never takes longer than the rest of the lease, or than the break that has already begun. */
const BREAKS: readonly Break[] = [
  ['acquire -1', 0, 'break', '0'],
  ['acquire -1', 0, 'break 0', '0'],
  ['acquire -1', 0, 'break 1', '1'],
  ['acquire -1', 100, 'break 60', '60'],
  ['acquire 60', 0, 'break', '60'],
  ['acquire 60', 20, 'break', '40'],
  ['acquire 60', 20, 'break 10', '10'],
  ['acquire 60', 20, 'break 60', '40'],
  ['acquire 60', 20, 'break 0', '0'],
  // Rounded up, so that the lease is broken after that many seconds.
  ['acquire 60', 20.5, 'break', '40'],
  ['acquire 60', 61, 'break 30', '0'],
  ['acquire -1, break 30', 10, 'break', '20'],
  ['acquire -1, break 30', 10, 'break 60', '20'],
  ['acquire -1, break 30', 10, 'break 5', '5'],
  ['acquire -1, break 30', 10, 'break 0', '0'],
  ['acquire -1, break 30', 31, 'break 60', '0'],
]

async function checkBreak(server: TestServer, leased: Leased, row: Break): Promise<void> {
  const [before, afterSeconds, breaks, leaseTime] = row
  for (const action of before.split(', ')) await lease(server, leased, action)
  server.advance(afterSeconds * 1000)
  const response = await lease(server, leased, breaks)
  assert.deepEqual([outcome(response), response.headers['x-ms-lease-time']], ['202', leaseTime])
  const isOver = leaseTime === '0'
  assert.equal((await leaseOf(server, leased)).state, isOver ? 'broken' : 'breaking')
  if (isOver) return
  server.advance((Number(leaseTime) - 1) * 1000)
  assert.equal((await leaseOf(server, leased)).state, 'breaking')
  server.advance(1000)
  assert.equal((await leaseOf(server, leased)).state, 'broken')
}

type Invalid = readonly [title: string, headers: Headers, code: string]

const MISSING = '400 MissingRequiredHeader'
const INVALID = '400 InvalidHeaderValue'
const action = (name: string, more: Headers = {}): Headers => ({
  'x-ms-lease-action': name,
  ...more,
})

const INVALID_REQUESTS: readonly Invalid[] = [
  ['no action', {}, MISSING],
  ['an unknown action', action('steal'), INVALID],
  ['acquire without a duration', action('acquire'), MISSING],
  ...['14', '61', '0', '-2', '15.5', 'long'].map(
    (seconds): Invalid => [`acquire for ${seconds}`, action('acquire', { 'x-ms-lease-duration': seconds }), INVALID],
  ),
  ['acquire with an id that is not a GUID', { ...leaseHeaders('acquire 15'), 'x-ms-proposed-lease-id': 'mine' }, INVALID],
  ['renew without an id', action('renew'), MISSING],
  ['renew with an id that is not a GUID', action('renew', { 'x-ms-lease-id': 'mine' }), INVALID],
  ['release without an id', action('release'), MISSING],
  ['change without the current id', action('change', { 'x-ms-proposed-lease-id': B }), MISSING],
  ['change without a new id', action('change', { 'x-ms-lease-id': A }), MISSING],
  ['change to an id that is not a GUID', action('change', { 'x-ms-lease-id': A, 'x-ms-proposed-lease-id': 'mine' }), INVALID],
  ...['-1', '61', 'soon'].map(
    (seconds): Invalid => [`break in ${seconds}`, action('break', { 'x-ms-lease-break-period': seconds }), INVALID],
  ),
] // prettier-ignore

/** The lease headers in each state. */
export const LEASE_HEADERS: readonly (readonly [State, string, string | undefined])[] = [
  ['available', 'unlocked', undefined],
  ['leased', 'locked', 'fixed'],
  ['breaking', 'locked', undefined],
  ['broken', 'unlocked', undefined],
  ['expired', 'unlocked', undefined],
]

/** The suites that blobs and containers share; `create` creates what is to be leased. */
export function testLeaseTables(server: TestServer, create: () => Promise<Leased>): void {
  describe('a lease action in each state', () => {
    for (const [action, ...outcomes] of ACTIONS) {
      for (const [i, state] of STATES.entries()) {
        const expected = outcomes[i] ?? ''
        test(`${action}, ${state} → ${expected}`, async () => {
          await checkAction(server, await create(), action, state, expected)
        })
      }
    }
  })

  describe('the time that a break takes', () => {
    for (const row of BREAKS) {
      test(`${row[0]}, ${row[1]} s later ${row[2]} → ${row[3]}`, async () => {
        await checkBreak(server, await create(), row)
      })
    }
  })

  describe('an invalid lease request', () => {
    for (const [title, headers, code] of INVALID_REQUESTS) {
      test(`${title} → ${code}`, async () => {
        const leased = await create()
        const request = { method: 'PUT', path: leased.leasePath, headers }
        assert.equal(outcome(await rawRequest(server, request)), code)
        assert.equal((await leaseOf(server, leased)).state, 'available')
      })
    }
  })
}
