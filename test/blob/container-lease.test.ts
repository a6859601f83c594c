// Lease Container: every action in every state, how long a break takes, what a container's lease guards
// (its deletion, nothing else), and what an id that is sent anyway must be.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  AccountSASPermissions,
  BlobServiceClient,
  ContainerSASPermissions,
} from '@azure/storage-blob'
import { rawRequest, startTestServer, xmlText, type TestServer } from '../harness.ts'
import {
  A,
  ACTIONS,
  B,
  BREAKS_TAKE,
  C,
  checkAction,
  checkBreak,
  enter,
  lease,
  leasedContainer,
  leaseHeaders,
  leaseOf,
  outcome,
  REFUSED,
  send as sendTo,
  STATES,
  type Headers,
  type Leased,
  type State,
} from './lease-table.ts'

let server: TestServer
let count = 0

before(async () => {
  server = await startTestServer()
})

after(() => server.close())

async function newContainer(): Promise<Leased> {
  const leased = leasedContainer(`leased-${(count += 1)}`)
  assert.equal((await send('PUT', leased.path)).status, 201)
  return leased
}

function send(method: string, path: string, headers: Headers = {}, body?: string) {
  return sendTo(server, method, path, headers, body)
}

describe('an action on a state', () => {
  for (const [action, ...outcomes] of ACTIONS) {
    for (const [i, state] of STATES.entries()) {
      const said = outcomes[i] ?? ''
      test(`${action}, ${state} → ${said}`, async () => {
        await checkAction(server, await newContainer(), action, state, said)
      })
    }
  }

  test('an expired lease is renewed even if the container was written since', async () => {
    const leased = await newContainer()
    await enter(server, leased, 'expired')
    await send('PUT', `${leased.path}&comp=metadata`, { 'x-ms-meta-written': 'since' })
    assert.equal(outcome(await lease(server, leased, 'renew A')), '200')
  })
})

describe('how long a break takes', () => {
  for (const row of BREAKS_TAKE) {
    test(`${row[0]}, ${row[1]} s later ${row[2]} → ${row[3]}`, async () => {
      await checkBreak(server, await newContainer(), row)
    })
  }
})

describe('what is refused', () => {
  for (const [title, headers, code] of REFUSED) {
    test(`${title} → ${code}`, async () => {
      const leased = await newContainer()
      assert.equal(outcome(await send('PUT', leased.leasePath, headers)), code)
      assert.equal((await leaseOf(server, leased)).state, 'available')
    })
  }

  for (const action of ['acquire 15', 'renew A', 'change A B', 'release A', 'break']) {
    test(`${action}, no container → 404`, async () => {
      const answer = await lease(server, leasedContainer('nobox'), action)
      assert.equal(outcome(answer), '404 ContainerNotFound')
    })
  }
})

describe('conditions', () => {
  // Times only, and both count for every action.
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
        const said = outcome(await lease(server, leased, action, { [name]: since }))
        assert.equal(said, isMet ? ok : '412 ConditionNotMet')
      })
    }
    test(`${action}, If-Match → refused`, async () => {
      const leased = await newContainer()
      await enter(server, leased, 'leased')
      const { etag = '' } = await leaseOf(server, leased)
      const said = outcome(await lease(server, leased, action, { 'If-Match': etag }))
      assert.equal(said, '400 ConditionHeadersNotSupported')
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

describe('a lease id on operations', () => {
  for (const [name, uses, method, comp, ok] of OPERATIONS) {
    for (const [id, ...outcomes] of uses) {
      const whose = id === undefined ? 'no id' : id === A ? 'its id' : 'another id'
      test(`${name}, ${whose}`, async () => {
        for (const [i, state] of STATES.entries()) {
          const leased = await newContainer()
          await enter(server, leased, state)
          const headers: Headers = id === undefined ? {} : { 'x-ms-lease-id': id }
          const said = outcome(await send(method, leased.path + comp, headers))
          assert.equal(said, outcomes[i] === 'ok' ? ok : outcomes[i], state)
        }
      })
    }
  }

  test('blobs and lists don’t mind the container’s lease', async () => {
    const leased = await newContainer()
    await enter(server, leased, 'leased')
    const blob = `${leased.path.split('?')[0]}/b`
    const type = { 'x-ms-blob-type': 'BlockBlob' }
    assert.equal(outcome(await send('PUT', blob, type, 'text')), '201')
    assert.equal(outcome(await send('GET', `${leased.path}&comp=list`)), '200')
    assert.equal(outcome(await send('DELETE', blob)), '202')
  })

  test('a container is deleted over the heads of those who lease its blobs', async () => {
    const leased = await newContainer()
    const blob = `${leased.path.split('?')[0]}/b`
    await send('PUT', blob, { 'x-ms-blob-type': 'BlockBlob' }, 'text')
    await lease(server, { path: blob, leasePath: `${blob}?comp=lease` }, 'acquire -1')
    assert.equal(outcome(await send('DELETE', leased.path)), '202')
  })
})

describe('what is shown of a lease', () => {
  const SHOWN: readonly (readonly [State, string, string | undefined])[] = [
    ['available', 'unlocked', undefined],
    ['leased', 'locked', 'fixed'],
    ['breaking', 'locked', undefined],
    ['broken', 'unlocked', undefined],
    ['expired', 'unlocked', undefined],
  ]
  for (const [state, status, duration] of SHOWN) {
    test(`${state}: ${status}, ${duration ?? 'no duration'}`, async () => {
      const leased = await newContainer()
      await enter(server, leased, state)
      const shown = await leaseOf(server, leased)
      assert.deepEqual([shown.status, shown.duration], [status, duration])
      const name = leased.path.slice(1).split('?')[0] ?? ''
      const { text } = await send('GET', `?comp=list&prefix=${name}&maxresults=1`)
      assert.equal(xmlText(text, 'Name'), name)
      assert.equal(xmlText(text, 'LeaseState'), state)
      assert.equal(xmlText(text, 'LeaseStatus'), status)
      assert.equal(xmlText(text, 'LeaseDuration'), duration)
    })
  }
})

describe('with the SDK', () => {
  test('acquire, renew, change, release, break', async () => {
    const service = BlobServiceClient.fromConnectionString(server.connectionString)
    const container = service.getContainerClient('box')
    await container.create()
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
})

describe('with a shared access signature', () => {
  const DENIED = '403 AuthorizationPermissionMismatch'
  const SAS: readonly (readonly [permissions: string, action: string, said: string])[] = [
    ['w', 'acquire 15 A', '201'],
    ['d', 'acquire 15 A', DENIED],
    ['w', 'break', '202'],
    ['d', 'break', '202'],
    ['r', 'break', DENIED],
  ]
  for (const [permissions, action, said] of SAS) {
    test(`of the account, ${permissions}: ${action} → ${said}`, async () => {
      const leased = await newContainer()
      await enter(server, leased, 'leased')
      const service = BlobServiceClient.fromConnectionString(server.connectionString)
      const expiresOn = new Date(server.now() + 3_600_000)
      const url = service.generateAccountSasUrl(
        expiresOn,
        AccountSASPermissions.parse(permissions),
        'c',
      )
      const answer = await rawRequest(server, {
        method: 'PUT',
        path: leased.leasePath,
        headers: leaseHeaders(action),
        sign: url.slice(url.indexOf('?') + 1),
      })
      assert.equal(outcome(answer), said)
    })
  }

  test('of a container never', async () => {
    const leased = await newContainer()
    const service = BlobServiceClient.fromConnectionString(server.connectionString)
    const container = service.getContainerClient(leased.path.slice(1).split('?')[0] ?? '')
    const expiresOn = new Date(server.now() + 3_600_000)
    const permissions = ContainerSASPermissions.parse('rwd')
    const url = await container.generateSasUrl({ permissions, expiresOn })
    const answer = await rawRequest(server, {
      method: 'PUT',
      path: leased.leasePath,
      headers: leaseHeaders('acquire 15'),
      sign: url.slice(url.indexOf('?') + 1),
    })
    assert.equal(outcome(answer), '403 AuthorizationFailure')
  })
})
