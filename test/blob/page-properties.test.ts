// Set Blob Properties of a page blob: its length and its sequence number.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type Headers, assertRefused } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture({ container: 'disks' })

const PAGE = 512
const LENGTH = 'x-ms-blob-content-length'
const NUMBER = 'x-ms-blob-sequence-number'
const ACTION = 'x-ms-sequence-number-action'

function setProperties(name: string, headers: Headers) {
  return send('PUT', `/disks/${name}?comp=properties`, headers)
}

describe('a resize', () => {
  test('drops pages at the end or adds zeros', async () => {
    const blob = container.getPageBlobClient('resize')
    const { etag } = await blob.create(4 * PAGE)
    await blob.uploadPages('r'.repeat(4 * PAGE), 0, 4 * PAGE)
    server.advance(2_000)
    const smaller = await blob.resize(2 * PAGE)
    assert.notEqual(smaller.etag, etag)
    assert.equal(smaller.lastModified?.toUTCString(), new Date(server.now()).toUTCString())
    assert.equal(smaller.blobSequenceNumber, 0)
    assert.equal((await blob.downloadToBuffer()).toString(), 'r'.repeat(2 * PAGE))
    await blob.resize(6 * PAGE)
    const expected = 'r'.repeat(2 * PAGE) + '\0'.repeat(4 * PAGE)
    assert.equal((await blob.downloadToBuffer()).toString(), expected)
    const { pageRange } = await blob.getPageRanges()
    // The SDK computes the count from the inclusive end without adding one.
    assert.deepEqual(pageRange, [{ offset: 0, count: 2 * PAGE - 1 }])
    await blob.resize(0)
    assert.equal((await blob.getProperties()).contentLength, 0)
  })

  test('does not change a snapshot', async () => {
    const blob = container.getPageBlobClient('shrunk')
    await blob.create(2 * PAGE)
    await blob.uploadPages('s'.repeat(2 * PAGE), 0, 2 * PAGE)
    const { snapshot = '' } = await blob.createSnapshot()
    await blob.resize(PAGE)
    const old = await blob.withSnapshot(snapshot).downloadToBuffer()
    assert.equal(old.toString(), 's'.repeat(2 * PAGE))
  })

  test('keeps the headers, and can be combined with setting one', async () => {
    const blob = container.getPageBlobClient('both')
    await blob.create(PAGE, { blobHTTPHeaders: { blobContentType: 'text/css' } })
    await blob.resize(2 * PAGE)
    assert.equal((await blob.getProperties()).contentType, 'text/css')
    const headers = { 'x-ms-blob-content-language': 'la', [LENGTH]: '512', [ACTION]: 'increment' }
    const { status, headers: answer } = await setProperties('both', headers)
    assert.deepEqual([status, answer[NUMBER]], [200, '1'])
    const now = await blob.getProperties()
    assert.deepEqual(
      [now.contentLanguage, now.contentType, now.contentLength, now.blobSequenceNumber],
      ['la', undefined, PAGE, 1],
    )
  })
})

describe('the sequence number:', () => {
  // before, action and value → after
  const ACTIONS = [
    ['5', 'max', '9', '9'],
    ['5', 'max', '3', '5'],
    ['5', 'update', '3', '3'],
    ['5', 'update', '9223372036854775807', '9223372036854775807'],
    ['5', 'increment', undefined, '6'],
    ['9223372036854775806', 'increment', undefined, '9223372036854775807'],
  ] as const
  for (const [from, action, value, to] of ACTIONS) {
    test(`${from}, ${action} ${value ?? ''} → ${to}`, async () => {
      const create = { 'x-ms-blob-type': 'PageBlob', [LENGTH]: '512', [NUMBER]: from }
      await send('PUT', '/disks/number', create)
      const headers = { [ACTION]: action, ...(value !== undefined && { [NUMBER]: value }) }
      const answer = await setProperties('number', headers)
      assert.deepEqual([answer.status, answer.headers[NUMBER]], [200, to])
      const { headers: got } = await send('HEAD', '/disks/number')
      assert.equal(got[NUMBER], to)
      assert.equal(got.etag, answer.headers.etag)
    })
  }

  test('is set by the SDK', async () => {
    const blob = container.getPageBlobClient('sdk')
    await blob.create(PAGE, { blobSequenceNumber: 4 })
    assert.equal((await blob.updateSequenceNumber('increment')).blobSequenceNumber, 5)
    assert.equal((await blob.updateSequenceNumber('max', 8)).blobSequenceNumber, 8)
    assert.equal((await blob.uploadPages('x'.repeat(PAGE), 0, PAGE)).blobSequenceNumber, 8)
  })
})

describe('invalid properties:', () => {
  // prettier-ignore
  const REFUSED: readonly (readonly [string, Headers, number, string])[] = [
    ['disk', { [LENGTH]: '100' }, 400, 'InvalidHeaderValue'],
    ['disk', { [LENGTH]: '-512' }, 400, 'InvalidHeaderValue'],
    ['disk', { [ACTION]: 'twice' }, 400, 'InvalidHeaderValue'],
    ['disk', { [ACTION]: 'increment', [NUMBER]: '1' }, 400, 'InvalidHeaderValue'],
    ['disk', { [ACTION]: 'update', [NUMBER]: '-1' }, 400, 'InvalidHeaderValue'],
    ['disk', { [ACTION]: 'update' }, 400, 'MissingRequiredHeader'],
    ['disk', { [NUMBER]: '1' }, 400, 'MissingRequiredHeader'],
    ['last', { [ACTION]: 'increment' }, 409, 'SequenceNumberIncrementTooLarge'],
    ['block', { [LENGTH]: '512' }, 409, 'InvalidBlobType'],
    ['block', { [ACTION]: 'increment' }, 409, 'InvalidBlobType'],
    ['none', { [LENGTH]: '512' }, 404, 'BlobNotFound'],
    ['disk', { [LENGTH]: '512', 'If-Match': '"0x8D0"' }, 412, 'ConditionNotMet'],
    ['disk', { [ACTION]: 'increment', 'If-None-Match': '*' }, 412, 'ConditionNotMet'],
    ['leased', { [LENGTH]: '512' }, 412, 'LeaseIdMissing'],
    ['leased', { [ACTION]: 'increment' }, 412, 'LeaseIdMissing'],
  ]
  before(async () => {
    const last = { 'x-ms-blob-type': 'PageBlob', [LENGTH]: '512', [NUMBER]: '9223372036854775807' }
    await send('PUT', '/disks/last', last)
    await container.getPageBlobClient('disk').create(2 * PAGE)
    await container.uploadBlockBlob('block', 'x', 1)
    const leased = container.getPageBlobClient('leased')
    await leased.create(2 * PAGE)
    await leased.getBlobLeaseClient().acquireLease(-1)
  })
  for (const [name, headers, status, code] of REFUSED) {
    test(`${name} with ${JSON.stringify(headers)} → ${code}`, async () => {
      const read = async () => {
        const answer = await send('HEAD', `/disks/${name}`)
        return [answer.headers.etag, answer.headers['content-length'], answer.headers[NUMBER]]
      }
      const now = await read()
      await assertRefused(setProperties(name, headers), status, code)
      assert.deepEqual(await read(), now)
    })
  }
})
