// List Shares: order, pages, snapshots, deleted shares, and every property of an item.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlText, xmlTexts, assertRefused } from '../harness.ts'
import { RETAIN_3_DAYS, startFileFixture } from './fixture.ts'

const box = await startFileFixture()

await box.setServiceProperties(RETAIN_3_DAYS)
await box.createShare('list-b')
const past = [await box.snapshotShare('list-b'), await box.snapshotShare('list-b')]
await box.send('DELETE', '/list-b?restype=share', { 'x-ms-delete-snapshots': 'include' })
for (const name of ['list-a', 'list-b', 'list-c'])
  await box.createShare(name, { 'x-ms-meta-of': name })
const snapshots = [...past, await box.snapshotShare('list-b'), await box.snapshotShare('list-b')]
await box.createShare('other')

const list = (query: string) => box.send('GET', `/?comp=list&prefix=list-${query}`)

/** The name and snapshot of each item, and whether it is deleted. */
function itemsOf(xml: string): string[] {
  return [...xml.matchAll(/<Share>(.*?)<\/Share>/gs)].map(([, item = '']) => {
    const snapshot = snapshots.indexOf(xmlText(item, 'Snapshot') ?? '')
    const deleted = xmlText(item, 'Deleted') === 'true' ? ' deleted' : ''
    return `${xmlText(item, 'Name')}${snapshot < 0 ? '' : ` #${snapshot}`}${deleted}`
  })
}

const ALL = [
  'list-a',
  'list-b #0 deleted',
  'list-b #1 deleted',
  'list-b deleted',
  'list-b #2',
  'list-b #3',
  'list-b',
  'list-c',
]

describe('List Shares', () => {
  test('lists the shares with the prefix by name and echoes the parameters', async () => {
    const { status, text } = await list('&maxresults=100')
    assert.equal(status, 200)
    assert.deepEqual(itemsOf(text), ['list-a', 'list-b', 'list-c'])
    assert.deepEqual([xmlText(text, 'Prefix'), xmlText(text, 'MaxResults')], ['list-', '100'])
    assert.match(text, /<NextMarker \/>/)
    assert.doesNotMatch(text, /<Metadata/)
  })

  test('lists snapshots and deleted shares before the share', async () => {
    assert.deepEqual(itemsOf((await list('&include=snapshots,deleted')).text), ALL)
    const deleted = (await list('&include=deleted')).text
    assert.deepEqual(itemsOf(deleted), ['list-a', 'list-b deleted', 'list-b', 'list-c'])
    const shots = (await list('&include=snapshots')).text
    assert.deepEqual(itemsOf(shots), ['list-a', 'list-b #2', 'list-b #3', 'list-b', 'list-c'])
  })

  for (const countMax of [1, 2, 3, 4, 5]) {
    test(`returns the same in pages of ${countMax}`, async () => {
      const seen: string[] = []
      let marker: string | undefined = ''
      let pages = 0
      while (marker !== undefined && pages < 10) {
        const query = `&include=snapshots,deleted&maxresults=${countMax}&marker=${marker}`
        const { text } = await list(query)
        const items = itemsOf(text)
        assert.ok(items.length <= countMax)
        seen.push(...items)
        marker = xmlText(text, 'NextMarker')
        pages += 1
      }
      assert.deepEqual(seen, ALL)
      assert.equal(pages, Math.ceil(ALL.length / countMax))
    })
  }

  test('shows the properties of a share', async () => {
    const { text } = await list('a&include=metadata')
    const share = await box.send('GET', '/list-a?restype=share')
    const names = ['Etag', 'Last-Modified', 'Quota', 'AccessTier', 'LeaseStatus']
    assert.deepEqual(
      [...names, 'LeaseState', 'AccessTierChangeTime', 'of'].map((name) => xmlText(text, name)),
      [
        share.headers.etag, share.headers['last-modified'], '5120', 'TransactionOptimized', 'unlocked',
        'available', share.headers['last-modified'], 'list-a',
      ],
    ) // prettier-ignore
  })

  test('shows when a share was deleted and how long it is kept', async () => {
    const { text } = await list('b&include=deleted')
    assert.match(xmlText(text, 'Version') ?? '', /^[0-9A-F]{16}$/)
    assert.deepEqual(xmlTexts(text, 'LeaseState'), ['broken', 'available'])
    assert.equal(xmlText(text, 'RemainingRetentionDays'), '3')
    assert.equal(
      Date.parse(xmlText(text, 'DeletedTime') ?? ''),
      Math.floor(box.server.now() / 1e3) * 1e3,
    )
  })

  test('shows the provisioned performance of a premium share, also in the SDK', async () => {
    await box.createShare('premium', { 'x-ms-access-tier': 'Premium', 'x-ms-share-quota': '100' })
    const lease = box.service.getShareClient('premium').getShareLeaseClient()
    await lease.acquireLease(-1)
    for await (const { properties } of box.service.listShares({ prefix: 'premium' })) {
      assert.deepEqual(
        [properties.provisionedIops, properties.provisionedIngressMBps, properties.leaseDuration],
        [3100, 44, 'infinite'],
      )
    }
  })

  test('refuses unknown parameters', async () => {
    await assertRefused(list('&include=x'), 400, 'InvalidQueryParameterValue')
    await assertRefused(list('&marker=x'), 400, 'InvalidQueryParameterValue')
    await assertRefused(list('&maxresults=0'), 400, 'OutOfRangeQueryParameterValue')
  })
})
