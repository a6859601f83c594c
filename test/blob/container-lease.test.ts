// Lease Container: every action in every state, the time that a break takes, and what a container's lease protects:
// only its deletion, though a lease id sent with any operation has to match.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AccountSASPermissions, ContainerSASPermissions } from '@azure/storage-blob'
import { outcome, xmlText, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'
import {
  A,
  B,
  C,
  enter,
  lease,
  LEASE_HEADERS,
  leasedContainer,
  leaseHeaders,
  leaseOf,
  STATES,
  testLeaseTables,
  type Leased,
} from './lease-table.ts'

const { server, service, container, send } = await startBlobFixture()
let count = 0

async function newContainer(): Promise<Leased> {
  const leased = leasedContainer(`leased-${(count += 1)}`)
  assert.equal((await send('PUT', leased.path)).status, 201)
  return leased
}

testLeaseTables(server, newContainer)

test('an expired lease can be renewed even if the container was written since', async () => {
  const leased = await newContainer()
  await enter(server, leased, 'expired')
  await send('PUT', `${leased.path}&comp=metadata`, { 'x-ms-meta-written': 'since' })
  assert.equal(outcome(await lease(server, leased, 'renew A')), '200')
})

for (const action of ['acquire 15', 'renew A', 'change A B', 'release A', 'break']) {
  test(`${action}, no such container → 404`, async () => {
    const answer = await lease(server, leasedContainer('nobox'), action)
    assert.equal(outcome(answer), '404 ContainerNotFound')
  })
}

describe('conditions of Lease Container', () => {
  // Every action accepts the two conditions with times, and no others.
  const CONDITIONS: readonly (readonly [name: string, shiftMs: number, met: boolean])[] = [
    ['If-Modified-Since', -1000, true],
    ['If-Modified-Since', 0, false],
    ['If-Unmodified-Since', -1000, false],
    ['If-Unmodified-Since', 0, true],
  ]
  for (const [action, ok] of [
    ['acquire 15 A', '201'],
    ['renew A', '200'],
    ['change A B', '200'],
    ['release A', '200'],
    ['break', '202'],
  ] as const) {
    for (const [name, shiftMs, isMet] of CONDITIONS) {
      test(`${action}, ${name} ${shiftMs} ms → ${isMet ? 'met' : 'unmet'}`, async () => {
        const leased = await newContainer()
        await enter(server, leased, 'leased')
        const { modified = '' } = await leaseOf(server, leased)
        const since = new Date(Date.parse(modified) + shiftMs).toUTCString()
        const answer = await lease(server, leased, action, { [name]: since })
        assert.equal(outcome(answer), isMet ? ok : '412 ConditionNotMet')
      })
    }
    test(`${action}, If-Match → refused`, async () => {
      const leased = await newContainer()
      await enter(server, leased, 'leased')
      const { etag = '' } = await leaseOf(server, leased)
      const answer = await lease(server, leased, action, { 'If-Match': etag })
      assert.equal(outcome(answer), '400 ConditionHeadersNotSupported')
    })
  }
})

const NONE = '412 LeaseNotPresentWithContainerOperation'
const OTHER = '412 LeaseIdMismatchWithContainerOperation'
const LOST = '412 LeaseLost'
const MISSING = '412 LeaseIdMissing'

type Uses = readonly [id: string | undefined, ...outcomes: readonly string[]]

//  id          available leased  breaking broken expired
const DELETE: readonly Uses[] = [
  [undefined,   'ok',     MISSING, MISSING, 'ok',  'ok'],
  [A,           NONE,     'ok',    'ok',    LOST,  LOST],
  [B,           NONE,     OTHER,   OTHER,   NONE,  NONE],
] // prettier-ignore
const OTHERS: readonly Uses[] = [
  [undefined,   'ok',     'ok',    'ok',    'ok',  'ok'],
  [A,           NONE,     'ok',    'ok',    LOST,  LOST],
  [B,           NONE,     OTHER,   OTHER,   NONE,  NONE],
] // prettier-ignore

const OPERATIONS: readonly (readonly [string, readonly Uses[], string, string, string])[] = [
  ['Delete Container', DELETE, 'DELETE', '', '202'],
  ['Get Container Properties', OTHERS, 'GET', '', '200'],
  ['Head Container', OTHERS, 'HEAD', '', '200'],
  ['Get Container Metadata', OTHERS, 'GET', '&comp=metadata', '200'],
  ['Set Container Metadata', OTHERS, 'PUT', '&comp=metadata', '200'],
  ['Get Container ACL', OTHERS, 'GET', '&comp=acl', '200'],
  ['Set Container ACL', OTHERS, 'PUT', '&comp=acl', '200'],
]

describe('an operation on a leased container', () => {
  for (const [name, uses, method, comp, ok] of OPERATIONS) {
    for (const [id, ...outcomes] of uses) {
      const sent = id === undefined ? 'no id' : id === A ? 'its id' : 'another id'
      test(`${name} with ${sent}`, async () => {
        for (const [i, state] of STATES.entries()) {
          const leased = await newContainer()
          await enter(server, leased, state)
          const headers: Headers = id === undefined ? {} : { 'x-ms-lease-id': id }
          const answer = await send(method, leased.path + comp, headers)
          assert.equal(outcome(answer), outcomes[i] === 'ok' ? ok : outcomes[i], state)
        }
      })
    }
  }

  test('operations on its blobs and lists need no lease id', async () => {
    const leased = await newContainer()
    await enter(server, leased, 'leased')
    const blob = `${leased.path.split('?')[0]}/b`
    assert.equal(outcome(await send('PUT', blob, BLOCK_BLOB, 'text')), '201')
    assert.equal(outcome(await send('GET', `${leased.path}&comp=list`)), '200')
    assert.equal(outcome(await send('DELETE', blob)), '202')
  })

  test('leases of its blobs do not prevent its deletion', async () => {
    const leased = await newContainer()
    const blob = `${leased.path.split('?')[0]}/b`
    await send('PUT', blob, BLOCK_BLOB, 'text')
    await lease(server, { path: blob, leasePath: `${blob}?comp=lease` }, 'acquire -1')
    assert.equal(outcome(await send('DELETE', leased.path)), '202')
  })
})

describe('properties and lists show the lease', () => {
  for (const [state, status, duration] of LEASE_HEADERS) {
    test(`${state}: ${status}, ${duration ?? 'no duration'}`, async () => {
      const leased = await newContainer()
      await enter(server, leased, state)
      const properties = await leaseOf(server, leased)
      assert.deepEqual([properties.status, properties.duration], [status, duration])
      const name = leased.path.slice(1).split('?')[0] ?? ''
      const { text } = await send('GET', `?comp=list&prefix=${name}&maxresults=1`)
      assert.equal(xmlText(text, 'Name'), name)
      assert.equal(xmlText(text, 'LeaseState'), state)
      assert.equal(xmlText(text, 'LeaseStatus'), status)
      assert.equal(xmlText(text, 'LeaseDuration'), duration)
    })
  }
})

test('the SDK acquires, renews, changes, releases and breaks a lease', async () => {
  const client = container.getBlobLeaseClient(A)
  const acquired = await client.acquireLease(15)
  assert.equal(acquired.leaseId, A)
  assert.equal((await client.renewLease()).leaseId, A)
  assert.equal((await client.changeLease(C)).leaseId, C)
  const properties = await container.getProperties()
  assert.deepEqual([properties.leaseState, properties.leaseDuration], ['leased', 'fixed'])
  assert.equal(properties.etag, acquired.etag)
  await assert.rejects(container.delete(), { statusCode: 412, code: 'LeaseIdMissing' })
  await client.releaseLease()
  await client.acquireLease(-1)
  assert.equal((await client.breakLease(20)).leaseTime, 20)
  server.advance(20_000)
  assert.equal((await container.getProperties()).leaseState, 'broken')
  await container.delete()
})

describe('a SAS', () => {
  const DENIED = '403 AuthorizationPermissionMismatch'
  const SAS: readonly (readonly [permissions: string, action: string, expected: string])[] = [
    ['w', 'acquire 15 A', '201'],
    ['d', 'acquire 15 A', DENIED],
    ['w', 'break', '202'],
    ['d', 'break', '202'],
    ['r', 'break', DENIED],
  ]
  for (const [permissions, action, expected] of SAS) {
    test(`of the account, with ${permissions}: ${action} → ${expected}`, async () => {
      const leased = await newContainer()
      await enter(server, leased, 'leased')
      const expiresOn = new Date(server.now() + 3_600_000)
      const parsed = AccountSASPermissions.parse(permissions)
      const { search } = new URL(service.generateAccountSasUrl(expiresOn, parsed, 'c'))
      const headers = leaseHeaders(action)
      const answer = await send('PUT', leased.leasePath, headers, undefined, search)
      assert.equal(outcome(answer), expected)
    })
  }

  test('of a container never permits Lease Container', async () => {
    const leased = await newContainer()
    const container = service.getContainerClient(leased.path.slice(1).split('?')[0] ?? '')
    const expiresOn = new Date(server.now() + 3_600_000)
    const permissions = ContainerSASPermissions.parse('rwd')
    const { search } = new URL(await container.generateSasUrl({ permissions, expiresOn }))
    const headers = leaseHeaders('acquire 15')
    const answer = await send('PUT', leased.leasePath, headers, undefined, search)
    assert.equal(outcome(answer), '403 AuthorizationFailure')
  })
})
