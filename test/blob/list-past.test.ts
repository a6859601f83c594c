// List Blobs with snapshots, versions, soft-deleted and uncommitted blobs: which of them are listed with which options,
// in which order, and that pages of any size return the same.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { BlobItem, ContainerClient } from '@azure/storage-blob'
import { DAY_MS, xmlText, xmlTexts } from '../harness.ts'
import type { ListOptions } from './every-blob.ts'
import {
  NO_SOFT_DELETE,
  NO_VERSIONING,
  softDelete,
  startBlobFixture,
  VERSIONING,
} from './fixture.ts'

const { server, service, setServiceProperties, send } = await startBlobFixture()

async function itemsOf(container: ContainerClient, options: ListOptions, maxPageSize = 100) {
  const items: BlobItem[] = []
  for await (const page of container.listBlobsFlat(options).byPage({ maxPageSize })) {
    assert.ok(page.segment.blobItems.length <= maxPageSize)
    items.push(...page.segment.blobItems)
  }
  return items
}

/** The name, the length and the kind of an item. */
function textOf(item: BlobItem): string {
  const words = [`${item.name}:${item.properties.contentLength}`]
  if (item.snapshot) words.push('snapshot')
  if (item.versionId) words.push(item.isCurrentVersion === true ? 'current' : 'version')
  if (item.deleted) words.push('deleted')
  if (item.hasVersionsOnly === true) words.push('versions')
  return words.join(' ')
}

async function assertListed(
  container: ContainerClient,
  options: ListOptions,
  expected: readonly string[],
): Promise<void> {
  for (const size of [100, 1, 2, 3]) {
    assert.deepEqual((await itemsOf(container, options, size)).map(textOf), expected)
  }
}

async function newContainer(name: string): Promise<ContainerClient> {
  const { containerClient } = await service.createContainer(name)
  return containerClient
}

/** The length identifies the state of a blob. */
const put = (container: ContainerClient, name: string, length: number) =>
  container.getBlockBlobClient(name).upload('x'.repeat(length), length)

describe('snapshots', () => {
  test('are listed before their blob, oldest first, if included', async () => {
    const container = await newContainer('snapshots')
    const ids: (string | undefined)[] = []
    await put(container, 'a', 1)
    for (const length of [2, 3, 4]) {
      await put(container, 'b', length)
      ids.push((await container.getBlobClient('b').createSnapshot()).snapshot)
    }
    await put(container, 'b', 5)
    await put(container, 'c', 6)
    await assertListed(container, {}, ['a:1', 'b:5', 'c:6'])
    const all = ['a:1', 'b:2 snapshot', 'b:3 snapshot', 'b:4 snapshot', 'b:5', 'c:6']
    await assertListed(container, { includeSnapshots: true }, all)
    await assertListed(container, { includeSnapshots: true, prefix: 'b' }, all.slice(1, 5))
    await assertListed(container, { includeVersions: true, includeDeleted: true }, [
      'a:1',
      'b:5',
      'c:6',
    ])
    const items = await itemsOf(container, { includeSnapshots: true, prefix: 'b' })
    assert.deepEqual(
      items.map((item) => item.snapshot || undefined),
      [...ids, undefined],
    )
  })

  test('are listed completely even if some are added and deleted between pages', async () => {
    const container = await newContainer('moving')
    await put(container, 'b', 1)
    const blob = container.getBlobClient('b')
    const ids: string[] = []
    for (let i = 0; i < 3; i += 1) ids.push((await blob.createSnapshot()).snapshot ?? '')
    const path = '/moving?restype=container&comp=list&include=snapshots'
    const first = await send('GET', `${path}&maxresults=2`)
    assert.deepEqual(xmlTexts(first.text, 'Snapshot'), ids.slice(0, 2))
    await blob.withSnapshot(ids[1] ?? '').delete()
    const later = (await blob.createSnapshot()).snapshot
    await put(container, 'a', 1)
    const marker = encodeURIComponent(xmlText(first.text, 'NextMarker') ?? '')
    const second = await send('GET', `${path}&marker=${marker}`)
    assert.deepEqual(xmlTexts(second.text, 'Snapshot'), [ids[2], later])
    assert.deepEqual(xmlTexts(second.text, 'Name'), ['b', 'b', 'b'])
  })
})

describe('soft-deleted blobs', () => {
  let container: ContainerClient
  before(async () => {
    await setServiceProperties(softDelete(7))
    container = await newContainer('deleted')
    await put(container, 'dir/gone', 1)
    await put(container, 'dir/live', 2)
    await put(container, 'gone', 3)
    await container.getBlobClient('gone').createSnapshot()
    await put(container, 'over', 4)
    await put(container, 'over', 5)
    await container.deleteBlob('dir/gone')
    await container.deleteBlob('gone', { deleteSnapshots: 'include' })
    server.advance(1)
  })
  after(() => setServiceProperties(NO_SOFT_DELETE))

  // options → listed items
  const CASES: readonly (readonly [ListOptions, readonly string[]])[] = [
    [{}, ['dir/live:2', 'over:5']],
    [{ includeSnapshots: true }, ['dir/live:2', 'over:5']],
    [{ includeDeleted: true }, ['dir/gone:1 deleted', 'dir/live:2', 'gone:3 deleted', 'over:5']],
    [
      { includeDeleted: true, includeSnapshots: true },
      [
        'dir/gone:1 deleted',
        'dir/live:2',
        'gone:3 snapshot deleted',
        'gone:3 deleted',
        'over:4 snapshot deleted',
        'over:5',
      ],
    ],
    [{ includeDeletedWithVersions: true }, ['dir/live:2', 'over:5']],
  ]
  for (const [options, expected] of CASES) {
    test(`with ${Object.keys(options).join(', ') || 'no options'}`, async () => {
      await assertListed(container, options, expected)
    })
  }

  test('have the time of deletion and the remaining whole days, but no lease', async () => {
    const [item] = await itemsOf(container, { includeDeleted: true, prefix: 'gone' })
    assert.equal(item?.properties.remainingRetentionDays, 6)
    const deletedOn = Math.floor((server.now() - 1) / 1_000) * 1_000
    assert.equal(item?.properties.deletedOn?.getTime(), deletedOn)
    assert.equal(item?.properties.leaseStatus, undefined)
    assert.equal(item?.properties.leaseState, undefined)
  })

  test('count for prefixes in a hierarchical list', async () => {
    await put(container, 'only/gone', 1)
    await container.deleteBlob('only/gone')
    const prefixes = async (includeDeleted: boolean) => {
      const seen: string[] = []
      const list = container.listBlobsByHierarchy('/', { includeDeleted })
      for await (const page of list.byPage({ maxPageSize: 1 })) {
        seen.push(...(page.segment.blobPrefixes ?? []).map((each) => each.name))
      }
      return seen
    }
    assert.deepEqual(await prefixes(false), ['dir/'])
    assert.deepEqual(await prefixes(true), ['dir/', 'only/'])
  })

  test('are gone after the retention time, swept or not', async () => {
    server.advance(7 * DAY_MS)
    const options = { includeDeleted: true, includeSnapshots: true }
    await assertListed(container, options, ['dir/live:2', 'over:5'])
    await server.sweep()
    await assertListed(container, options, ['dir/live:2', 'over:5'])
  })
})

describe('versions', () => {
  let container: ContainerClient
  before(async () => {
    await setServiceProperties(VERSIONING)
    container = await newContainer('versions')
    for (const length of [1, 2, 3]) await put(container, 'a', length)
    for (const length of [4, 5]) await put(container, 'b', length)
    await container.deleteBlob('b')
  })
  after(async () => {
    await setServiceProperties(NO_VERSIONING)
    await setServiceProperties(NO_SOFT_DELETE)
  })

  test('are listed before the current one, oldest first', async () => {
    const all = ['a:1 version', 'a:2 version', 'a:3 current', 'b:4 version', 'b:5 version']
    await assertListed(container, {}, ['a:3 current'])
    await assertListed(container, { includeSnapshots: true, includeDeleted: true }, ['a:3 current'])
    await assertListed(container, { includeVersions: true }, all)
    const items = await itemsOf(container, { includeVersions: true, prefix: 'a' })
    const { versionId } = await container.getBlobClient('a').getProperties()
    assert.equal(items.at(-1)?.versionId, versionId)
    const [oldest] = items
    const read = await container
      .getBlobClient('a')
      .withVersion(oldest?.versionId ?? '')
      .download()
    assert.equal(read.contentLength, 1)
  })

  test('deletedwithversions adds blobs with only versions', async () => {
    const options = { includeDeletedWithVersions: true }
    await assertListed(container, options, ['a:3 current', 'b:0 versions'])
    await assertListed(container, { ...options, includeVersions: true }, [
      'a:1 version',
      'a:2 version',
      'a:3 current',
      'b:4 version',
      'b:5 version',
      'b:0 versions',
    ])
    const names: string[] = []
    for await (const item of container.listBlobsByHierarchy('/', options)) names.push(item.name)
    assert.deepEqual(names, ['a', 'b'])
    const versions: string[] = []
    const hierarchy = container.listBlobsByHierarchy('/', { includeVersions: true })
    for await (const item of hierarchy) versions.push(item.name)
    assert.deepEqual(versions, ['a', 'a', 'a', 'b', 'b'])
  })

  test('if soft-deleted need both options, and count for deletedwithversions', async () => {
    await setServiceProperties(softDelete(7))
    for (const item of await itemsOf(container, { includeVersions: true, prefix: 'b' })) {
      await container
        .getBlobClient('b')
        .withVersion(item.versionId ?? '')
        .delete()
    }
    await assertListed(container, { includeVersions: true, prefix: 'b' }, [])
    await assertListed(container, { includeDeleted: true, prefix: 'b' }, [])
    const both = ['b:4 version deleted', 'b:5 version deleted']
    await assertListed(
      container,
      { includeVersions: true, includeDeleted: true, prefix: 'b' },
      both,
    )
    const only = { includeDeletedWithVersions: true, prefix: 'b' }
    await assertListed(container, only, ['b:0 versions'])
    server.advance(7 * DAY_MS)
    await assertListed(container, only, [])
  })

  test('if restored are current again', async () => {
    const [oldest] = await itemsOf(container, { includeVersions: true, prefix: 'a' })
    const source = container.getBlobClient('a').withVersion(oldest?.versionId ?? '')
    await (await container.getBlobClient('a').beginCopyFromURL(source.url)).pollUntilDone()
    const expected = ['a:1 version', 'a:2 version', 'a:3 version', 'a:1 current']
    await assertListed(container, { includeVersions: true, prefix: 'a' }, expected)
  })
})

describe('uncommitted blobs', () => {
  const id = Buffer.from('1').toString('base64')

  test('are listed if included, without the properties set by a commit', async () => {
    const container = await newContainer('uncommitted')
    await put(container, 'both', 3)
    for (const name of ['both', 'dir/new', 'new']) {
      await container.getBlockBlobClient(name).stageBlock(id, 'hello', 5)
    }
    await assertListed(container, {}, ['both:3'])
    const options = { includeUncommitedBlobs: true, includeMetadata: true }
    await assertListed(container, options, ['both:3', 'dir/new:0', 'new:0'])
    const [item] = await itemsOf(container, { ...options, prefix: 'new' })
    assert.equal(item?.properties.blobType, 'BlockBlob')
    assert.equal(item?.properties.contentMD5, undefined)
    assert.equal(item?.metadata, undefined)
    const path = '/uncommitted?restype=container&comp=list&include=uncommittedblobs&prefix=new'
    const { text } = await send('GET', path)
    for (const element of ['Last-Modified', 'Etag', 'Content-Type', 'Content-MD5', 'Metadata']) {
      assert.ok(!text.includes(`<${element}`), element)
    }
    const prefixes: string[] = []
    for await (const each of container.listBlobsByHierarchy('/', options)) prefixes.push(each.name)
    assert.deepEqual(prefixes, ['dir/', 'both', 'new'])
  })

  test('are gone a week after the last block, and normal blobs once committed', async () => {
    const container = await newContainer('committed')
    const blob = container.getBlockBlobClient('one')
    await blob.stageBlock(id, 'hello', 5)
    await container.getBlockBlobClient('two').stageBlock(id, 'hello', 5)
    await blob.commitBlockList([id])
    const options = { includeUncommitedBlobs: true }
    await assertListed(container, options, ['one:5', 'two:0'])
    server.advance(7 * DAY_MS)
    await assertListed(container, options, ['one:5'])
  })
})
