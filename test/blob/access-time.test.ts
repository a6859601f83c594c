// x-ms-last-access-time: Get Blob and writes update it, at most once a day, if the account tracks it.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { assertRefused, DAY_MS } from '../harness.ts'
import { startBlobFixture, VERSIONING } from './fixture.ts'

const box = await startBlobFixture()

const tracking = (enable: boolean | string) =>
  `<LastAccessTimeTrackingPolicy><Enable>${enable}</Enable></LastAccessTimeTrackingPolicy>`

beforeEach(() => box.setServiceProperties(tracking(true)))

async function accessOf(path: string): Promise<string | undefined> {
  const { headers } = await box.send('HEAD', path)
  const text = headers['x-ms-last-access-time']
  return text === undefined ? undefined : String(text)
}

const now = () => new Date(box.server.now()).toUTCString()

describe('with tracking', () => {
  test('a new blob has the time of its write', async () => {
    await box.put('new', 'one')
    assert.equal(await accessOf('/box/new'), now())
  })

  test('a read updates the time once a day and changes nothing else', async () => {
    await box.put('read', 'one')
    const { etag } = (await box.send('HEAD', '/box/read')).headers
    const written = now()
    box.server.advance(DAY_MS - 1)
    await box.read('/box/read')
    assert.equal(await accessOf('/box/read'), written)
    box.server.advance(1)
    const get = await box.send('GET', '/box/read')
    assert.equal(get.headers['x-ms-last-access-time'], written)
    const first = now()
    assert.equal(await accessOf('/box/read'), first)
    box.server.advance(DAY_MS / 2)
    await box.read('/box/read')
    assert.equal(await accessOf('/box/read'), first)
    assert.equal((await box.send('HEAD', '/box/read')).headers.etag, etag)
  })

  test('reading properties, metadata or tags does not count', async () => {
    await box.put('properties', 'one')
    const written = now()
    box.server.advance(2 * DAY_MS)
    await box.send('HEAD', '/box/properties')
    await box.send('GET', '/box/properties?comp=metadata')
    await box.send('GET', '/box/properties?comp=tags')
    assert.equal(await accessOf('/box/properties'), written)
  })

  test('a failed read does not count', async () => {
    await box.put('unmet', 'one')
    const written = now()
    box.server.advance(2 * DAY_MS)
    const sent = box.send('GET', '/box/unmet', { 'If-Match': '"0x0"' })
    await assertRefused(sent, 412, 'ConditionNotMet')
    assert.equal(await accessOf('/box/unmet'), written)
  })

  test('a write counts', async () => {
    await box.put('written', 'one')
    box.server.advance(1_000)
    await box.send('PUT', '/box/written?comp=metadata', { 'x-ms-meta-a': '1' })
    assert.equal(await accessOf('/box/written'), now())
  })

  test('a blob written before tracking was enabled has no time until it is read', async () => {
    await box.setServiceProperties(tracking(false))
    await box.put('before', 'one')
    await box.setServiceProperties(tracking(true))
    assert.equal(await accessOf('/box/before'), undefined)
    await box.read('/box/before')
    assert.equal(await accessOf('/box/before'), now())
  })

  test('snapshots and versions have their own times', async () => {
    await box.setServiceProperties(VERSIONING)
    const first = await box.put('past', 'one')
    const id = await box.snapshot('past')
    await box.put('past', 'two')
    const written = now()
    box.server.advance(2 * DAY_MS)
    for (const at of [`snapshot=${id}`, `versionid=${first}`]) {
      assert.equal(await accessOf(`/box/past?${at}`), written)
      assert.equal(await box.read(`/box/past?${at}`), 'one')
      assert.equal(await accessOf(`/box/past?${at}`), now())
    }
    assert.equal(await accessOf('/box/past'), written)
  })

  test('the SDK shows it', async () => {
    const blob = box.container.getBlockBlobClient('sdk')
    await blob.upload('one', 3)
    const { lastAccessed } = await blob.getProperties()
    assert.equal(lastAccessed?.toUTCString(), now())
  })

  test('all of many concurrent reads succeed', async () => {
    await box.put('many', 'x'.repeat(20_000))
    box.server.advance(2 * DAY_MS)
    const reads = await Promise.all(Array.from({ length: 40 }, () => box.read('/box/many')))
    assert.ok(reads.every((text) => text.length === 20_000))
    assert.equal(await accessOf('/box/many'), now())
  })
})

describe('without tracking', () => {
  test('no time is stored, and stored times are hidden', async () => {
    await box.put('kept', 'one')
    await box.setServiceProperties(tracking(false))
    await box.put('none', 'one')
    for (const path of ['/box/kept', '/box/none']) {
      const get = await box.send('GET', path)
      assert.equal(get.headers['x-ms-last-access-time'], undefined)
      assert.equal(await accessOf(path), undefined)
    }
  })

  test('the service properties have the policy only while it is enabled, and the SDK reads both', async () => {
    const read = async () => (await box.send('GET', '/?restype=service&comp=properties')).text
    assert.ok((await read()).includes(tracking(true)))
    assert.ok(await box.service.getProperties())
    await box.setServiceProperties(tracking(false))
    assert.ok(!(await read()).includes('LastAccessTimeTrackingPolicy'))
    const body = `<StorageServiceProperties>${tracking('x')}</StorageServiceProperties>`
    const sent = box.send('PUT', '/?restype=service&comp=properties', {}, body)
    await assertRefused(sent, 400, 'InvalidXmlDocument')
  })
})
