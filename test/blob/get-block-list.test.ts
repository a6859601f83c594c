// Get Block List: which list it shows to whom, and what it says of the blob besides.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { rawRequest, startTestServer, xmlTexts, type TestServer } from '../harness.ts'

let server: TestServer
let container: ContainerClient

const idOf = (text: string) => Buffer.from(text).toString('base64')
const UNCOMMITTED = ['z', 'a', 'Z', '0']

/** `both` has the committed blocks b, a, b and four that are not; `none` has only such. */
before(async () => {
  server = await startTestServer()
  const service = BlobServiceClient.fromConnectionString(server.connectionString)
  container = service.getContainerClient('box')
  await container.create({ access: 'blob' })
  const both = container.getBlockBlobClient('both')
  await both.stageBlock(idOf('a'), 'aa', 2)
  await both.stageBlock(idOf('b'), 'bbb', 3)
  await both.commitBlockList([idOf('b'), idOf('a'), idOf('b')], { tags: { k: 'v' } })
  for (const blob of ['both', 'none']) {
    const client = container.getBlockBlobClient(blob)
    for (const letter of UNCOMMITTED) await client.stageBlock(idOf(letter), letter, 1)
  }
})

after(() => server.close())

type Headers = Readonly<Record<string, string>>

const get = (path: string, headers: Headers = {}, sign = 'sharedKey') =>
  rawRequest(server, { method: 'GET', path, headers, sign })

async function assertRefused(sent: ReturnType<typeof get>, status: number, code: string) {
  const answer = await sent
  assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [status, code])
}

const COMMITTED_XML =
  '<CommittedBlocks><Block><Name>Yg==</Name><Size>3</Size></Block>' +
  '<Block><Name>YQ==</Name><Size>2</Size></Block>' +
  '<Block><Name>Yg==</Name><Size>3</Size></Block></CommittedBlocks>'
/** In the order of the ids as they are written. */
const UNCOMMITTED_XML =
  '<UncommittedBlocks><Block><Name>MA==</Name><Size>1</Size></Block>' +
  '<Block><Name>Wg==</Name><Size>1</Size></Block>' +
  '<Block><Name>YQ==</Name><Size>1</Size></Block>' +
  '<Block><Name>eg==</Name><Size>1</Size></Block></UncommittedBlocks>'

describe('the lists', () => {
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
      const properties = await rawRequest(server, { method: 'HEAD', path: `/box/${blob}` })
      const isCommitted = blob === 'both'
      assert.equal(headers['x-ms-blob-content-length'], isCommitted ? '8' : undefined)
      assert.equal(headers.etag, isCommitted ? properties.headers.etag : undefined)
      assert.equal(
        headers['last-modified'],
        isCommitted ? properties.headers['last-modified'] : undefined,
      )
    })
  }

  test('by the SDK', async () => {
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

describe('refused', () => {
  const LEASE = { 'x-ms-lease-id': '11111111-1111-1111-1111-111111111111' }
  // prettier-ignore
  const REFUSED: readonly (readonly [what: string, path: string, headers: Headers, status: number, code: string])[] = [
    ['no container', '/none/b?comp=blocklist', {}, 404, 'ContainerNotFound'],
    ['no blob', '/box/b?comp=blocklist&blocklisttype=all', {}, 404, 'BlobNotFound'],
    ['no such snapshot', '/box/both?comp=blocklist&snapshot=2020-01-01T00:00:00.0000000Z', {}, 404, 'BlobNotFound'],
    ['no such version', '/box/both?comp=blocklist&versionid=2020-01-01T00:00:00.0000000Z', {}, 404, 'BlobNotFound'],
    ['another type', '/box/both?comp=blocklist&blocklisttype=latest', {}, 400, 'InvalidQueryParameterValue'],
    ['If-Match', '/box/both?comp=blocklist', { 'If-Match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['If-Modified-Since', '/box/both?comp=blocklist', { 'If-Modified-Since': new Date(0).toUTCString() }, 400, 'ConditionHeadersNotSupported'],
    ['tags that it has not', '/box/both?comp=blocklist', { 'x-ms-if-tags': `k = 'w'` }, 412, 'ConditionNotMet'],
    ['tags where no blob is yet', '/box/none?comp=blocklist', { 'x-ms-if-tags': `k = 'v'` }, 412, 'ConditionNotMet'],
    ['a lease where there is none', '/box/both?comp=blocklist', LEASE, 412, 'LeaseNotPresentWithBlobOperation'],
    ['the same of an uncommitted blob', '/box/none?comp=blocklist', LEASE, 412, 'LeaseNotPresentWithBlobOperation'],
  ]
  for (const [what, path, headers, status, code] of REFUSED) {
    test(`${what}: ${status} ${code}`, () => assertRefused(get(path, headers), status, code))
  }

  test('tags that it has: 200', async () => {
    const { status } = await get('/box/both?comp=blocklist', { 'x-ms-if-tags': `k = 'v'` })
    assert.equal(status, 200)
  })

  test('a lease: its id, no id, or 412', async () => {
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

  test('a version that knows only smaller blocks: 409', async () => {
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

describe('who is anonymous', () => {
  test('sees the committed blocks of a public blob', async () => {
    for (const query of ['', '&blocklisttype=committed']) {
      const { status, text } = await get(`/box/both?comp=blocklist${query}`, {}, 'none')
      assert.equal(status, 200)
      assert.deepEqual(xmlTexts(text, 'Name'), ['Yg==', 'YQ==', 'Yg=='])
    }
  })

  for (const type of ['uncommitted', 'all', 'ALL']) {
    test(`does not see ${type}: 401`, async () => {
      const path = `/box/both?comp=blocklist&blocklisttype=${type}`
      await assertRefused(get(path, {}, 'none'), 401, 'NoAuthenticationInformation')
    })
  }
})
