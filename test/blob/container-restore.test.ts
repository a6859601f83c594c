// Restore Container, under the same name or another, and Rename Container.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { assertRefused, DAY_MS, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const box = await startBlobFixture()

const OFF = '<Enabled>false</Enabled>'
const policy = (fields: string) =>
  `<ContainerDeleteRetentionPolicy>${fields}</ContainerDeleteRetentionPolicy>`
const days = (count: number) => policy(`<Enabled>true</Enabled><Days>${count}</Days>`)

beforeEach(() => box.setServiceProperties(days(3)))

const NAME = 'x-ms-deleted-container-name'
const VERSION = 'x-ms-deleted-container-version'

/** Creates a container with a blob and metadata. */
async function create(name: string, text = 'one'): Promise<void> {
  const container = box.service.getContainerClient(name)
  await container.create({ metadata: { of: name } })
  await container.uploadBlockBlob('b', text, text.length)
}

async function remove(name: string): Promise<void> {
  assert.equal((await box.send('DELETE', `/${name}?restype=container`)).status, 202)
}

/** The versions of the deleted containers with this name in List Containers. */
async function versionsOf(name: string): Promise<string[]> {
  const versions: string[] = []
  const list = box.service.listContainers({ prefix: name, includeDeleted: true })
  for await (const item of list) {
    if (item.name === name && item.deleted === true) versions.push(String(item.version))
  }
  return versions
}

function restore(to: string, headers: Headers) {
  return box.send('PUT', `/${to}?restype=container&comp=undelete`, headers)
}

async function restoreFirst(name: string, to = name) {
  const [version = ''] = await versionsOf(name)
  return restore(to, { [NAME]: name, [VERSION]: version })
}

describe('Restore Container', () => {
  test('restores the container with its blobs, properties and ETag', async () => {
    await create('back')
    const path = '/back?restype=container'
    const old = await box.send('HEAD', path)
    await remove('back')
    await assertRefused(box.send('GET', path), 404, 'ContainerNotFound')
    assert.equal(await box.read('/back/b'), 'ContainerNotFound')
    const { status, text } = await restoreFirst('back')
    assert.deepEqual([status, text], [201, ''])
    const now = await box.send('HEAD', path)
    for (const name of ['etag', 'last-modified', 'x-ms-meta-of']) {
      assert.equal(now.headers[name], old.headers[name], name)
    }
    assert.equal(await box.read('/back/b'), 'one')
    assert.deepEqual(await versionsOf('back'), [])
  })

  test('works with the SDK', async () => {
    await create('sdk')
    await box.service.deleteContainer('sdk')
    const [version = ''] = await versionsOf('sdk')
    const { containerClient } = await box.service.undeleteContainer('sdk', version)
    assert.equal(await containerClient.getBlobClient('b').exists(), true)
  })

  test('to another name leaves the original name free', async () => {
    await create('from')
    await remove('from')
    assert.equal((await restoreFirst('from', 'onto')).status, 201)
    assert.equal(await box.read('/onto/b'), 'one')
    assert.equal(await box.read('/from/b'), 'ContainerNotFound')
    await create('from', 'two')
    assert.deepEqual([await box.read('/onto/b'), await box.read('/from/b')], ['one', 'two'])
  })

  test('distinguishes two deleted containers with the same name', async () => {
    for (const text of ['one', 'two']) {
      await create('twice', text)
      await remove('twice')
    }
    const versions = await versionsOf('twice')
    assert.equal(versions.length, 2)
    const texts: string[] = []
    for (const [i, version] of versions.entries()) {
      const sent = await restore(`twice${i}`, { [NAME]: 'twice', [VERSION]: version })
      assert.equal(sent.status, 201)
      texts.push(await box.read(`/twice${i}/b`))
    }
    assert.deepEqual(texts.toSorted(), ['one', 'two'])
  })

  test('makes the blobs findable by tags under the new name', async () => {
    const container = box.service.getContainerClient('tagged')
    await container.create()
    await container.getBlockBlobClient('b').upload('x', 1, { tags: { place: 'tagged' } })
    const find = async () => {
      const found: string[] = []
      for await (const item of box.service.findBlobsByTags(`place='tagged'`)) {
        found.push(`${item.containerName}/${item.name}`)
      }
      return found
    }
    assert.deepEqual(await find(), ['tagged/b'])
    await remove('tagged')
    assert.deepEqual(await find(), [])
    await restoreFirst('tagged', 'untagged')
    assert.deepEqual(await find(), ['untagged/b'])
  })

  test('is possible for the retention time that was set at the deletion', async () => {
    for (const name of ['early', 'late']) {
      await create(name)
      await remove(name)
    }
    const [version = ''] = await versionsOf('late')
    await box.setServiceProperties(days(300))
    box.server.advance(3 * DAY_MS - 1)
    await box.server.sweep()
    assert.equal((await restoreFirst('early')).status, 201)
    assert.equal(await box.read('/early/b'), 'one')
    box.server.advance(1)
    const source = { [NAME]: 'late', [VERSION]: version }
    await assertRefused(restore('late', source), 404, 'ContainerNotFound')
    assert.deepEqual(await versionsOf('late'), [])
    await box.server.sweep()
    await assertRefused(restore('late', source), 404, 'ContainerNotFound')
    await box.server.sweep()
    assert.equal(await box.read('/early/b'), 'one')
  })

  test('is refused if the name is in use or the container was already restored', async () => {
    await create('taken')
    await remove('taken')
    const [version = ''] = await versionsOf('taken')
    const source = { [NAME]: 'taken', [VERSION]: version }
    await create('taken', 'two')
    await assertRefused(restore('taken', source), 409, 'ContainerAlreadyExists')
    assert.equal((await restore('elsewhere', source)).status, 201)
    await assertRefused(restore('again', source), 404, 'ContainerNotFound')
  })

  const REFUSED: readonly (readonly [Headers, number, string])[] = [
    [{}, 400, 'MissingRequiredHeader'],
    [{ [NAME]: 'some' }, 400, 'MissingRequiredHeader'],
    [{ [VERSION]: '01D60F8BB59A4652' }, 400, 'MissingRequiredHeader'],
    [{ [NAME]: 'some', [VERSION]: 'x' }, 400, 'InvalidHeaderValue'],
    [{ [NAME]: 'some', [VERSION]: '00D60F8BB59A4652' }, 400, 'InvalidHeaderValue'],
    [{ [NAME]: 'some', [VERSION]: '0000000000000001' }, 404, 'ContainerNotFound'],
  ]
  for (const [headers, status, code] of REFUSED) {
    test(`with ${JSON.stringify(headers)} → ${status} ${code}`, async () => {
      await assertRefused(restore('some', headers), status, code)
    })
  }

  test('of a container that was leased needs no lease id', async () => {
    await create('leased')
    const lease = box.service.getContainerClient('leased').getBlobLeaseClient()
    const { leaseId = '' } = await lease.acquireLease(-1)
    const path = '/leased?restype=container'
    await assertRefused(box.send('DELETE', path), 412, 'LeaseIdMissing')
    assert.equal((await box.send('DELETE', path, { 'x-ms-lease-id': leaseId })).status, 202)
    assert.equal((await restoreFirst('leased')).status, 201)
    assert.equal((await box.send('HEAD', path)).headers['x-ms-lease-state'], 'available')
  })

  test('needs the retention policy, which the service properties return', async () => {
    const read = async () => (await box.send('GET', '/?restype=service&comp=properties')).text
    assert.match(
      await read(),
      /<ContainerDeleteRetentionPolicy><Enabled>true<\/Enabled><Days>3<\/Days></,
    )
    assert.ok(await box.service.getProperties())
    await box.setServiceProperties(policy(OFF))
    assert.doesNotMatch(await read(), /ContainerDeleteRetentionPolicy/)
    await create('hard')
    await remove('hard')
    assert.deepEqual(await versionsOf('hard'), [])
    await create('hard', 'two')
    assert.equal(await box.read('/hard/b'), 'two')
  })
})

describe('Rename Container', () => {
  const SOURCE = 'x-ms-source-container-name'

  function rename(to: string, headers: Headers) {
    return box.send('PUT', `/${to}?restype=container&comp=rename`, headers)
  }

  test('moves the container with its blobs', async () => {
    await create('old-name')
    const { status, text } = await rename('new-name', { [SOURCE]: 'old-name' })
    assert.deepEqual([status, text], [200, ''])
    assert.equal(await box.read('/new-name/b'), 'one')
    assert.equal(await box.read('/old-name/b'), 'ContainerNotFound')
    await create('old-name', 'two')
    assert.equal(await box.read('/new-name/b'), 'one')
    await remove('new-name')
    assert.equal((await restoreFirst('new-name')).status, 201)
    assert.equal(await box.read('/new-name/b'), 'one')
  })

  test("and Restore Container cannot use a name of the service's own containers", async () => {
    await create('mine')
    await assertRefused(rename('$logs', { [SOURCE]: 'mine' }), 400, 'InvalidResourceName')
    await remove('mine')
    await assertRefused(restoreFirst('mine', '$logs'), 400, 'InvalidResourceName')
  })

  test('is refused without a source, if the name is in use, or without the lease id', async () => {
    await create('source')
    await assertRefused(rename('target', {}), 400, 'MissingRequiredHeader')
    await assertRefused(rename('target', { [SOURCE]: 'nobody' }), 404, 'ContainerNotFound')
    await assertRefused(rename('box', { [SOURCE]: 'source' }), 409, 'ContainerAlreadyExists')
    const lease = box.service.getContainerClient('source').getBlobLeaseClient()
    const { leaseId = '' } = await lease.acquireLease(-1)
    await assertRefused(rename('target', { [SOURCE]: 'source' }), 412, 'LeaseIdMissing')
    const mine = { [SOURCE]: 'source', 'x-ms-source-lease-id': leaseId }
    assert.equal((await rename('target', mine)).status, 200)
    const path = '/target?restype=container'
    await assertRefused(box.send('DELETE', path), 412, 'LeaseIdMissing')
  })
})
