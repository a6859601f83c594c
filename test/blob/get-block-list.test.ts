// Get Block List: which blocks it lists for whom, and its headers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertRefused, xmlTexts, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { container, send } = await startBlobFixture()

const idOf = (text: string) => Buffer.from(text).toString('base64')
const UNCOMMITTED = ['z', 'a', 'Z', '0']

/** `both` has the committed blocks b, a, b and four uncommitted ones; `none` has only uncommitted blocks. */
await container.setAccessPolicy('blob')
const both = container.getBlockBlobClient('both')
await both.stageBlock(idOf('a'), 'aa', 2)
await both.stageBlock(idOf('b'), 'bbb', 3)
await both.commitBlockList([idOf('b'), idOf('a'), idOf('b')], { tags: { k: 'v' } })
for (const blob of ['both', 'none']) {
  const client = container.getBlockBlobClient(blob)
  for (const letter of UNCOMMITTED) await client.stageBlock(idOf(letter), letter, 1)
}

const get = (path: string, headers: Headers = {}, sign?: string) =>
  send('GET', path, headers, undefined, sign)

const COMMITTED_XML =
  '<CommittedBlocks><Block><Name>Yg==</Name><Size>3</Size></Block>' +
  '<Block><Name>YQ==</Name><Size>2</Size></Block>' +
  '<Block><Name>Yg==</Name><Size>3</Size></Block></CommittedBlocks>'
/** In the order of the encoded ids. */
const UNCOMMITTED_XML =
  '<UncommittedBlocks><Block><Name>MA==</Name><Size>1</Size></Block>' +
  '<Block><Name>Wg==</Name><Size>1</Size></Block>' +
  '<Block><Name>YQ==</Name><Size>1</Size></Block>' +
  '<Block><Name>eg==</Name><Size>1</Size></Block></UncommittedBlocks>'

describe('Get Block List', () => {
  // prettier-ignore
  const TYPES: readonly (readonly [blob: string, query: string, xml: string])[] = [
    ['both', '', COMMITTED_XML],
    ['both', '&blocklisttype=committed', COMMITTED_XML],
    ['both', '&blocklisttype=uncommitted', UNCOMMITTED_XML],
    ['both', '&blocklisttype=all', COMMITTED_XML + UNCOMMITTED_XML],
    ['both', '&blocklisttype=All', COMMITTED_XML + UNCOMMITTED_XML],
    ['none', '', '<CommittedBlocks />'],
    ['none', '&blocklisttype=uncommitted', UNCOMMITTED_XML],
    ['none', '&blocklisttype=all', `<CommittedBlocks />${UNCOMMITTED_XML}`],
  ]
  for (const [blob, query, xml] of TYPES) {
    test(`${blob}${query}`, async () => {
      const { status, headers, text } = await get(`/box/${blob}?comp=blocklist${query}`)
      assert.equal(status, 200)
      assert.equal(text, `<?xml version="1.0" encoding="utf-8"?><BlockList>${xml}</BlockList>`)
      assert.equal(headers['content-type'], 'application/xml')
      const properties = await send('HEAD', `/box/${blob}`)
      const isCommitted = blob === 'both'
      assert.equal(headers['x-ms-blob-content-length'], isCommitted ? '8' : undefined)
      assert.equal(headers.etag, isCommitted ? properties.headers.etag : undefined)
      assert.equal(
        headers['last-modified'],
        isCommitted ? properties.headers['last-modified'] : undefined,
      )
    })
  }

  test('works with the SDK', async () => {
    const lists = await container.getBlockBlobClient('both').getBlockList('all')
    assert.deepEqual(
      lists.committedBlocks?.map(({ name, size }) => [name, size]),
      [
        [idOf('b'), 3],
        [idOf('a'), 2],
        [idOf('b'), 3],
      ],
    )
    assert.deepEqual(
      lists.uncommittedBlocks?.map(({ name }) => name),
      UNCOMMITTED.map(idOf).toSorted(),
    )
    assert.equal(lists.blobContentLength, 8)
  })
})

describe('Get Block List is refused:', () => {
  const LEASE = { 'x-ms-lease-id': '11111111-1111-1111-1111-111111111111' }
  // prettier-ignore
  const REFUSED: readonly (readonly [what: string, path: string, headers: Headers, status: number, code: string])[] = [
    ['no container', '/none/b?comp=blocklist', {}, 404, 'ContainerNotFound'],
    ['no blob', '/box/b?comp=blocklist&blocklisttype=all', {}, 404, 'BlobNotFound'],
    ['a missing snapshot', '/box/both?comp=blocklist&snapshot=2020-01-01T00:00:00.0000000Z', {}, 404, 'BlobNotFound'],
    ['a missing version', '/box/both?comp=blocklist&versionid=2020-01-01T00:00:00.0000000Z', {}, 404, 'BlobNotFound'],
    ['an unknown list type', '/box/both?comp=blocklist&blocklisttype=latest', {}, 400, 'InvalidQueryParameterValue'],
    ['If-Match', '/box/both?comp=blocklist', { 'If-Match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['If-Modified-Since', '/box/both?comp=blocklist', { 'If-Modified-Since': new Date(0).toUTCString() }, 400, 'ConditionHeadersNotSupported'],
    ['other tags', '/box/both?comp=blocklist', { 'x-ms-if-tags': `k = 'w'` }, 412, 'ConditionNotMet'],
    ['tags of an uncommitted blob', '/box/none?comp=blocklist', { 'x-ms-if-tags': `k = 'v'` }, 412, 'ConditionNotMet'],
    ['a lease id without a lease', '/box/both?comp=blocklist', LEASE, 412, 'LeaseNotPresentWithBlobOperation'],
    ['a lease id without a lease, of an uncommitted blob', '/box/none?comp=blocklist', LEASE, 412, 'LeaseNotPresentWithBlobOperation'],
  ]
  for (const [what, path, headers, status, code] of REFUSED) {
    test(`${what}: ${status} ${code}`, () => assertRefused(get(path, headers), status, code))
  }

  test('not with matching tags', async () => {
    const { status } = await get('/box/both?comp=blocklist', { 'x-ms-if-tags': `k = 'v'` })
    assert.equal(status, 200)
  })

  test('a wrong lease id, but not the right one or none', async () => {
    for (const blob of ['both', 'none']) {
      const client = container.getBlockBlobClient(blob)
      const lease = client.getBlobLeaseClient('22222222-2222-2222-2222-222222222222')
      await lease.acquireLease(15)
      const path = `/box/${blob}?comp=blocklist`
      assert.equal((await get(path)).status, 200)
      assert.equal((await get(path, { 'x-ms-lease-id': lease.leaseId })).status, 200)
      await assertRefused(get(path, LEASE), 412, 'LeaseIdMismatchWithBlobOperation')
      await lease.releaseLease()
    }
  })

  test('with 409 in a version that permits only smaller blocks', async () => {
    const client = container.getBlockBlobClient('large')
    const large = Buffer.alloc(4 * 1024 * 1024 + 1)
    await client.stageBlock(idOf('a'), large, large.length)
    const path = '/box/large?comp=blocklist&blocklisttype='
    const old = { 'x-ms-version': '2015-12-11' }
    assert.equal((await get(`${path}committed`, old)).status, 200)
    await assertRefused(get(`${path}uncommitted`, old), 409, 'FeatureVersionMismatch')
    await client.commitBlockList([idOf('a')])
    await assertRefused(get(`${path}committed`, old), 409, 'FeatureVersionMismatch')
    assert.equal((await get(`${path}committed`, { 'x-ms-version': '2016-05-31' })).status, 200)
  })
})

describe('an anonymous client', () => {
  test('sees the committed blocks of a public blob', async () => {
    for (const query of ['', '&blocklisttype=committed']) {
      const { status, text } = await get(`/box/both?comp=blocklist${query}`, {}, 'none')
      assert.equal(status, 200)
      assert.deepEqual(xmlTexts(text, 'Name'), ['Yg==', 'YQ==', 'Yg=='])
    }
  })

  for (const type of ['uncommitted', 'all', 'ALL']) {
    test(`does not see ${type} blocks`, async () => {
      const path = `/box/both?comp=blocklist&blocklisttype=${type}`
      await assertRefused(get(path, {}, 'none'), 401, 'NoAuthenticationInformation')
    })
  }
})
