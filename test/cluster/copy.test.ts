// Copies from files to blobs and the other way round, through every node of a cluster.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { FileSASPermissions } from '@azure/storage-file-share'
import { assertBytes } from '../assert-bytes.ts'
import { shareClient } from '../file/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo, type Headers } from '../harness.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startCluster, type TestClusterOptions, type TestNode } from './cluster.ts'

const CREDENTIAL = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
/** Whole pages. */
const BYTES = randomBytes(512 * 1024)

function containerOf({ blobPort }: TestNode) {
  const endpoint = `http://127.0.0.1:${blobPort}/${ACCOUNT}`
  return new BlobServiceClient(endpoint, CREDENTIAL).getContainerClient('box')
}

const urlOf = ({ fileEndpoint }: TestNode): string => `${fileEndpoint}/box/source`

async function startBox(t: TestContext, options: TestClusterOptions = {}) {
  const cluster = await startCluster(t, { count: 3, ...options })
  const [first] = cluster.nodes
  assert(first)
  await shareClient(first, 'box').create()
  await containerOf(first).create()
  const file = shareClient(first, 'box').rootDirectoryClient.getFileClient('source')
  await file.uploadData(BYTES)
  return { ...cluster, first, file }
}

type Copy = readonly [
  name: string,
  path: string,
  headers: Headers,
  /** Sent before, to the same path without a query. */
  create?: Headers,
]

const APPEND = { 'x-ms-blob-type': 'AppendBlob' }
const PAGES = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': String(BYTES.length) }
const RANGE = { 'x-ms-range': `bytes=0-${BYTES.length - 1}`, 'x-ms-page-write': 'update' }
const SOURCE_RANGE = { 'x-ms-source-range': `bytes=0-${BYTES.length - 1}` }

const COPIES: readonly Copy[] = [
  ['Copy Blob', '', {}],
  ['Copy Blob From URL', '', { 'x-ms-requires-sync': 'true' }],
  ['Put Blob From URL', '', { 'x-ms-blob-type': 'BlockBlob' }],
  ['Append Block From URL', '?comp=appendblock', {}, APPEND],
  ['Put Page From URL', '?comp=page', { ...RANGE, ...SOURCE_RANGE }, PAGES],
]

for (const [name, query, headers, create] of COPIES) {
  test(`${name} from a file, with every node as the front and as the source`, async (t) => {
    const { nodes } = await startBox(t)
    for (const [at, node] of nodes.entries()) {
      for (const [from, source] of nodes.entries()) {
        const path = `/box/blob-${at}-${from}`
        const send = sendTo(node.blobPort)
        if (create !== undefined) assert.equal((await send('PUT', path, create)).status, 201)
        const all = { 'x-ms-copy-source': urlOf(source), ...headers }
        const answer = await send('PUT', path + query, all)
        assert(answer.status === 201 || answer.status === 202, `${outcome(answer)} ${answer.text}`)
        assert.match(String(answer.headers['x-ms-request-id']), /^[0-9a-f-]{36}$/)
        assert.match(String(answer.headers.date), /GMT$/)
        const blob = containerOf(source).getBlobClient(`blob-${at}-${from}`)
        assertBytes(await blob.downloadToBuffer(), BYTES)
      }
    }
  })
}

test('Put Block From URL, and a connection that is used for more than the copy', async (t) => {
  const { nodes } = await startBox(t)
  for (const node of nodes) {
    const blob = containerOf(node).getBlockBlobClient('blocks')
    await blob.stageBlockFromURL('AAAA', urlOf(node), 1_000, 2_000)
    await blob.stageBlockFromURL('BBBB', urlOf(node), 0, 10)
    await blob.commitBlockList(['AAAA', 'BBBB'])
    const expected = Buffer.concat([BYTES.subarray(1_000, 3_000), BYTES.subarray(0, 10)])
    assertBytes(await blob.downloadToBuffer(), expected)
  }
})

test('the name of a load balancer is known from the request', async (t) => {
  const { nodes } = await startBox(t, { allowedHosts: ['balancer.test'] })
  for (const node of nodes) {
    const source = `http://balancer.test:${node.filePort}/${ACCOUNT}/box/source`
    const copy = { 'x-ms-copy-source': source, 'x-ms-blob-type': 'BlockBlob' }
    const headers = { ...copy, host: `balancer.test:${node.blobPort}` }
    assert.equal(outcome(await sendTo(node.blobPort)('PUT', '/box/copy', headers)), '201')
    // Under another name, it may be anybody's.
    const other = await sendTo(node.blobPort)('PUT', '/box/copy', copy)
    assert.equal(outcome(other), '403 CannotVerifyCopySource')
  }
})

test('a SAS of the source is checked as on the home', async (t) => {
  const { nodes, first, file } = await startBox(t)
  const expiresOn = new Date(first.now() + 3_600_000)
  const outcomes = async (permissions: string): Promise<Set<string>> => {
    const terms = { permissions: FileSASPermissions.parse(permissions), expiresOn }
    const url = await file.generateSasUrl(terms)
    const found = new Set<string>()
    for (const node of nodes) {
      const headers = { 'x-ms-copy-source': url, 'x-ms-blob-type': 'BlockBlob' }
      found.add(outcome(await sendTo(node.blobPort)('PUT', '/box/copy', headers)))
    }
    return found
  }
  assert.deepEqual(await outcomes('r'), new Set(['201']))
  assert.deepEqual(await outcomes('w'), new Set(['403 CannotVerifyCopySource']))
})

test('a request that is not authorized stays so through another node', async (t) => {
  const { nodes, first } = await startBox(t)
  for (const node of nodes) {
    const headers = { 'x-ms-copy-source': urlOf(first), 'x-ms-blob-type': 'BlockBlob' }
    const answer = await sendTo(node.blobPort)('PUT', '/box/copy', headers, undefined, 'none')
    assert.equal(outcome(answer), '401 NoAuthenticationInformation')
  }
})

test('a file that an SMB client holds is not copied through any node', async (t) => {
  const { nodes } = await startBox(t)
  const [, second] = nodes
  assert(second)
  const client = await SmbClient.connect({ port: second.smbPort, share: 'box' })
  t.after(() => client.end())
  await client.open('source', { share: 0 })
  for (const node of nodes) {
    const headers = { 'x-ms-copy-source': urlOf(second), 'x-ms-blob-type': 'BlockBlob' }
    const answer = await sendTo(node.blobPort)('PUT', '/box/copy', headers)
    assert.equal(outcome(answer), '409 CannotVerifyCopySource')
    assert.equal(answer.headers['x-ms-copy-source-error-code'], 'SharingViolation')
  }
})

test('without a home, copies from files are ServerBusy and everything else goes on', async (t) => {
  const { nodes, first, move } = await startBox(t)
  move(undefined)
  for (const node of nodes) {
    const send = sendTo(node.blobPort)
    const block = { 'x-ms-blob-type': 'BlockBlob' }
    const busy = await send('PUT', '/box/copy', { ...block, 'x-ms-copy-source': urlOf(first) })
    assert.equal(outcome(busy), '503 ServerBusy')
    assert.equal(busy.headers['retry-after'], '1')
    assert.equal((await send('PUT', '/box/blob', block, 'bytes')).status, 201)
    const blob = `http://127.0.0.1:${node.blobPort}/${ACCOUNT}/box/blob`
    assert.equal(
      (await send('PUT', '/box/copy', { ...block, 'x-ms-copy-source': blob })).status,
      201,
    )
  }
})

test('Copy File and Put Range From URL read blobs and files through every node', async (t) => {
  const { nodes, first } = await startBox(t)
  await containerOf(first).getBlockBlobClient('blob').uploadData(BYTES)
  for (const node of nodes) {
    const blob = `http://127.0.0.1:${first.blobPort}/${ACCOUNT}/box/blob`
    for (const [name, url] of [
      ['from-blob', blob],
      ['from-file', urlOf(first)],
    ] as const) {
      const copied = await sendTo(node.filePort)('PUT', `/box/${name}`, { 'x-ms-copy-source': url })
      assert.equal(outcome(copied), '202', copied.text)
      const file = shareClient(node, 'box').rootDirectoryClient.getFileClient(name)
      assertBytes(await file.downloadToBuffer(), BYTES)
      await file.create(BYTES.length)
      const range = `bytes=0-${BYTES.length - 1}`
      const put = await sendTo(node.filePort)('PUT', `/box/${name}?comp=range`, {
        'x-ms-copy-source': url,
        'x-ms-source-range': range,
        'x-ms-range': range,
        'x-ms-write': 'update',
      })
      assert.equal(outcome(put), '201', put.text)
      assertBytes(await file.downloadToBuffer(), BYTES)
      await file.delete()
    }
  }
})
