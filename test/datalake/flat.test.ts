// The part of Data Lake Storage that works without a hierarchical namespace, and what the rest answers there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcome } from '../harness.ts'
import { expect, startLakeFixture, writeFile } from './fixture.ts'

const { flat } = await startLakeFixture()
await flat('PUT', '/box?resource=filesystem')
await flat('PUT', '/other?resource=filesystem')

const read = async (path: string) => (await flat('GET', path)).text

const NEED_NAMESPACE = [
  ['HEAD', '/box/?action=getAccessControl&upn=false'],
  ['HEAD', '/box/x?action=getAccessControl'],
  ['HEAD', '/box/x?action=checkAccess&fsAction=rwx'],
  ['PATCH', '/box/x?action=setAccessControl'],
  ['PATCH', '/box/x?action=setAccessControlRecursive&mode=set'],
  ['PUT', '/box/x?comp=undelete', { 'x-ms-undelete-source': '?deletionid=1' }],
  ['PUT', '/box/x?resource=file', { 'x-ms-permissions': '0777' }],
] as const
for (const [method, path, headers = {}] of NEED_NAMESPACE) {
  test(`${method} ${path} needs a hierarchical namespace`, async () => {
    expect(await flat(method, path, headers), '400 HierarchicalNamespaceNotEnabled')
  })
}

test('a file is created, appended to, flushed, read by both endpoints, and deleted', async () => {
  await writeFile(flat, '/box/dir/file', 'content')
  assert.equal(await read('/box/dir/file'), 'content')
  const asPath = await flat('HEAD', '/box/dir/file', { accept: 'application/json' })
  assert.equal(asPath.headers['x-ms-resource-type'], 'file')
  assert.equal(asPath.headers['x-ms-owner'], undefined)
  expect(await flat('DELETE', '/box/dir/file?recursive=false'), '200')
  assert.equal(outcome(await flat('HEAD', '/box/dir/file')), '404 BlobNotFound')
})

test('a file is renamed, with its content and properties', async () => {
  await writeFile(flat, '/box/before', 'content')
  const properties = { 'x-ms-properties': `a=${Buffer.from('b').toString('base64')}` }
  expect(await flat('PATCH', '/box/before?action=setProperties', properties), '200')
  const rename = { 'x-ms-rename-source': '/box/before' }
  expect(await flat('PUT', '/other/after', rename), '201')
  assert.equal(outcome(await flat('HEAD', '/box/before')), '404 BlobNotFound')
  const after = await flat('GET', '/other/after')
  assert.equal(after.text, 'content')
  assert.equal(after.headers['x-ms-meta-a'], 'b')
  expect(await flat('PUT', '/box/x', rename), '404 SourcePathNotFound')
})

test('a rename that would replace, race or take a lease is refused', async () => {
  await writeFile(flat, '/box/r1', 'one')
  await writeFile(flat, '/box/r2', 'two')
  const rename = { 'x-ms-rename-source': '/box/r1' }
  const exclusive = { ...rename, 'If-None-Match': '*' }
  expect(await flat('PUT', '/box/r2', exclusive), '409 PathAlreadyExists')
  const stale = { ...rename, 'x-ms-source-if-match': '"0x1"' }
  expect(await flat('PUT', '/box/r3', stale), '412 SourceConditionNotMet')
  expect(await flat('PUT', '/box/r1', rename), '409 InvalidRenameSourcePath')
  const lease = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }
  const { headers } = await flat('POST', '/box/r1', lease)
  expect(await flat('PUT', '/box/r3', rename), '412 LeaseIdMissing')
  const leased = { ...rename, 'x-ms-source-lease-id': String(headers['x-ms-lease-id']) }
  expect(await flat('PUT', '/box/r2', leased), '201')
  assert.equal(await read('/box/r2'), 'one')
})

test('a directory is a blob that is marked as one', async () => {
  expect(await flat('PUT', '/box/marked?resource=directory', { 'If-None-Match': '*' }), '201')
  const asBlob = await flat('HEAD', '/box/marked')
  assert.equal(asBlob.headers['x-ms-meta-hdi_isfolder'], 'true')
  const asPath = await flat('HEAD', '/box/marked?action=getStatus')
  assert.equal(asPath.headers['x-ms-resource-type'], 'directory')
  await writeFile(flat, '/box/marked/file', 'text')
  expect(await flat('DELETE', '/box/marked?recursive=false'), '409 DirectoryNotEmpty')
  const tree = await flat('DELETE', '/box/marked?recursive=true')
  expect(tree, '400 HierarchicalNamespaceNotEnabled')
  expect(await flat('DELETE', '/box/marked/file?recursive=false'), '200')
  expect(await flat('DELETE', '/box/marked?recursive=true'), '200')
})

test('lists show blobs, and prefixes as directories', async () => {
  await flat('PUT', '/list?resource=filesystem')
  for (const name of ['a/1', 'a/2', 'a/b/3', 'c', 'd/4'])
    await writeFile(flat, `/list/${name}`, name)
  const list = async (query: string) => {
    const names: string[] = []
    let continuation = ''
    do {
      const page = expect(
        await flat(
          'GET',
          `/list?resource=filesystem&maxResults=2&continuation=${continuation}&${query}`,
        ),
        '200',
      )
      for (const { name, isDirectory } of JSON.parse(page.text).paths) {
        names.push(isDirectory === 'true' ? `${name}/` : name)
      }
      continuation = String(page.headers['x-ms-continuation'] ?? '')
    } while (continuation !== '')
    return names
  }
  assert.deepEqual(await list('recursive=false'), ['a/', 'c', 'd/'])
  assert.deepEqual(await list('recursive=true'), ['a/1', 'a/2', 'a/b/3', 'c', 'd/4'])
  assert.deepEqual(await list('recursive=false&directory=a'), ['a/1', 'a/2', 'a/b/'])
})
