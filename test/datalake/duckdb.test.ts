// Requests as the azure extension of DuckDB sends them for `abfss://`: to the host of Data Lake Storage, never to that of blobs.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { exchange, wireRequest, type Headers } from '../harness.ts'
import { expect, LAKE, startLakeFixture } from './fixture.ts'

const { server, filesystem } = await startLakeFixture()
await filesystem('duckdb')

const send = (method: string, path: string, headers: Headers = {}, body?: string) => {
  const host = { host: `${LAKE}.dfs.localhost:${server.blobPort}`, 'x-ms-version': '2023-08-03' }
  const own = { ...host, accept: 'application/json', ...headers }
  const sent = { method, path, account: LAKE, wholePath: true, headers: own }
  const wire = wireRequest({ ...sent, ...(body !== undefined && { body }) })
  return exchange(httpRequest({ host: '127.0.0.1', port: server.blobPort, method, ...wire }), body)
}

test('COPY TO writes a file by create, appends and a closing flush', async () => {
  expect(await send('PUT', '/duckdb/out?resource=directory'), '201')
  expect(await send('PUT', '/duckdb/out/a.csv?resource=file'), '201')
  expect(await send('PATCH', '/duckdb/out/a.csv?action=append&position=0', {}, 'id\n'), '202')
  expect(await send('PATCH', '/duckdb/out/a.csv?action=append&position=3', {}, '42\n'), '202')
  expect(await send('PATCH', '/duckdb/out/a.csv?action=flush&position=6&close=true'), '200')
})

test('a glob lists a directory, and a file is read in ranges of one version', async () => {
  const list = '/duckdb?resource=filesystem&directory=out&recursive=false&maxResults=5000'
  const [found] = JSON.parse(expect(await send('GET', list), '200').text).paths
  assert.deepEqual([found.name, found.contentLength], ['out/a.csv', '6'])
  const { headers } = expect(await send('HEAD', '/duckdb/out/a.csv'), '200')
  assert.equal(headers['x-ms-resource-type'], 'file')
  const range = { 'x-ms-range': 'bytes=3-4', 'if-match': String(headers.etag) }
  const part = await send('GET', '/duckdb/out/a.csv', range)
  assert.deepEqual([part.status, part.text], [206, '42'])
})

test('a file is deleted', async () => {
  expect(await send('DELETE', '/duckdb/out/a.csv'), '200')
  expect(await send('HEAD', '/duckdb/out/a.csv'), '404 PathNotFound')
})
