// Lease Blob: every action in every state, the time that breaks and leases take, invalid requests, and that only one
// of many clients gets a lease. lease-use.test.ts tests what a lease protects.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobSASPermissions } from '@azure/storage-blob'
import { outcome, xmlText, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'
import {
  A,
  B,
  C,
  enter,
  lease,
  LEASE_HEADERS,
  leasedBlob,
  leaseHeaders,
  leaseOf,
  testLeaseTables,
  type Leased,
  type State,
} from './lease-table.ts'

const { server, container, send } = await startBlobFixture()
let count = 0

async function newBlob(headers: Headers = {}): Promise<Leased> {
  const leased = leasedBlob(`/box/leased-${(count += 1)}`)
  const put = await send('PUT', leased.path, { ...BLOCK_BLOB, ...headers }, 'text')
  assert.equal(put.status, 201)
  return leased
}

testLeaseTables(server, () => newBlob())

test('a released lease is forgotten', async () => {
  for (const [action, code] of [
    ['renew A', '409 LeaseIdMismatchWithLeaseOperation'],
    ['release A', '409 LeaseIdMismatchWithLeaseOperation'],
    ['change A B', '409 LeaseNotPresentWithLeaseOperation'],
    ['break', '409 LeaseNotPresentWithLeaseOperation'],
  ] as const) {
    const leased = await newBlob()
    await enter(server, leased, 'leased')
    await lease(server, leased, 'release A')
    assert.equal(outcome(await lease(server, leased, action)), code, action)
  }
})

describe('the time that a lease lasts', () => {
  // Actions and seconds to wait, and the state after them. Acquire and renew restart the duration.
  const TERMS: readonly (readonly [string, State])[] = [
    ['acquire 15 A; 14.999', 'leased'],
    ['acquire 15 A; 15', 'expired'],
    ['acquire 60 A; 59.999', 'leased'],
    ['acquire 60 A; 60', 'expired'],
    ['acquire -1 A; 10000000', 'leased'],
    ['acquire 15 A; 10; renew A; 14.999', 'leased'],
    ['acquire 15 A; 10; renew A; 15', 'expired'],
    ['acquire 15 A; 100; renew A; 14.999', 'leased'],
    ['acquire 15 A; 10; acquire 60 A; 59.999', 'leased'],
    ['acquire 60 A; 10; acquire 15 A; 15', 'expired'],
    ['acquire -1 A; acquire 15 A; 15', 'expired'],
    ['acquire 15 A; acquire -1 A; 15', 'leased'],
    // A change does not restart it, and neither change nor renew alters it.
    ['acquire 15 A; 10; change A B; 4.999', 'leased'],
    ['acquire 15 A; 10; change A B; 5', 'expired'],
    ['acquire 15 A; change A B; renew B; 15', 'expired'],
    ['acquire -1 A; change A B; renew B; 15', 'leased'],
    // A break ends it even if the holder has renewed it in the meantime.
    ['acquire 60 A; break 10; renew A; 10', 'broken'],
    ['acquire 15 A; break 60; 15', 'broken'],
  ]
  for (const [steps, state] of TERMS) {
    test(`${steps} → ${state}`, async () => {
      const leased = await newBlob()
      for (const step of steps.split('; ')) {
        if (/^[\d.]+$/.test(step)) server.advance(Number(step) * 1000)
        else await lease(server, leased, step)
      }
      assert.equal((await leaseOf(server, leased)).state, state)
    })
  }
})

describe('an expired lease can be renewed only if nothing was written since', () => {
  const WRITES: readonly (readonly [string, string, string, Headers, string])[] = [
    ['Put Blob', 'PUT', '', BLOCK_BLOB, '409 LeaseIdMismatchWithLeaseOperation'],
    ['Set Blob Metadata', 'PUT', '?comp=metadata', {}, '409 LeaseIdMismatchWithLeaseOperation'],
    ['Set Blob Properties', 'PUT', '?comp=properties', {}, '409 LeaseIdMismatchWithLeaseOperation'],
    ['Get Blob', 'GET', '', {}, '200'],
    ['Snapshot Blob', 'PUT', '?comp=snapshot', {}, '200'],
    ['Lease Blob of another', 'PUT', '?comp=lease', leaseHeaders('acquire 15 B'), '409 LeaseIdMismatchWithLeaseOperation'],
  ] // prettier-ignore
  for (const [name, method, query, headers, expected] of WRITES) {
    test(`${name}, then renew → ${expected}`, async () => {
      const leased = await newBlob()
      await enter(server, leased, 'expired')
      assert.ok((await send(method, leased.path + query, headers)).status < 300)
      assert.equal(outcome(await lease(server, leased, 'renew A')), expected)
    })
  }

  test('a broken lease becomes available with a write', async () => {
    const leased = await newBlob()
    await enter(server, leased, 'broken')
    assert.equal((await send('PUT', `${leased.path}?comp=metadata`)).status, 200)
    assert.equal((await leaseOf(server, leased)).state, 'available')
  })
})

describe('a lease request for', () => {
  for (const action of ['acquire 15', 'renew A', 'change A B', 'release A', 'break']) {
    test(`a blob that does not exist (${action}) → 404`, async () => {
      const [noBlob, noBox] = [leasedBlob('/box/none'), leasedBlob('/nobox/none')]
      assert.equal(outcome(await lease(server, noBlob, action)), '404 BlobNotFound')
      assert.equal(outcome(await lease(server, noBox, action)), '404 ContainerNotFound')
    })

    test(`a snapshot (${action}) → 400`, async () => {
      const { path } = await newBlob()
      const taken = await send('PUT', `${path}?comp=snapshot`)
      const snapshot = `?snapshot=${taken.headers['x-ms-snapshot']?.toString() ?? ''}`
      const past = { path: path + snapshot, leasePath: `${path}${snapshot}&comp=lease` }
      assert.equal(outcome(await lease(server, past, action)), '400 InvalidQueryParameterValue')
    })
  }
})

test('a lease id is a GUID in any form that .NET reads', async () => {
  const digits = A.replaceAll('-', '')
  const tail =
    digits
      .slice(16)
      .match(/../g)
      ?.map((byte) => `0x${byte}`) ?? []
  const x = `{0x${digits.slice(0, 8)},0x${digits.slice(8, 12)},0x${digits.slice(12, 16)},{${tail.join(',')}}}`
  for (const form of [A, A.toUpperCase(), digits, `{${A}}`, `(${A})`, x]) {
    const leased = await newBlob()
    const proposed = { 'x-ms-proposed-lease-id': form }
    const acquired = await lease(server, leased, 'acquire 15', proposed)
    assert.deepEqual([outcome(acquired), acquired.headers['x-ms-lease-id']], ['201', A], form)
    const renewed = await lease(server, leased, 'renew', { 'x-ms-lease-id': form })
    assert.equal(outcome(renewed), '200', form)
  }
})

describe('conditions of Lease Blob', () => {
  type At = { readonly etag: string; readonly modifiedMs: number }
  const date = (timeMs: number) => new Date(timeMs).toUTCString()
  const UNMET = '412 ConditionNotMet'
  const MANY = '400 MultipleConditionHeadersNotSupported'
  const CONDITIONS: readonly (readonly [string, (at: At) => Headers, string])[] = [
    ['If-Match, the ETag', ({ etag }) => ({ 'If-Match': etag }), 'ok'],
    ['If-Match, any', () => ({ 'If-Match': '*' }), 'ok'],
    ['If-Match, another', () => ({ 'If-Match': '"0x1"' }), UNMET],
    ['If-None-Match, another', () => ({ 'If-None-Match': '"0x1"' }), 'ok'],
    ['If-None-Match, the ETag', ({ etag }) => ({ 'If-None-Match': etag }), UNMET],
    ['If-Modified-Since before', (at) => ({ 'If-Modified-Since': date(at.modifiedMs - 1000) }), 'ok'],
    ['If-Modified-Since at the same time', (at) => ({ 'If-Modified-Since': date(at.modifiedMs) }), UNMET],
    ['If-Unmodified-Since at the same time', (at) => ({ 'If-Unmodified-Since': date(at.modifiedMs) }), 'ok'],
    ['If-Unmodified-Since before', (at) => ({ 'If-Unmodified-Since': date(at.modifiedMs - 1000) }), UNMET],
    ['two that exclude each other', ({ etag }) => ({ 'If-Match': etag, 'If-None-Match': '"0x1"' }), MANY],
    ['matching tags', () => ({ 'x-ms-if-tags': "state = 'new'" }), 'ok'],
    ['other tags', () => ({ 'x-ms-if-tags': "state = 'old'" }), UNMET],
    // Conditions are checked before the lease.
    ['unmet, and the wrong id', () => ({ 'If-Match': '"0x1"', 'x-ms-lease-id': B }), UNMET],
  ] // prettier-ignore
  for (const [action, ok] of [
    ['acquire 15 A', '201'],
    ['renew A', '200'],
    ['change A B', '200'],
    ['release A', '200'],
    ['break', '202'],
  ] as const) {
    for (const [title, headers, expected] of CONDITIONS) {
      test(`${action}, ${title} → ${expected}`, async () => {
        const leased = await newBlob({ 'x-ms-tags': 'state=new' })
        await enter(server, leased, 'leased')
        const before = await leaseOf(server, leased)
        const at = { etag: before.etag ?? '', modifiedMs: Date.parse(before.modified ?? '') }
        const answer = await lease(server, leased, action, headers(at))
        assert.equal(outcome(answer), expected === 'ok' ? ok : expected)
        if (expected !== 'ok') assert.deepEqual(await leaseOf(server, leased), before)
      })
    }
  }
})

describe('properties and lists show the lease', () => {
  for (const [state, status, duration] of LEASE_HEADERS) {
    test(`${state}: ${status}, ${duration ?? 'no duration'}`, async () => {
      const leased = await newBlob()
      await enter(server, leased, state)
      for (const method of ['GET', 'HEAD']) {
        const { headers } = await send(method, leased.path)
        assert.equal(headers['x-ms-lease-state'], state)
        assert.equal(headers['x-ms-lease-status'], status)
        assert.equal(headers['x-ms-lease-duration'], duration)
      }
      const name = leased.path.slice('/box/'.length)
      const list = `/box?restype=container&comp=list&maxresults=1&prefix=${name}`
      const { text } = await send('GET', list)
      assert.equal(xmlText(text, 'Name'), name)
      assert.equal(xmlText(text, 'LeaseState'), state)
      assert.equal(xmlText(text, 'LeaseStatus'), status)
      assert.equal(xmlText(text, 'LeaseDuration'), duration)
    })
  }

  test('an infinite lease has an infinite duration', async () => {
    const leased = await newBlob()
    await lease(server, leased, 'acquire -1')
    assert.equal((await leaseOf(server, leased)).duration, 'infinite')
  })
})

test('the SDK acquires, renews, changes, releases and breaks a lease', async () => {
  const blob = container.getBlockBlobClient('sdk')
  const put = await blob.upload('text', 4)
  const client = blob.getBlobLeaseClient(A)
  const acquired = await client.acquireLease(15)
  assert.equal(acquired.leaseId, A)
  assert.deepEqual([acquired.etag, acquired.lastModified], [put.etag, put.lastModified])
  assert.equal((await client.renewLease()).leaseId, A)
  assert.equal((await client.changeLease(C)).leaseId, C)
  await assert.rejects(blob.upload('x', 1), { statusCode: 412, code: 'LeaseIdMissing' })
  await blob.upload('more', 4, { conditions: { leaseId: C } })
  await client.releaseLease()
  await client.acquireLease(-1)
  assert.equal((await client.breakLease(20)).leaseTime, 20)
  server.advance(20_000)
  assert.equal((await blob.getProperties()).leaseState, 'broken')
  await assert.rejects(client.renewLease(), { code: 'LeaseIsBrokenAndCannotBeRenewed' })
})

describe('a SAS of the blob', () => {
  // Every action needs w; d is enough for a break.
  const SAS: readonly (readonly [string, string, string])[] = [
    ['w', 'acquire 15 A', '201'],
    ['d', 'acquire 15 A', '403 AuthorizationPermissionMismatch'],
    ['r', 'acquire 15 A', '403 AuthorizationPermissionMismatch'],
    ['d', 'break', '202'],
    ['w', 'break', '202'],
    ['r', 'break', '403 AuthorizationPermissionMismatch'],
  ]
  for (const [permissions, action, expected] of SAS) {
    test(`with ${permissions}: ${action} → ${expected}`, async () => {
      const leased = await newBlob()
      await enter(server, leased, 'leased')
      const blob = container.getBlobClient(leased.path.slice('/box/'.length))
      const expiresOn = new Date(server.now() + 3_600_000)
      const parsed = BlobSASPermissions.parse(permissions)
      const url = new URL(await blob.generateSasUrl({ permissions: parsed, expiresOn }))
      const headers = leaseHeaders(action)
      const answer = await send('PUT', leased.leasePath, headers, undefined, url.search)
      assert.equal(outcome(answer), expected)
    })
  }
})

for (const onDisk of [false, true]) {
  test(`only one of 100 clients gets the lease, ${onDisk ? 'on disk' : 'in memory'}`, async () => {
    const own = await startBlobFixture({ onDisk })
    const leased = leasedBlob('/box/wanted')
    await own.put('wanted', 'text')
    for (const want of ['acquire 15', 'acquire -1']) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => lease(own.server, leased, want)),
      )
      const winners = answers.filter(({ status }) => status === 201)
      assert.equal(winners.length, 1)
      const others = answers.filter(({ status }) => status !== 201).map(outcome)
      assert.deepEqual(new Set(others), new Set(['409 LeaseAlreadyPresent']))
      const id = winners[0]?.headers['x-ms-lease-id']?.toString() ?? ''
      const freed = await lease(own.server, leased, 'release', { 'x-ms-lease-id': id })
      assert.equal(outcome(freed), '200')
    }
  })
}
