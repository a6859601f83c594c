// Requests as Arrow's AzureFileSystem sends them: the SDK for C++ against both endpoints at the same host and port.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcome } from '../harness.ts'
import { expect, startLakeFixture } from './fixture.ts'

const { lake, flat } = await startLakeFixture()
const DFS = { Accept: 'application/json', 'x-ms-version': '2024-08-04' }
const BLOB = { Accept: 'application/xml', 'x-ms-version': '2024-08-04' }

test('the namespace is detected by the access control of the root', async () => {
  expect(await lake('PUT', '/arrow?restype=container', BLOB), '201')
  const found = expect(await lake('HEAD', '/arrow/?action=getAccessControl', DFS), '200')
  // The SDK for C++ throws without it.
  assert.notEqual(found.headers['x-ms-acl'], undefined)
  await flat('PUT', '/arrow?restype=container', BLOB)
  expect(
    await flat('HEAD', '/arrow/?action=getAccessControl', DFS),
    '400 HierarchicalNamespaceNotEnabled',
  )
  expect(await lake('HEAD', '/missing/?action=getAccessControl', DFS), '404 FilesystemNotFound')
})

test('a file is uploaded as blocks, and its directory is there', async () => {
  const id = Buffer.from('00000').toString('base64')
  expect(
    await lake('PUT', '/arrow/data/part/0.parquet', { ...BLOB, 'x-ms-blob-type': 'BlockBlob' }),
    '201',
  )
  expect(
    await lake('PUT', `/arrow/data/part/0.parquet?comp=block&blockid=${id}`, BLOB, 'bytes'),
    '201',
  )
  const list = `<BlockList><Latest>${id}</Latest></BlockList>`
  expect(await lake('PUT', '/arrow/data/part/0.parquet?comp=blocklist', BLOB, list), '201')
  const directory = await lake('HEAD', '/arrow/data/part', BLOB)
  assert.equal(directory.headers['x-ms-meta-hdi_isfolder'], 'true')
  assert.equal(directory.headers['x-ms-resource-type'], 'directory')
  const listed = await lake('GET', '/arrow?resource=filesystem&recursive=true&directory=data', DFS)
  assert.deepEqual(
    JSON.parse(listed.text).paths.map(({ name }: { name: string }) => name),
    ['data/part', 'data/part/0.parquet'],
  )
})

test('a move holds a blob lease of the source, which the rename needs', async () => {
  expect(
    await lake('PUT', '/arrow/move/from?resource=file', { ...DFS, 'If-None-Match': '*' }),
    '201',
  )
  const acquire = { ...BLOB, 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }
  const leased = expect(await lake('PUT', '/arrow/move/from?comp=lease', acquire), '201')
  const rename = { ...DFS, 'x-ms-rename-source': '/arrow/move/from' }
  expect(await lake('PUT', '/arrow/move/to?mode=legacy', rename), '412 LeaseIdMissing')
  const id = String(leased.headers['x-ms-lease-id'])
  // It lets the lease break soon, since the source is about to go.
  const breaks = { ...BLOB, 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '3' }
  expect(await lake('PUT', '/arrow/move/from?comp=lease', breaks), '202')
  expect(
    await lake('PUT', '/arrow/move/to?mode=legacy', { ...rename, 'x-ms-source-lease-id': id }),
    '201',
  )
  expect(
    await lake('PUT', '/arrow/none/to?mode=legacy', {
      ...DFS,
      'x-ms-rename-source': '/arrow/move/to',
    }),
    '404 RenameDestinationParentPathNotFound',
  )
})

test('directories are created and deleted, empty or not', async () => {
  const create = { ...DFS, 'If-None-Match': '*' }
  expect(await lake('PUT', '/arrow/dirs/one?resource=directory', create), '201')
  expect(await lake('PUT', '/arrow/dirs/one?resource=directory', create), '409 PathAlreadyExists')
  expect(await lake('DELETE', '/arrow/dirs?recursive=false', DFS), '409 DirectoryNotEmpty')
  assert.equal(outcome(await lake('DELETE', '/arrow/dirs', BLOB)), '409 DirectoryIsNotEmpty')
  expect(await lake('DELETE', '/arrow/dirs?recursive=true', DFS), '200')
  expect(await lake('DELETE', '/arrow/dirs?recursive=true', DFS), '404 PathNotFound')
})
