// Lease File: every action in every state, invalid requests, and that only the lease changes. lease-use.test.ts tests
// what a lease protects.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import { outcome, xmlText, type Headers, type RawResponse } from '../harness.ts'
import { startFileFixture } from './fixture.ts'
import { outcomeOf } from './smb-client.ts'

const A = '11111111-aaaa-4aaa-8aaa-111111111111'
const B = '22222222-bbbb-4bbb-8bbb-222222222222'
const C = '33333333-cccc-4ccc-8ccc-333333333333'

const { server, share, ...fixture } = await startFileFixture({ share: 'leases' })
let count = 0

async function newFile(): Promise<ShareFileClient> {
  const file = share.rootDirectoryClient.getFileClient(`file-${(count += 1)}`)
  await file.create(1_024)
  return file
}

function send(path: string, headers: Headers): Promise<RawResponse> {
  return fixture.send('PUT', path, headers)
}

function lease(file: ShareFileClient, headers: Headers) {
  return send(`/leases/${file.name}?comp=lease`, headers)
}

const acquire = (id?: string) => ({
  'x-ms-lease-action': 'acquire',
  'x-ms-lease-duration': '-1',
  ...(id !== undefined && { 'x-ms-proposed-lease-id': id }),
})
const use = (action: string, id: string, proposed?: string) => ({
  'x-ms-lease-action': action,
  'x-ms-lease-id': id,
  ...(proposed !== undefined && { 'x-ms-proposed-lease-id': proposed }),
})
const BREAK = { 'x-ms-lease-action': 'break' }

const STATES = ['available', 'leased', 'broken'] as const

async function enter(file: ShareFileClient, state: (typeof STATES)[number]): Promise<void> {
  if (state === 'available') return
  assert.equal((await lease(file, acquire(A))).status, 201)
  if (state === 'broken') assert.equal((await lease(file, BREAK)).status, 202)
}

const ABSENT = '409 LeaseNotPresentWithLeaseOperation'
const MISMATCH = '409 LeaseIdMismatchWithLeaseOperation'
const PRESENT = '409 LeaseAlreadyPresent'

// The outcome of each action on a file that is available, leased by A, or whose lease by A was broken; after the arrow
// the new state.
// prettier-ignore
const ACTIONS = [
  //                                    available          leased              broken
  ['acquire',      acquire(),           '201 → leased',    PRESENT,            '201 → leased'],
  ['acquire A',    acquire(A),          '201 → leased A',  '201 → leased A',   '201 → leased A'],
  ['acquire B',    acquire(B),          '201 → leased B',  PRESENT,            '201 → leased B'],
  ['change A → B', use('change', A, B), ABSENT,            '200 → leased B',   ABSENT],
  ['change B → A', use('change', B, A), ABSENT,            '200 → leased A',   ABSENT],
  ['change B → C', use('change', B, C), ABSENT,            MISMATCH,           ABSENT],
  ['release A',    use('release', A),   MISMATCH,          '200 → available',  '200 → available'],
  ['release B',    use('release', B),   MISMATCH,          MISMATCH,           MISMATCH],
  ['break',        BREAK,               ABSENT,            '202 → broken',     '202 → broken'],
] as const

describe('a lease action in each state', () => {
  for (const [action, headers, ...outcomes] of ACTIONS) {
    for (const [i, state] of STATES.entries()) {
      test(`${action}, ${state} → ${outcomes[i]}`, async () => {
        const file = await newFile()
        await enter(file, state)
        const response = await lease(file, headers)
        const [answered, entered = state === 'leased' ? 'leased A' : state] =
          outcomes[i]?.split(' → ') ?? []
        assert.equal(outcome(response), answered)
        const { leaseState, leaseStatus, leaseDuration } = await file.getProperties()
        const [expected, holder] = entered.split(' ')
        assert.equal(leaseState, expected)
        assert.equal(leaseStatus, expected === 'leased' ? 'locked' : 'unlocked')
        assert.equal(leaseDuration, expected === 'leased' ? 'infinite' : undefined)
        if (holder !== undefined) {
          const id = { A, B }[holder] ?? ''
          assert.equal((await lease(file, use('release', id))).status, 200)
        }
      })
    }
  }
})

describe('the response', () => {
  test('has the ETag and Last-Modified of the file, which do not change', async () => {
    const file = await newFile()
    const { etag, lastModified } = await file.getProperties()
    server.advance(5_000)
    for (const headers of [acquire(A), use('change', A, B), BREAK, use('release', B)]) {
      const { headers: answer } = await lease(file, headers)
      assert.equal(answer.etag, etag)
      assert.equal(answer['last-modified'], lastModified?.toUTCString())
    }
    assert.equal((await file.getProperties()).etag, etag)
  })

  test('has the lease id, which is generated if none is proposed', async () => {
    const file = await newFile()
    const { headers } = await lease(file, acquire())
    const id = String(headers['x-ms-lease-id'])
    assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal((await lease(file, use('change', id, C))).headers['x-ms-lease-id'], C)
    assert.equal((await lease(file, use('release', C))).headers['x-ms-lease-id'], undefined)
  })

  test('to a break has no time left, whatever the break period', async () => {
    const file = await newFile()
    await enter(file, 'leased')
    const { headers } = await lease(file, { ...BREAK, 'x-ms-lease-break-period': '30' })
    assert.equal(headers['x-ms-lease-time'], '0')
    assert.equal((await file.getProperties()).leaseState, 'broken')
  })
})

describe('refused:', () => {
  for (const [what, headers, expected, name] of [
    ['no action', {}, '400 MissingRequiredHeader', 'x-ms-lease-action'],
    [
      'an unknown action',
      { 'x-ms-lease-action': 'take' },
      '400 InvalidHeaderValue',
      'x-ms-lease-action',
    ],
    ['renew', use('renew', A), '400 InvalidHeaderValue', 'x-ms-lease-action'],
    [
      'acquire for 15 seconds',
      { ...acquire(), 'x-ms-lease-duration': '15' },
      '400 InvalidHeaderValue',
      'x-ms-lease-duration',
    ],
    [
      'acquire for 60 seconds',
      { ...acquire(), 'x-ms-lease-duration': '60' },
      '400 InvalidHeaderValue',
      'x-ms-lease-duration',
    ],
    [
      'acquire for 0 seconds',
      { ...acquire(), 'x-ms-lease-duration': '0' },
      '400 InvalidHeaderValue',
      'x-ms-lease-duration',
    ],
    [
      'acquire without a duration',
      { 'x-ms-lease-action': 'acquire' },
      '400 MissingRequiredHeader',
      'x-ms-lease-duration',
    ],
    [
      'acquire with an id that is not a GUID',
      acquire('me'),
      '400 InvalidHeaderValue',
      'x-ms-proposed-lease-id',
    ],
    [
      'change without an id',
      { 'x-ms-lease-action': 'change' },
      '400 MissingRequiredHeader',
      'x-ms-lease-id',
    ],
    [
      'change without a new id',
      use('change', A),
      '400 MissingRequiredHeader',
      'x-ms-proposed-lease-id',
    ],
    [
      'release without an id',
      { 'x-ms-lease-action': 'release' },
      '400 MissingRequiredHeader',
      'x-ms-lease-id',
    ],
  ] as const) {
    // prettier-ignore
    test(`${what} → ${expected} (${name})`, async () => {
      const file = await newFile()
      const response = await lease(file, headers)
      assert.equal(outcome(response), expected)
      assert.equal(xmlText(response.text, 'HeaderName'), name)
    })
  }

  test('a condition', async () => {
    const response = await lease(await newFile(), { ...acquire(), 'If-Match': '*' })
    assert.equal(outcome(response), '400 ConditionHeadersNotSupported')
  })

  test('on a snapshot', async () => {
    const file = await newFile()
    const { snapshot = '' } = await share.createSnapshot()
    const path = `/leases/${file.name}?comp=lease&sharesnapshot=${encodeURIComponent(snapshot)}`
    assert.equal(outcome(await send(path, acquire())), '400 InvalidQueryParameterValue')
  })

  test('for a missing file or a directory', async () => {
    await share.createDirectory('dir')
    for (const [path, expected] of [
      ['/none/a', '404 ShareNotFound'],
      ['/leases/none/a', '404 ParentNotFound'],
      ['/leases/none', '404 ResourceNotFound'],
      ['/leases/dir', '409 ResourceTypeMismatch'],
    ] as const) {
      assert.equal(outcome(await send(`${path}?comp=lease`, acquire())), expected)
    }
  })
})

describe('the SDK', () => {
  test('acquires, changes, releases and breaks', async () => {
    const file = await newFile()
    const client = file.getShareLeaseClient(A)
    assert.equal((await client.acquireLease()).leaseId, A)
    assert.equal((await client.changeLease(B)).leaseId, B)
    await client.releaseLease()
    await client.acquireLease()
    await client.breakLease()
    assert.equal((await file.getProperties()).leaseState, 'broken')
  })

  test('gets the lease for only one of many clients', async () => {
    const file = await newFile()
    const requests = Array.from({ length: 20 }, () =>
      outcomeOf(file.getShareLeaseClient().acquireLease()),
    )
    const outcomes = await Promise.all(requests)
    assert.equal(outcomes.filter((each) => each === 'ok').length, 1)
    assert.equal(outcomes.filter((each) => each === PRESENT).length, 19)
  })

  test('shows no lease for a file in a snapshot', async () => {
    const file = await newFile()
    await file.getShareLeaseClient(A).acquireLease()
    const { snapshot = '' } = await share.createSnapshot()
    const past = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient(file.name)
    assert.equal((await past.getProperties()).leaseState, undefined)
  })
})
