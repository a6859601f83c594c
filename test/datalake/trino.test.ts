// Requests as Trino's Azure filesystem sends them: data by blobs, renames of files by Data Lake Storage on every account, and
// directories with a hierarchical namespace.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect, startLakeFixture } from './fixture.ts'

const { lake, flat } = await startLakeFixture()
const DFS = { Accept: 'application/json', 'x-ms-version': '2025-05-05' }
const BLOB = {
  Accept: 'application/xml',
  'x-ms-version': '2025-05-05',
  'x-ms-blob-type': 'BlockBlob',
}

for (const [kind, send] of Object.entries({ flat, lake })) {
  test(`a ${kind} account: a file is created exclusively and renamed`, async () => {
    await send('PUT', '/trino?restype=container')
    const exclusive = { ...BLOB, 'If-None-Match': '*' }
    expect(await send('PUT', '/trino/table/tmp', exclusive, 'rows'), '201')
    assert.equal((await send('PUT', '/trino/table/tmp', exclusive, 'rows')).status, 409)
    const rename = { ...DFS, 'x-ms-rename-source': '/trino/table/tmp', 'If-None-Match': '*' }
    expect(await send('PUT', '/trino/table/final?mode=legacy', rename), '201')
    assert.equal(
      (await send('GET', '/trino/table/final', { Accept: 'application/xml' })).text,
      'rows',
    )
    assert.equal(
      (await send('HEAD', '/trino/table/tmp', { Accept: 'application/xml' })).status,
      404,
    )
    expect(await send('PUT', '/trino/table/final?mode=legacy', rename), '404 SourcePathNotFound')
  })
}

test('the namespace is detected by the code of the error', async () => {
  const without = await flat('HEAD', '/trino/?action=getAccessControl&upn=false', DFS)
  assert.equal(without.headers['x-ms-error-code'], 'HierarchicalNamespaceNotEnabled')
  const found = await lake('HEAD', '/trino/?action=getAccessControl&upn=false', DFS)
  assert.equal(found.status, 200)
})

test('directories are created, renamed and removed with a namespace', async () => {
  expect(await lake('PUT', '/trino/schema/table?resource=directory', DFS), '201')
  expect(await lake('PUT', '/trino/schema/table?resource=directory', DFS), '201')
  const rename = { ...DFS, 'x-ms-rename-source': '/trino/schema/table', 'If-None-Match': '*' }
  expect(await lake('PUT', '/trino/schema/renamed?mode=legacy', rename), '201')
  const properties = expect(await lake('HEAD', '/trino/schema/renamed', DFS), '200')
  assert.equal(properties.headers['x-ms-resource-type'], 'directory')
  expect(await lake('DELETE', '/trino/schema?recursive=true', DFS), '200')
})

test('a flat account has directories that are marked blobs', async () => {
  expect(
    await flat('PUT', '/trino/dir?resource=directory', { ...DFS, 'If-None-Match': '*' }),
    '201',
  )
  const properties = expect(await flat('HEAD', '/trino/dir', DFS), '200')
  assert.equal(properties.headers['x-ms-resource-type'], 'directory')
})
