// Create, Get, Set and Delete Share, as the SDK and other clients send them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { IncomingHttpHeaders } from 'node:http'
import { locate } from '../../src/storage/file/tree/node.ts'
import { putOpen, type FileEvent } from '../../src/storage/file/open/open.ts'
import { getShare } from '../../src/storage/file/share/share.ts'
import { ACCOUNT, xmlText } from '../harness.ts'
import { ownHeaders } from '../own-headers.ts'
import { assertRefused, openBox, type Box, type Headers } from './share-server.ts'

let box: Box

before(async () => {
  box = await openBox()
})

after(() => box.server.close())

const properties = (name: string) => box.send('GET', `/${name}?restype=share`)
const shown = (headers: IncomingHttpHeaders, names: readonly string[]) =>
  names.map((name) => headers[name])

describe('Create Share', () => {
  test('answers 201 with validators and the quota, which is 5 TiB if not given', async () => {
    const { status, headers } = await box.send('PUT', '/plain?restype=share', {
      'x-ms-meta-a': '1',
    })
    assert.equal(status, 201)
    assert.match(String(headers.etag), /^"0x8D[0-9A-F]{13}"$/)
    assert.equal(headers['x-ms-share-quota'], '5120')
    const got = await properties('plain')
    assert.equal(got.status, 200)
    const names = ['etag', 'last-modified', 'x-ms-share-quota']
    assert.deepEqual(shown(got.headers, names), shown(headers, names))
    assert.deepEqual(
      shown(got.headers, [
        'x-ms-access-tier', 'x-ms-access-tier-change-time', 'x-ms-enabled-protocols', 'x-ms-lease-status',
        'x-ms-lease-state', 'x-ms-lease-duration', 'x-ms-meta-a', 'x-ms-root-squash', 'x-ms-share-provisioned-iops',
      ]),
      ['TransactionOptimized', headers['last-modified'], 'SMB', 'unlocked', 'available', undefined, '1', undefined, undefined],
    ) // prettier-ignore
  })

  test('gives the share a root directory with a permission of its own', async () => {
    const share = box.service.getShareClient('rooted')
    await share.create()
    const address = { account: ACCOUNT, share: 'rooted', path: [] }
    const { node } = await box.server.file.kv.read((tx) => locate(tx, address))
    assert.equal(node?.kind, 'directory')
    const { permission } = await share.getPermission(node.permissionKey)
    assert.match(permission, /^O:SYG:SYD:/)
  })

  test('takes quota, tier, protocol and squashing, and shows them', async () => {
    await box.create('nfs', {
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
    ['a quota that is no number', { 'x-ms-share-quota': 'all' }, 'InvalidHeaderValue'],
    ['an unknown tier', { 'x-ms-access-tier': 'Archive' }, 'InvalidHeaderValue'],
    ['an unknown protocol', { 'x-ms-enabled-protocols': 'FTP' }, 'InvalidHeaderValue'],
    ['both protocols', { 'x-ms-enabled-protocols': 'SMB,NFS' }, 'InvalidHeaderValue'],
    ['squashing with SMB', { 'x-ms-root-squash': 'AllSquash' }, 'InvalidHeaderValue'],
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
    ['metadata that is none', { 'x-ms-meta-1a': 'x' }, 'InvalidMetadata'],
    ['a condition', { 'If-Match': '*' }, 'ConditionHeadersNotSupported'],
  ]
  for (const [what, headers, code] of REFUSED) {
    test(`refuses ${what}`, async () => {
      await assertRefused(box.send('PUT', '/refused?restype=share', headers), 400, code)
      await assertRefused(properties('refused'), 404, 'ShareNotFound')
    })
  }

  test('refuses names that no share has, and one that is taken', async () => {
    await assertRefused(box.send('PUT', '/Upper?restype=share'), 400, 'InvalidResourceName')
    await assertRefused(box.send('PUT', '/ab?restype=share'), 400, 'OutOfRangeInput')
    await box.create('taken')
    await assertRefused(box.send('PUT', '/taken?restype=share'), 409, 'ShareAlreadyExists')
  })
})

describe('Set Share Properties', () => {
  const set = (name: string, headers: Headers) =>
    box.send('PUT', `/${name}?restype=share&comp=properties`, headers)

  test('changes the quota and the tier, and with them the ETag', async () => {
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

  test('changes squashing on a share with NFS', async () => {
    await box.create('squash', { 'x-ms-enabled-protocols': 'NFS' })
    assert.equal((await properties('squash')).headers['x-ms-root-squash'], 'NoRootSquash')
    assert.equal((await set('squash', { 'x-ms-root-squash': 'RootSquash' })).status, 200)
    assert.equal((await properties('squash')).headers['x-ms-root-squash'], 'RootSquash')
  })

  test('knows no way between premium and the other tiers', async () => {
    const code = 'FileShareAccessTierTransitionNotAllowed'
    await box.create('std')
    await box.create('premium', { 'x-ms-access-tier': 'Premium' })
    await assertRefused(set('std', { 'x-ms-access-tier': 'Premium' }), 409, code)
    await assertRefused(set('premium', { 'x-ms-access-tier': 'Hot' }), 409, code)
  })

  test('makes a premium share smaller only a day after it was made larger', async () => {
    await box.create('sized', { 'x-ms-access-tier': 'Premium', 'x-ms-share-quota': '200' })
    assert.equal((await set('sized', { 'x-ms-share-quota': '150' })).status, 200)
    assert.equal((await set('sized', { 'x-ms-share-quota': '300' })).status, 200)
    const smaller = () => set('sized', { 'x-ms-share-quota': '250' })
    await assertRefused(smaller(), 409, 'ContainerQuotaDowngradeNotAllowed')
    box.server.advance(24 * 60 * 60 * 1_000)
    assert.equal((await smaller()).status, 200)
  })

  test('is for the share itself, not for a snapshot', async () => {
    await box.create('shot')
    const snapshot = await box.snapshot('shot')
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

describe('Share metadata, ACL and statistics', () => {
  test('metadata is replaced whole and changes the ETag', async () => {
    const share = box.service.getShareClient('meta')
    const { etag } = await share.create({ metadata: { a: '1', b: '2' } })
    const set = await share.setMetadata({ c: '3' })
    assert.notEqual(set.etag, etag)
    const got = await box.send('GET', '/meta?restype=share&comp=metadata')
    assert.deepEqual([got.headers['x-ms-meta-c'], got.headers['x-ms-meta-a']], ['3', undefined])
    assert.equal(got.headers.etag, set.etag)
    assert.equal((await box.send('HEAD', '/meta?restype=share&comp=metadata')).status, 200)
  })

  test('policies are kept as they were given', async () => {
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

  test('usage of a share with nothing in it is 0', async () => {
    const share = box.service.getShareClient('stats')
    await share.create()
    assert.equal((await share.getStatistics()).shareUsageBytes, 0)
    const raw = await box.send('GET', '/stats?restype=share&comp=stats')
    assert.equal(xmlText(raw.text, 'ShareUsageBytes'), '0')
    assert.equal(ownHeaders(raw), 'content-type')
  })

  test('of a share that is not there are 404', async () => {
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
  test('answers 202 with what was in it, and the name is free at once', async () => {
    await box.create('gone')
    const { status, headers } = await box.send('DELETE', '/gone?restype=share')
    assert.deepEqual(
      [status, ...shown(headers, [
        'x-ms-file-share-usage-bytes', 'x-ms-file-share-snapshot-usage-bytes',
      ])],
      [202, '0', '0'],
    ) // prettier-ignore
    await assertRefused(properties('gone'), 404, 'ShareNotFound')
    await box.create('gone')
    assert.equal((await properties('gone')).status, 200)
  })

  test('closes what SMB clients have open in it', async () => {
    await box.create('open')
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
