// Create, Get, Set and Delete Share, as the SDK and other clients send them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IncomingHttpHeaders } from 'node:http'
import { locate } from '../../src/storage/file/tree/node.ts'
import { putOpen, type FileEvent } from '../../src/storage/file/open/open.ts'
import { getShare } from '../../src/storage/file/share/share.ts'
import { ACCOUNT, assertRefused, DAY_MS, xmlText, type Headers } from '../harness.ts'
import { ownHeaders } from '../own-headers.ts'
import { startFileFixture } from './fixture.ts'

const box = await startFileFixture()

const properties = (name: string) => box.send('GET', `/${name}?restype=share`)
const valuesOf = (headers: IncomingHttpHeaders, names: readonly string[]) =>
  names.map((name) => headers[name])

describe('Create Share', () => {
  test('returns 201 with validators and the quota, 5 TiB by default', async () => {
    const { status, headers } = await box.send('PUT', '/plain?restype=share', {
      'x-ms-meta-a': '1',
    })
    assert.equal(status, 201)
    assert.match(String(headers.etag), /^"0x8D[0-9A-F]{13}"$/)
    assert.equal(headers['x-ms-share-quota'], '5120')
    const got = await properties('plain')
    assert.equal(got.status, 200)
    const names = ['etag', 'last-modified', 'x-ms-share-quota']
    assert.deepEqual(valuesOf(got.headers, names), valuesOf(headers, names))
    assert.deepEqual(
      valuesOf(got.headers, [
        'x-ms-access-tier', 'x-ms-access-tier-change-time', 'x-ms-enabled-protocols', 'x-ms-lease-status',
        'x-ms-lease-state', 'x-ms-lease-duration', 'x-ms-meta-a', 'x-ms-root-squash', 'x-ms-share-provisioned-iops',
      ]),
      ['TransactionOptimized', headers['last-modified'], undefined, 'unlocked', 'available', undefined, '1', undefined, undefined],
    ) // prettier-ignore
  })

  test('creates a root directory with its own permission', async () => {
    const share = box.service.getShareClient('rooted')
    await share.create()
    const address = { account: ACCOUNT, share: 'rooted', path: [] }
    const { node } = await box.server.file.kv.read((tx) => locate(tx, address))
    assert.equal(node?.kind, 'directory')
    const { permission } = await share.getPermission(node.permissionKey)
    assert.match(permission, /^O:SYG:SYD:/)
  })

  test('sets quota, tier, protocol and root squash', async () => {
    await box.createShare('nfs', {
      'x-ms-enabled-protocols': 'NFS',
      'x-ms-root-squash': 'allsquash',
      'x-ms-enable-snapshot-virtual-directory-access': 'false',
      'x-ms-share-quota': '100',
    })
    const got = await box.service.getShareClient('nfs').getProperties()
    assert.deepEqual(
      [got.accessTier, got.protocols, got.rootSquash, got.enableSnapshotVirtualDirectoryAccess],
      ['Premium', { nfsEnabled: true }, 'AllSquash', false],
    )
    assert.deepEqual(
      [got.quota, got.provisionedIops, got.provisionedIngressMBps, got.provisionedEgressMBps],
      [100, 3100, 44, 66],
    )
    assert.deepEqual(
      [got.provisionedBandwidthMibps, got.includedBurstIops, got.maxBurstCreditsForIops],
      [110, 10_000, 24_840_000],
    )
    assert.equal(got.paidBurstingEnabled, false)
    assert.equal(got.nextAllowedQuotaDowngradeTime?.getTime(), got.lastModified?.getTime())
  })

  const REFUSED: readonly (readonly [what: string, headers: Headers, code: string])[] = [
    ['a quota of 0', { 'x-ms-share-quota': '0' }, 'InvalidHeaderValue'],
    ['a quota above 100 TiB', { 'x-ms-share-quota': '102401' }, 'InvalidHeaderValue'],
    ['a quota that is not a number', { 'x-ms-share-quota': 'all' }, 'InvalidHeaderValue'],
    ['an unknown tier', { 'x-ms-access-tier': 'Archive' }, 'InvalidHeaderValue'],
    ['an unknown protocol', { 'x-ms-enabled-protocols': 'FTP' }, 'InvalidHeaderValue'],
    ['both protocols', { 'x-ms-enabled-protocols': 'SMB,NFS' }, 'InvalidHeaderValue'],
    ['root squash with SMB', { 'x-ms-root-squash': 'AllSquash' }, 'InvalidHeaderValue'],
    [
      'a snapshot directory with SMB',
      { 'x-ms-enable-snapshot-virtual-directory-access': 'true' },
      'InvalidHeaderValue',
    ],
    [
      'NFS that is not premium',
      { 'x-ms-enabled-protocols': 'NFS', 'x-ms-access-tier': 'Hot' },
      'InvalidHeaderValue',
    ],
    [
      'a small premium share',
      { 'x-ms-access-tier': 'Premium', 'x-ms-share-quota': '99' },
      'InvalidHeaderValue',
    ],
    ['bursting', { 'x-ms-share-paid-bursting-enabled': 'true' }, 'UnsupportedHeader'],
    ['bursting IOPS', { 'x-ms-share-paid-bursting-max-iops': '5000' }, 'UnsupportedHeader'],
    ['provisioned IOPS', { 'x-ms-share-provisioned-iops': '5000' }, 'UnsupportedHeader'],
    ['directory leases', { 'x-ms-enable-smb-directory-lease': 'true' }, 'UnsupportedHeader'],
    ['invalid metadata', { 'x-ms-meta-1a': 'x' }, 'InvalidMetadata'],
    ['a condition', { 'If-Match': '*' }, 'ConditionHeadersNotSupported'],
  ]
  for (const [what, headers, code] of REFUSED) {
    test(`refuses ${what}`, async () => {
      await assertRefused(box.send('PUT', '/refused?restype=share', headers), 400, code)
      await assertRefused(properties('refused'), 404, 'ShareNotFound')
    })
  }

  test('refuses invalid names and one that is in use', async () => {
    await assertRefused(box.send('PUT', '/Upper?restype=share'), 400, 'InvalidResourceName')
    await assertRefused(box.send('PUT', '/ab?restype=share'), 400, 'OutOfRangeInput')
    await box.createShare('taken')
    await assertRefused(box.send('PUT', '/taken?restype=share'), 409, 'ShareAlreadyExists')
  })
})

describe('Set Share Properties', () => {
  const set = (name: string, headers: Headers) =>
    box.send('PUT', `/${name}?restype=share&comp=properties`, headers)

  test('changes the quota, the tier and the ETag', async () => {
    const share = box.service.getShareClient('props')
    const { etag } = await share.create({ accessTier: 'Hot' })
    box.server.advance(5_000)
    const changed = await share.setProperties({ quotaInGB: 7, accessTier: 'Cool' })
    assert.notEqual(changed.etag, etag)
    assert.equal(changed.quota, 7)
    const got = await share.getProperties()
    assert.deepEqual([got.etag, got.quota, got.accessTier], [changed.etag, 7, 'Cool'])
    assert.equal(got.accessTierChangeTime?.getTime(), got.lastModified?.getTime())
    box.server.advance(5_000)
    await share.setQuota(8)
    const again = await share.getProperties()
    assert.equal(again.accessTierChangeTime?.getTime(), got.accessTierChangeTime?.getTime())
  })

  test('changes root squash of an NFS share', async () => {
    await box.createShare('squash', { 'x-ms-enabled-protocols': 'NFS' })
    assert.equal((await properties('squash')).headers['x-ms-root-squash'], 'NoRootSquash')
    assert.equal((await set('squash', { 'x-ms-root-squash': 'RootSquash' })).status, 200)
    assert.equal((await properties('squash')).headers['x-ms-root-squash'], 'RootSquash')
  })

  test('cannot change between premium and other tiers', async () => {
    const code = 'FileShareAccessTierTransitionNotAllowed'
    await box.createShare('std')
    await box.createShare('premium', { 'x-ms-access-tier': 'Premium' })
    await assertRefused(set('std', { 'x-ms-access-tier': 'Premium' }), 409, code)
    await assertRefused(set('premium', { 'x-ms-access-tier': 'Hot' }), 409, code)
  })

  test('shrinks a premium share only a day after it was enlarged', async () => {
    await box.createShare('sized', { 'x-ms-access-tier': 'Premium', 'x-ms-share-quota': '200' })
    assert.equal((await set('sized', { 'x-ms-share-quota': '150' })).status, 200)
    assert.equal((await set('sized', { 'x-ms-share-quota': '300' })).status, 200)
    const smaller = () => set('sized', { 'x-ms-share-quota': '250' })
    await assertRefused(smaller(), 409, 'ContainerQuotaDowngradeNotAllowed')
    box.server.advance(DAY_MS)
    assert.equal((await smaller()).status, 200)
  })

  test('applies to the share, not to a snapshot', async () => {
    await box.createShare('shot')
    const snapshot = await box.snapshotShare('shot')
    for (const [method, comp] of [
      ['PUT', 'properties'],
      ['PUT', 'metadata'],
      ['PUT', 'acl'],
      ['PUT', 'snapshot'],
      ['GET', 'acl'],
      ['GET', 'stats'],
    ] as const) {
      const path = `/shot?restype=share&comp=${comp}&sharesnapshot=${snapshot}`
      await assertRefused(box.send(method, path), 400, 'InvalidQueryParameterValue')
    }
  })
})

describe('share metadata, ACL and statistics:', () => {
  test('metadata is replaced as a whole and changes the ETag', async () => {
    const share = box.service.getShareClient('meta')
    const { etag } = await share.create({ metadata: { a: '1', b: '2' } })
    const set = await share.setMetadata({ c: '3' })
    assert.notEqual(set.etag, etag)
    const got = await box.send('GET', '/meta?restype=share&comp=metadata')
    assert.deepEqual([got.headers['x-ms-meta-c'], got.headers['x-ms-meta-a']], ['3', undefined])
    assert.equal(got.headers.etag, set.etag)
    assert.equal((await box.send('HEAD', '/meta?restype=share&comp=metadata')).status, 200)
  })

  test('policies are returned as set', async () => {
    const share = box.service.getShareClient('acl')
    const { etag } = await share.create()
    const [startsOn, expiresOn] = [new Date('2025-01-01'), new Date('2030-01-01')]
    const set = await share.setAccessPolicy([
      { id: 'one', accessPolicy: { permissions: 'rwdl', startsOn, expiresOn } },
    ])
    assert.notEqual(set.etag, etag)
    const got = await share.getAccessPolicy()
    const [identifier] = got.signedIdentifiers
    assert.deepEqual(
      [got.etag, identifier?.id, identifier?.accessPolicy?.permissions],
      [set.etag, 'one', 'rwdl'],
    )
    const bad = box.send('PUT', '/acl?restype=share&comp=acl', {}, '<Nothing />')
    await assertRefused(bad, 400, 'InvalidXmlDocument')
    assert.equal((await box.send('PUT', '/acl?restype=share&comp=acl')).status, 200)
    assert.deepEqual((await share.getAccessPolicy()).signedIdentifiers, [])
  })

  test('the usage of an empty share is 0', async () => {
    const share = box.service.getShareClient('stats')
    await share.create()
    assert.equal((await share.getStatistics()).shareUsageBytes, 0)
    const raw = await box.send('GET', '/stats?restype=share&comp=stats')
    assert.equal(xmlText(raw.text, 'ShareUsageBytes'), '0')
    assert.equal(ownHeaders(raw), 'content-type')
  })

  test('of a missing share → 404', async () => {
    for (const [method, comp] of [
      ['GET', ''],
      ['GET', 'metadata'],
      ['GET', 'acl'],
      ['GET', 'stats'],
      ['PUT', 'properties'],
      ['PUT', 'metadata'],
      ['PUT', 'acl'],
      ['PUT', 'snapshot'],
      ['DELETE', ''],
    ] as const) {
      const path = `/nobody?restype=share${comp === '' ? '' : `&comp=${comp}`}`
      await assertRefused(box.send(method, path), 404, 'ShareNotFound')
    }
  })
})

describe('Delete Share', () => {
  test('returns 202 with the usage and frees the name at once', async () => {
    await box.createShare('gone')
    const { status, headers } = await box.send('DELETE', '/gone?restype=share')
    assert.deepEqual(
      [status, ...valuesOf(headers, [
        'x-ms-file-share-usage-bytes', 'x-ms-file-share-snapshot-usage-bytes',
      ])],
      [202, '0', '0'],
    ) // prettier-ignore
    await assertRefused(properties('gone'), 404, 'ShareNotFound')
    await box.createShare('gone')
    assert.equal((await properties('gone')).status, 200)
  })

  test("closes SMB clients' handles in it", async () => {
    await box.createShare('open')
    const { kv } = box.server.file
    const share = await kv.read((tx) => getShare(tx, { account: ACCOUNT, share: 'open' }))
    const shareId = share?.id ?? 0
    const open = {
      openId: 9, shareId, nodeId: 7, parentId: 0, path: 'f', isDirectory: false, access: 1, shareAccess: 7,
      sessionId: 's', clientIp: '10.0.0.1', openedMs: 1,
    } // prettier-ignore
    await kv.write(function* (tx) {
      putOpen(tx, open)
    })
    const events: FileEvent[] = []
    const stop = kv.listen((event) => events.push(event))
    await box.service.deleteShare('open')
    stop()
    assert.deepEqual(events, [{ kind: 'close', open }])
  })
})
