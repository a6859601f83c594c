// Filesystems, and how requests find Data Lake Storage.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request as httpRequest } from 'node:http'
import { exchange, outcome, wireRequest } from '../harness.ts'
import { expect, LAKE, sendAs, startLakeFixture } from './fixture.ts'

const { server, lake, flat } = await startLakeFixture()

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a filesystem is a container, by both names', async () => {
  const created = await lake('PUT', '/one?resource=filesystem', {
    'x-ms-properties': `a=${base64('b')},c=`,
  })
  expect(created, '201')
  assert.equal(created.headers['x-ms-namespace-enabled'], 'true')
  expect(await lake('PUT', '/one?resource=filesystem'), '409 FilesystemAlreadyExists')
  const asContainer = await lake('HEAD', '/one?restype=container')
  assert.equal(asContainer.headers['x-ms-meta-a'], 'b')
  assert.equal(asContainer.headers.etag, created.headers.etag)
  const read = await lake('HEAD', '/one?resource=filesystem')
  assert.equal(read.headers['x-ms-properties'], `a=${base64('b')},c=`)
  assert.equal(read.headers['x-ms-namespace-enabled'], 'true')
  assert.match(String(read.headers.server), /^Windows-Azure-HDFS/)
  expect(await lake('DELETE', '/one?resource=filesystem'), '202')
  expect(await lake('HEAD', '/one?resource=filesystem'), '404 FilesystemNotFound')
  expect(await lake('DELETE', '/one?resource=filesystem'), '404 FilesystemNotFound')
})

test('properties that are not sent are removed', async () => {
  await lake('PUT', '/props?resource=filesystem', { 'x-ms-properties': `a=${base64('b')}` })
  const set = { 'x-ms-properties': `c=${base64('é')}` }
  expect(await lake('PATCH', '/props?resource=filesystem', set), '200')
  const read = await lake('HEAD', '/props?resource=filesystem')
  assert.equal(read.headers['x-ms-properties'], `c=${base64('é')}`)
  expect(
    await lake('PUT', '/props?resource=filesystem', { 'x-http-method-override': 'PATCH' }),
    '200',
  )
  const empty = await lake('HEAD', '/props?resource=filesystem')
  assert.equal(empty.headers['x-ms-properties'], undefined)
})

test('bad properties are refused', async () => {
  const refused = [
    ['a', '400 InvalidHeaderValue'],
    ['=YQ==', '400 InvalidPropertyName'],
    ['a-b=YQ==', '400 InvalidPropertyName'],
    ['a=?', '400 InvalidHeaderValue'],
    ['a=YQ==,A=YQ==', '400 InvalidMetadata'],
    [`a=${base64('x\ny')}`, '400 InvalidMetadata'],
    [`a=${base64('x'.repeat(8192))}`, '400 MetadataTooLarge'],
  ] as const
  for (const [properties, code] of refused) {
    expect(await lake('PUT', '/bad?resource=filesystem', { 'x-ms-properties': properties }), code)
  }
  expect(await lake('HEAD', '/bad?resource=filesystem'), '404 FilesystemNotFound')
})

test('filesystems are listed page by page', async () => {
  const names = ['list-a', 'list-b', 'list-c']
  for (const name of names) await lake('PUT', `/${name}?resource=filesystem`)
  const found: string[] = []
  let continuation = ''
  do {
    const page = await lake(
      'GET',
      `/?resource=account&prefix=list-&maxResults=2&continuation=${continuation}`,
    )
    expect(page, '200')
    for (const { name, etag, lastModified } of JSON.parse(page.text).filesystems) {
      found.push(name)
      assert.match(etag, /^0x[0-9A-F]+$/)
      assert(Number.isFinite(Date.parse(lastModified)))
    }
    continuation = String(page.headers['x-ms-continuation'] ?? '')
  } while (continuation !== '')
  assert.deepEqual(found, names)
})

test('a flat account has filesystems without a namespace', async () => {
  const created = expect(await flat('PUT', '/flat?resource=filesystem'), '201')
  assert.equal(created.headers['x-ms-namespace-enabled'], 'false')
  const account = await flat('GET', '/?restype=account&comp=properties')
  assert.equal(account.headers['x-ms-is-hns-enabled'], 'false')
  const hierarchical = await lake('GET', '/?restype=account&comp=properties')
  assert.equal(hierarchical.headers['x-ms-is-hns-enabled'], 'true')
})

test('Data Lake Storage has a port of its own, which answers the Blob service too', async () => {
  const own = sendAs(server.dfsPort, LAKE)
  expect(await own('PUT', '/port?resource=filesystem'), '201')
  assert.equal(outcome(await own('HEAD', '/port?restype=container')), '200')
  assert.equal(outcome(await own('PUT', '/port/x')), '400 MissingRequiredQueryParameter')
})

test('the host name tells the services apart', async () => {
  const send = (host: string, method: string, path: string) => {
    const wire = wireRequest({ method, path, account: LAKE, wholePath: true, headers: { host } })
    const options = { host: '127.0.0.1', port: server.blobPort, method, ...wire }
    return exchange(httpRequest(options))
  }
  const dfs = `${LAKE}.dfs.localhost:${server.blobPort}`
  assert.equal((await send(dfs, 'PUT', '/by-host?resource=filesystem')).status, 201)
  const missing = await send(dfs, 'GET', '/by-host/none')
  assert.equal(JSON.parse(missing.text).error.code, 'PathNotFound')
  const blob = `${LAKE}.blob.localhost:${server.blobPort}`
  const asBlob = await send(blob, 'GET', '/by-host/none')
  assert.match(asBlob.text, /<Code>BlobNotFound</)
})

test('requests that mean nothing are refused', async () => {
  await lake('PUT', '/refused?resource=filesystem')
  expect(await lake('PUT', '/refused/a?resource=link'), '400 InvalidQueryParameterValue')
  expect(await lake('PATCH', '/refused/a?action=close'), '400 InvalidQueryParameterValue')
  const onOwnPort = await sendAs(server.dfsPort, LAKE)('PATCH', '/refused/a')
  expect(onOwnPort, '400 MissingRequiredQueryParameter')
  expect(await lake('PUT', '/no_name?resource=filesystem'), '400 InvalidResourceName')
  expect(await lake('GET', '/missing?resource=filesystem&recursive=true'), '404 FilesystemNotFound')
})
