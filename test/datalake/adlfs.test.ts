// Requests as adlfs (fsspec, Dask, pandas) sends them: it knows only the Blob service, also on accounts with a hierarchical
// namespace, where directories are blobs that are marked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { xmlTexts } from '../harness.ts'
import { LAKE, startLakeFixture } from './fixture.ts'

const { server, lake, write } = await startLakeFixture()
const BLOB = { Accept: 'application/xml', 'x-ms-version': '2025-05-05' }
await lake('PUT', '/adlfs?restype=container', BLOB)

test('pipe_file and open upload, and parents are there at once', async () => {
  const put = { ...BLOB, 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-is_directory': 'false' }
  assert.equal((await lake('PUT', '/adlfs/data/year/a.parquet', put, 'small')).status, 201)
  const id = Buffer.from('0'.repeat(20)).toString('base64')
  const block = `/adlfs/data/year/b.parquet?comp=block&blockid=${encodeURIComponent(id)}`
  assert.equal((await lake('PUT', block, BLOB, 'in blocks')).status, 201)
  const list = `<BlockList><Latest>${id}</Latest></BlockList>`
  const commit = { ...BLOB, 'x-ms-meta-is_directory': 'false' }
  assert.equal(
    (await lake('PUT', '/adlfs/data/year/b.parquet?comp=blocklist', commit, list)).status,
    201,
  )
  const { headers } = await lake('HEAD', '/adlfs/data/year', BLOB)
  assert.equal(headers['x-ms-meta-hdi_isfolder'], 'true')
})

test('ls walks by delimiter and shows files of both endpoints', async () => {
  await write('/adlfs/data/year/c.parquet', 'by path')
  const list =
    '/adlfs?restype=container&comp=list&include=metadata&delimiter=%2F&prefix=data%2Fyear%2F'
  const { text } = await lake('GET', list, BLOB)
  assert.deepEqual(xmlTexts(text, 'Name'), ['a', 'b', 'c'].map((name) => `data/year/${name}.parquet`)) // prettier-ignore
  const above = await lake('GET', list.replace('data%2Fyear%2F', 'data%2F'), BLOB)
  assert.deepEqual(xmlTexts(above.text, 'Name'), ['data/year/'])
  assert.match(above.text, /<BlobPrefix>/)
})

test('cat_file reads a part of what was written by path', async () => {
  const range = { ...BLOB, 'x-ms-range': 'bytes=3-6' }
  assert.equal((await lake('GET', '/adlfs/data/year/c.parquet', range)).text, 'path')
})

test('mv copies and deletes, rm deletes files before their directories', async () => {
  const from = `http://127.0.0.1:${server.blobPort}/${LAKE}/adlfs/data/year/a.parquet`
  const copied = await lake('PUT', '/adlfs/data/moved', { ...BLOB, 'x-ms-copy-source': from })
  assert.equal(copied.status, 202, copied.text)
  assert.equal(
    (await lake('DELETE', '/adlfs/data/year', BLOB)).headers['x-ms-error-code'],
    'DirectoryIsNotEmpty',
  )
  for (const name of ['year/a.parquet', 'year/b.parquet', 'year/c.parquet', 'year', 'moved']) {
    assert.equal((await lake('DELETE', `/adlfs/data/${name}`, BLOB)).status, 202, name)
  }
  const { text } = await lake('GET', '/adlfs?restype=container&comp=list', BLOB)
  assert.deepEqual(xmlTexts(text, 'Name'), ['data'])
})
