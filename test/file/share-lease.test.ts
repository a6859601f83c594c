// Lease Share: the five actions on shares and snapshots, and operations on a leased share.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { xmlText, assertRefused, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const box = await startFileFixture()

const [A, B] = [randomUUID(), randomUUID()]
const ID = 'x-ms-lease-id'
const PROPOSED = 'x-ms-proposed-lease-id'
const lease = (name: string, action: string, headers: Headers = {}, more = '') =>
  box.send('PUT', `/${name}?restype=share&comp=lease${more}`, {
    'x-ms-lease-action': action,
    ...headers,
  })

const acquire = (name: string, seconds: number, id: string = A) =>
  lease(name, 'acquire', { 'x-ms-lease-duration': String(seconds), [PROPOSED]: id })

const state = async (name: string) => {
  const { headers } = await box.send('HEAD', `/${name}?restype=share`)
  return ['status', 'state', 'duration'].map((word) => headers[`x-ms-lease-${word}`])
}

describe('Lease Share', () => {
  test('goes through five states and does not change the ETag', async () => {
    await box.createShare('states')
    const { headers } = await box.send('HEAD', '/states?restype=share')
    const taken = await acquire('states', 15)
    assert.deepEqual([taken.status, taken.headers[ID], taken.headers.etag], [201, A, headers.etag])
    assert.deepEqual(await state('states'), ['locked', 'leased', 'fixed'])
    box.server.advance(15_000)
    assert.deepEqual(await state('states'), ['unlocked', 'expired', undefined])
    assert.equal((await lease('states', 'renew', { [ID]: A })).status, 200)
    const changed = await lease('states', 'change', { [ID]: A, [PROPOSED]: B })
    assert.deepEqual([changed.status, changed.headers[ID]], [200, B])
    const broken = await lease('states', 'break', { 'x-ms-lease-break-period': '10' })
    assert.deepEqual([broken.status, broken.headers['x-ms-lease-time']], [202, '10'])
    assert.deepEqual(await state('states'), ['locked', 'breaking', undefined])
    box.server.advance(10_000)
    assert.deepEqual(await state('states'), ['unlocked', 'broken', undefined])
    assert.equal((await lease('states', 'release', { [ID]: B })).status, 200)
    assert.deepEqual(await state('states'), ['unlocked', 'available', undefined])
  })

  test('works with the SDK, separately for a share and a snapshot', async () => {
    const share = box.service.getShareClient('sdk')
    await share.create()
    const { snapshot = '' } = await share.createSnapshot()
    const past = share.withSnapshot(snapshot)
    const client = past.getShareLeaseClient()
    assert.ok((await client.acquireLease(-1)).leaseId)
    assert.deepEqual(
      [(await past.getProperties()).leaseState, (await share.getProperties()).leaseState],
      ['leased', 'available'],
    )
    // This client would treat a share as a file here and not send the request.
    const at = `&sharesnapshot=${snapshot}`
    assert.equal((await lease('sdk', 'renew', { [ID]: client.leaseId }, at)).status, 200)
    assert.equal((await client.changeLease(B)).leaseId, B)
    assert.equal((await client.breakLease()).leaseTimeInSeconds, 0)
    await client.releaseLease()
    assert.equal((await past.getProperties()).leaseState, 'available')
  })

  test('is refused as in the table of leases', async () => {
    await box.createShare('refused')
    const change = { [ID]: B, [PROPOSED]: randomUUID() }
    await assertRefused(lease('refused', 'break'), 409, 'LeaseNotPresentWithLeaseOperation')
    await acquire('refused', -1)
    const other = 'LeaseIdMismatchWithLeaseOperation'
    await assertRefused(acquire('refused', -1, B), 409, 'LeaseAlreadyPresent')
    await assertRefused(lease('refused', 'renew', { [ID]: B }), 409, other)
    await assertRefused(lease('refused', 'release', { [ID]: B }), 409, other)
    await assertRefused(lease('refused', 'change', change), 409, other)
    await lease('refused', 'break', { 'x-ms-lease-break-period': '60' })
    await assertRefused(acquire('refused', -1), 409, 'LeaseIsBreakingAndCannotBeAcquired')
    const renew = lease('refused', 'renew', { [ID]: A })
    await assertRefused(renew, 409, 'LeaseIsBrokenAndCannotBeRenewed')
    const mine = lease('refused', 'change', { [ID]: A, [PROPOSED]: B })
    await assertRefused(mine, 409, 'LeaseIsBreakingAndCannotBeChanged')
  })

  test('refuses invalid requests', async () => {
    await box.createShare('odd')
    await assertRefused(acquire('odd', 14), 400, 'InvalidHeaderValue')
    await assertRefused(acquire('odd', 61), 400, 'InvalidHeaderValue')
    await assertRefused(acquire('odd', -1, 'x'), 400, 'InvalidHeaderValue')
    await assertRefused(lease('odd', 'steal'), 400, 'InvalidHeaderValue')
    await assertRefused(lease('odd', 'renew'), 400, 'MissingRequiredHeader')
    const condition = { [ID]: A, 'If-Match': '*' }
    await assertRefused(lease('odd', 'renew', condition), 400, 'ConditionHeadersNotSupported')
    await assertRefused(acquire('nobody', -1), 404, 'ShareNotFound')
    const past = '&sharesnapshot=2020-01-01T00:00:00.0000000Z'
    await assertRefused(lease('odd', 'break', {}, past), 404, 'ShareSnapshotNotFound')
  })
})

describe('a leased share', () => {
  const path = (name: string, comp: string) =>
    `/${name}?restype=share${comp === '' ? '' : `&comp=${comp}`}`
  const WRITES = [
    ['PUT', 'properties'],
    ['PUT', 'metadata'],
    ['PUT', 'acl'],
    ['DELETE', ''],
  ] as const
  const READS = ['', 'metadata', 'acl', 'stats'] as const
  const NOT_PRESENT = 'LeaseNotPresentWithContainerOperation'
  const MISMATCH = 'LeaseIdMismatchWithContainerOperation'

  for (const [method, comp] of WRITES) {
    test(`needs its id for ${method} ${comp || 'share'}`, async () => {
      const name = `write-${comp || 'share'}`
      const send = (headers: Headers = {}) => box.send(method, path(name, comp), headers)
      await box.createShare(name)
      await assertRefused(send({ [ID]: A }), 412, NOT_PRESENT)
      await acquire(name, 15)
      await assertRefused(send(), 412, 'LeaseIdMissing')
      assert.match((await send()).text, /There is currently a lease on the file share and no/)
      await assertRefused(send({ [ID]: B }), 412, MISMATCH)
      box.server.advance(15_000)
      await assertRefused(send({ [ID]: A }), 412, 'LeaseLost')
      await acquire(name, 15)
      assert.equal((await send({ [ID]: A })).status, method === 'DELETE' ? 202 : 200)
    })
  }

  for (const comp of READS) {
    test(`is read without an id or with the right one: ${comp || 'share'}`, async () => {
      const name = `read-${comp || 'share'}`
      const get = (headers: Headers = {}) => box.send('GET', path(name, comp), headers)
      await box.createShare(name)
      await assertRefused(get({ [ID]: A }), 412, NOT_PRESENT)
      await acquire(name, -1)
      assert.equal((await get()).status, 200)
      assert.equal((await get({ [ID]: A })).status, 200)
      await assertRefused(get({ [ID]: B }), 412, MISMATCH)
      const { text } = await get({ [ID]: B })
      const message = 'The lease ID specified did not match the lease ID for the file share.'
      assert.ok(xmlText(text, 'Message')?.startsWith(message))
    })
  }

  test('has snapshots whose leases protect them from deletion', async () => {
    const share = box.service.getShareClient('guarded')
    await share.create()
    const { snapshot = '' } = await share.createSnapshot()
    await share.withSnapshot(snapshot).getShareLeaseClient(A).acquireLease(-1)
    const remove = (headers: Headers) =>
      box.send('DELETE', `/guarded?restype=share&sharesnapshot=${snapshot}`, headers)
    await assertRefused(remove({}), 412, 'LeaseIdMissing')
    await assertRefused(remove({ [ID]: B }), 412, MISMATCH)
    assert.equal((await remove({ [ID]: A })).status, 202)
  })
})
