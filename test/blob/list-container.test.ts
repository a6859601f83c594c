// List Containers: order, prefix, pages, deleted and system containers, properties of an item, invalid requests.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerItem } from '@azure/storage-blob'
import {
  DAY_MS,
  rawRequest,
  startTestServer,
  xmlText,
  xmlTexts,
  type TestServer,
} from '../harness.ts'

let server: TestServer
let service: BlobServiceClient
const LEASE_ID = '11111111-aaaa-4aaa-8aaa-111111111111'
const CONTAINERS = ['$root', '$web', 'alpha', 'alpha-1', 'alpha1', 'beta', 'beta-2']

before(async () => {
  server = await startTestServer()
  service = BlobServiceClient.fromConnectionString(server.connectionString)
  for (const name of CONTAINERS.toReversed()) {
    await service.createContainer(name, { metadata: { Of: name.replace('$', '') } })
  }
})

after(() => server.close())

async function list(query: string) {
  const answer = await rawRequest(server, { method: 'GET', path: `/?comp=list${query}` })
  const names = xmlTexts(answer.text, 'Name')
  return { ...answer, names, next: xmlText(answer.text, 'NextMarker') ?? '' }
}

type Options = Parameters<BlobServiceClient['listContainers']>[0]

async function itemsOf(options: Options, maxPageSize = 100): Promise<ContainerItem[]> {
  const items: ContainerItem[] = []
  for await (const page of service.listContainers(options).byPage({ maxPageSize })) {
    assert.ok(page.containerItems.length <= maxPageSize)
    items.push(...page.containerItems)
  }
  return items
}

describe('List Containers', () => {
  // query → names
  const CASES: readonly (readonly [string, readonly string[]])[] = [
    ['', CONTAINERS],
    ['&prefix=', CONTAINERS],
    ['&prefix=alpha', ['alpha', 'alpha-1', 'alpha1']],
    ['&prefix=alpha&maxresults=1', ['alpha']],
    ['&maxresults=9999', CONTAINERS],
    ['&prefix=beta-', ['beta-2']],
    ['&prefix=gamma', []],
    ['&include=metadata,deleted,system', CONTAINERS],
  ]
  for (const [query, names] of CASES) {
    test(`${query || 'all'} → ${names.join(' ')}`, async () => {
      assert.deepEqual((await list(query)).names, names)
    })
  }

  for (const size of [1, 2, 100]) {
    test(`returns all containers in pages of ${size}`, async () => {
      assert.deepEqual(
        (await itemsOf({}, size)).map((item) => item.name),
        CONTAINERS,
      )
    })
  }

  test('echoes the parameters of the request', async () => {
    const { text } = await list('&prefix=b&maxresults=4')
    const root = `<EnumerationResults ServiceEndpoint="${server.blobEndpoint}/">`
    assert.ok(
      text.includes(`${root}<Prefix>b</Prefix><MaxResults>4</MaxResults><Containers>`),
      text,
    )
    assert.ok((await list('')).text.includes(`${root}<Containers>`))
  })

  test('returns properties, and metadata if included', async () => {
    const [item, ...others] = await itemsOf({ prefix: 'beta-2', includeMetadata: true })
    const properties = await service.getContainerClient('beta-2').getProperties()
    assert.equal(others.length, 0)
    assert.deepEqual(item?.metadata, { Of: 'beta-2' })
    assert.equal(item?.properties.etag, properties.etag)
    assert.deepEqual(item?.properties.lastModified, properties.lastModified)
    assert.equal(item?.properties.leaseState, 'available')
    assert.equal(item?.properties.leaseStatus, 'unlocked')
    assert.equal(item?.properties.defaultEncryptionScope, '$account-encryption-key')
    assert.equal(item?.properties.hasImmutabilityPolicy, false)
    assert.equal(item?.properties.hasLegalHold, false)
    assert.equal(item?.deleted, undefined)
    const bare = await list('&prefix=beta-2')
    assert.ok(!bare.text.includes('Metadata'))
  })

  test('shows the current state of the lease', async () => {
    const leased = service.getContainerClient('alpha')
    await leased.getBlobLeaseClient(LEASE_ID).acquireLease(15)
    const [during] = await itemsOf({ prefix: 'alpha' })
    assert.equal(during?.properties.leaseStatus, 'locked')
    assert.equal(during?.properties.leaseState, 'leased')
    assert.equal(during?.properties.leaseDuration, 'fixed')
    server.advance(15_000)
    const [then] = await itemsOf({ prefix: 'alpha' })
    assert.equal(then?.properties.leaseStatus, 'unlocked')
    assert.equal(then?.properties.leaseState, 'expired')
    assert.equal(then?.properties.leaseDuration, undefined)
  })

  test('shows public access', async () => {
    await service.getContainerClient('alpha1').setAccessPolicy('blob')
    const [item] = await itemsOf({ prefix: 'alpha1' })
    assert.equal(item?.properties.publicAccess, 'blob')
  })

  for (const query of ['&maxresults=0', '&maxresults=-1']) {
    test(`${query} → OutOfRangeQueryParameterValue`, async () => {
      const { status, text } = await list(query)
      assert.deepEqual([status, xmlText(text, 'Code')], [400, 'OutOfRangeQueryParameterValue'])
      assert.equal(xmlText(text, 'MaximumAllowed'), '5000')
    })
  }

  for (const query of ['&maxresults=x', '&include=x', '&marker=%21', '&marker=czc6YQ']) {
    test(`${query} → InvalidQueryParameterValue`, async () => {
      const { status, text } = await list(query)
      assert.deepEqual([status, xmlText(text, 'Code')], [400, 'InvalidQueryParameterValue'])
    })
  }
})

describe('deleted containers', () => {
  const past = (item: ContainerItem) => `${item.name}${item.deleted === true ? ' deleted' : ''}`
  let versions: (string | undefined)[]

  before(async () => {
    const policy = '<Enabled>true</Enabled><Days>7</Days>'
    const retention = `<ContainerDeleteRetentionPolicy>${policy}</ContainerDeleteRetentionPolicy>`
    const set = await rawRequest(server, {
      method: 'PUT',
      path: '/?restype=service&comp=properties',
      body: `<StorageServiceProperties>${retention}</StorageServiceProperties>`,
    })
    assert.equal(set.status, 202)
    for (const name of ['old-a', 'old-b', 'old-b', 'old-c']) {
      await service.createContainer(name, { metadata: { Of: name } })
      await service.deleteContainer(name)
    }
    await service.createContainer('old-b')
  })

  test('are listed before the current one with the same name, if included', async () => {
    const bare = await itemsOf({ prefix: 'old' })
    assert.deepEqual(bare.map(past), ['old-b'])
    for (const size of [1, 2, 3, 100]) {
      const items = await itemsOf({ prefix: 'old', includeDeleted: true }, size)
      const expected = ['old-a deleted', 'old-b deleted', 'old-b deleted', 'old-b', 'old-c deleted']
      assert.deepEqual(items.map(past), expected)
      versions = items.map((item) => item.version)
      assert.equal(new Set(versions).size, 5)
    }
  })

  test('have a version, the time of deletion and the remaining days', async () => {
    server.advance(1)
    const [item] = await itemsOf({ prefix: 'old-a', includeDeleted: true, includeMetadata: true })
    assert.match(item?.version ?? '', /^[0-9A-F]{16}$/)
    assert.equal(item?.properties.remainingRetentionDays, 6)
    const deletedOn = Math.floor((server.now() - 1) / 1_000) * 1_000
    assert.equal(item?.properties.deletedOn?.getTime(), deletedOn)
    assert.equal(item?.properties.leaseStatus, 'unlocked')
    assert.equal(item?.properties.leaseState, 'expired')
    assert.deepEqual(item?.metadata, { Of: 'old-a' })
  })

  test('are restored with their name and version', async () => {
    const restored = await service.undeleteContainer('old-c', versions.at(-1) ?? '')
    assert.equal(restored.containerClient.containerName, 'old-c')
    const items = await itemsOf({ prefix: 'old-c', includeDeleted: true })
    assert.deepEqual(items.map(past), ['old-c'])
  })

  test('are gone after the retention time, swept or not', async () => {
    server.advance(7 * DAY_MS)
    const items = await itemsOf({ prefix: 'old', includeDeleted: true }, 1)
    assert.deepEqual(items.map(past), ['old-b', 'old-c'])
  })
})

test('$logs is listed only with system containers', async () => {
  const off = { enabled: false }
  await service.setProperties({
    blobAnalyticsLogging: {
      version: '1.0', read: true, write: true, deleteProperty: true, retentionPolicy: off,
    },
  }) // prettier-ignore
  await list('')
  await server.sweep()
  assert.equal(await service.getContainerClient('$logs').exists(), true)
  const names = async (options: Options) => (await itemsOf(options)).map((item) => item.name)
  assert.ok(!(await names({})).includes('$logs'))
  assert.deepEqual(await names({ includeSystem: true, prefix: '$' }), ['$logs', '$root', '$web'])
})
