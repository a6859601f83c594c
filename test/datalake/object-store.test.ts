// Requests as object_store (delta-rs, iceberg-rust, DataFusion) sends them: only to the Blob service, with conditions instead of
// locks, and with an eye on x-ms-resource-type.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { outcome, xmlTexts } from '../harness.ts'
import { LAKE, startLakeFixture } from './fixture.ts'

const { server, lake } = await startLakeFixture()
const VERSION = { 'x-ms-version': '2023-11-03' }
const PUT = { ...VERSION, 'x-ms-blob-type': 'BlockBlob' }
await lake('PUT', '/delta?restype=container', VERSION)
const LOG = '/delta/table/_delta_log/00000000000000000001.json'

test('of two writers of a log entry, one gets 409', async () => {
  const once = { ...PUT, 'If-None-Match': '*' }
  const both = await Promise.all(['a', 'b'].map((text) => lake('PUT', LOG, once, text)))
  assert.deepEqual(both.map(outcome).toSorted(), ['201', '409 BlobAlreadyExists'])
})

test('an update with an old ETag gets 412', async () => {
  const { headers } = await lake('PUT', LOG, PUT, 'first')
  const update = { ...PUT, 'If-Match': String(headers.etag) }
  assert.equal(outcome(await lake('PUT', LOG, update, 'second')), '201')
  assert.equal(outcome(await lake('PUT', LOG, update, 'third')), '412 ConditionNotMet')
})

test('a directory is not an object', async () => {
  const head = await lake('HEAD', '/delta/table', VERSION)
  assert.equal(head.headers['x-ms-resource-type'], 'directory')
  assert.equal((await lake('HEAD', LOG, VERSION)).headers['x-ms-resource-type'], 'file')
})

test('a list with an offset starts behind it', async () => {
  await lake('PUT', '/delta/table/part-1', PUT, 'x')
  await lake('PUT', '/delta/table/part-2', PUT, 'x')
  const list = '/delta?restype=container&comp=list&prefix=table/part'
  const all = await lake('GET', list, VERSION)
  assert.deepEqual(xmlTexts(all.text, 'Name'), ['table/part-1', 'table/part-2'])
  const newest = { 'x-ms-version': '2026-02-06' }
  const rest = await lake('GET', `${list}&startFrom=table/part-2`, newest)
  assert.deepEqual(xmlTexts(rest.text, 'Name'), ['table/part-2'])
})

test('many objects are deleted with one batch, which leaves a directory that is not empty', async () => {
  const service = BlobServiceClient.fromConnectionString(server.connectionStringOf(LAKE))
  const container = service.getContainerClient('delta')
  const paths = ['table/part-1', 'table/part-2', 'table/_delta_log']
  const clients = paths.map((path) => container.getBlobClient(path))
  const { subResponses } = await service.getBlobBatchClient().deleteBlobs(clients)
  assert.deepEqual(
    subResponses.map(({ status }) => status),
    [202, 202, 409],
  )
})
