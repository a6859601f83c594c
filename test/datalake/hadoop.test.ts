// Requests exactly as the Azure driver of Hadoop (ABFS) sends them to a server of its own (`fs.azure.abfs.endpoint`): path style
// on the Blob port, PUT with X-HTTP-Method-Override instead of PATCH, `timeout=90` with everything.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { exchange, wireRequest, type Headers } from '../harness.ts'
import { expect, LAKE, startLakeFixture } from './fixture.ts'

const { server, lake, flat } = await startLakeFixture()

const ACCEPT = {
  Accept: 'application/json, application/octet-stream',
  'x-ms-version': '2023-08-03',
}
const PATCH = { 'X-HTTP-Method-Override': 'PATCH' }

const send = (method: string, path: string, headers: Headers = {}, body?: string) =>
  lake(
    method,
    `${path}${path.includes('?') ? '&' : '?'}timeout=90`,
    { ...ACCEPT, ...headers },
    body,
  )

await send('PUT', '/hadoop?resource=filesystem')

test('a filesystem is looked up, and its namespace detected', async () => {
  const found = expect(await send('HEAD', '/hadoop?resource=filesystem'), '200')
  assert.equal(found.headers['x-ms-namespace-enabled'], 'true')
  const acl = expect(await send('HEAD', '/hadoop/?action=getAccessControl&upn=false'), '200')
  assert.equal(acl.headers['x-ms-acl'], 'user::rwx,group::r-x,other::---')
  assert.equal(acl.headers['x-ms-owner'], '$superuser')
  assert.equal(acl.headers['x-ms-group'], '$superuser')
  assert.equal(acl.headers['x-ms-permissions'], 'rwxr-x---')
  await flat('PUT', '/hadoop?resource=filesystem')
  const without = await flat('HEAD', '/hadoop/?action=getAccessControl&upn=false&timeout=90')
  expect(without, '400 HierarchicalNamespaceNotEnabled')
})

test('a file is written by append with flush, and closed', async () => {
  const create = {
    'If-None-Match': '*',
    'x-ms-permissions': '0644',
    'x-ms-umask': '0022',
    'x-ms-properties': '',
  }
  expect(await send('PUT', '/hadoop/dir/file?resource=file', create), '201')
  expect(await send('PUT', '/hadoop/dir/file?resource=file', create), '409 PathAlreadyExists')
  expect(await send('PUT', '/hadoop/dir/file?action=append&position=0', PATCH, 'first '), '202')
  const last = '/hadoop/dir/file?action=append&position=6&flush=true&close=true'
  expect(await send('PUT', last, PATCH, 'second'), '202')
  const empty = '/hadoop/dir/file?action=flush&position=12&retainUncommittedData=false&close=true'
  expect(await send('PUT', empty, PATCH), '200')
  const status = expect(await send('HEAD', '/hadoop/dir/file?action=getStatus&upn=false'), '200')
  assert.equal(status.headers['content-length'], '12')
  assert.equal(status.headers['x-ms-resource-type'], 'file')
  assert.equal(status.headers['x-ms-permissions'], 'rw-r--r--')
  const range = { Range: 'bytes=6-11', 'If-Match': String(status.headers.etag) }
  const read = await send('GET', '/hadoop/dir/file', range)
  assert.equal(read.status, 206)
  assert.equal(read.text, 'second')
})

test('an append waits for 100 Continue', async () => {
  expect(await send('PUT', '/hadoop/expect?resource=file'), '201')
  const body = 'x'.repeat(100_000)
  const headers = { ...ACCEPT, ...PATCH, Expect: '100-continue' }
  const path = '/hadoop/expect?action=append&position=0&timeout=90'
  const wire = wireRequest({ method: 'PUT', path, account: LAKE, headers, body })
  const options = { host: '127.0.0.1', port: server.blobPort, method: 'PUT', ...wire }
  const asked = httpRequest(options)
  const continued = new Promise<void>((resolve) => asked.once('continue', resolve))
  asked.flushHeaders()
  await continued
  expect(await exchange(asked, body), '202')
  expect(await send('PUT', '/hadoop/expect?action=flush&position=100000', PATCH), '200')
})

test('an append at the wrong position, and a flush of bytes that are not there, are refused', async () => {
  expect(await send('PUT', '/hadoop/gap?resource=file'), '201')
  expect(await send('PUT', '/hadoop/gap?action=append&position=4', PATCH, 'late'), '202')
  expect(
    await send('PUT', '/hadoop/gap?action=flush&position=8', PATCH),
    '400 InvalidFlushPosition',
  )
  expect(await send('PUT', '/hadoop/gap?action=append&position=0', PATCH, 'soon'), '202')
  expect(await send('PUT', '/hadoop/gap?action=flush&position=8', PATCH), '200')
  assert.equal((await send('GET', '/hadoop/gap')).text, 'soonlate')
})

test('an append blob takes appends without flushes', async () => {
  expect(await send('PUT', '/hadoop/log?resource=file&blobtype=appendblob'), '201')
  expect(await send('PUT', '/hadoop/log?action=append&position=0', PATCH, 'one'), '202')
  expect(await send('PUT', '/hadoop/log?action=append&position=3', PATCH, 'two'), '202')
  assert.equal((await send('GET', '/hadoop/log')).text, 'onetwo')
  expect(await send('PUT', '/hadoop/log?action=flush&position=6', PATCH), '200')
})

test('a conditional overwrite sees a parallel one', async () => {
  await send('PUT', '/hadoop/race?resource=file')
  const status = await send('HEAD', '/hadoop/race?action=getStatus&upn=false')
  const overwrite = { 'If-Match': String(status.headers.etag) }
  expect(await send('PUT', '/hadoop/race?resource=file', overwrite), '201')
  expect(await send('PUT', '/hadoop/race?resource=file', overwrite), '412 ConditionNotMet')
})

test('a directory is renamed and deleted', async () => {
  await send('PUT', '/hadoop/src?resource=directory', {
    'x-ms-permissions': '0755',
    'x-ms-umask': '0022',
  })
  await send('PUT', '/hadoop/src/deep/file?resource=file')
  const rename = { 'x-ms-rename-source': '/hadoop/src', 'If-None-Match': '*' }
  expect(await send('PUT', '/hadoop/dst', rename), '201')
  expect(await send('PUT', '/hadoop/again', rename), '404 SourcePathNotFound')
  const inside = { 'x-ms-rename-source': '/hadoop/dst' }
  expect(await send('PUT', '/hadoop/dst/deep/dst', inside), '409 InvalidRenameSourcePath')
  expect(await send('PUT', '/hadoop/none/dst', inside), '404 RenameDestinationParentPathNotFound')
  expect(await send('DELETE', '/hadoop/dst?recursive=false'), '409 DirectoryNotEmpty')
  expect(await send('DELETE', '/hadoop/dst?recursive=true&paginated=true'), '200')
  expect(await send('DELETE', '/hadoop/dst?recursive=true&continuation='), '404 PathNotFound')
})

test('a listing has the fields that ABFS parses', async () => {
  await send('PUT', '/hadoop/list/file?resource=file')
  const query =
    'resource=filesystem&directory=list&recursive=false&continuation=&maxResults=500&upn=false'
  const { text } = expect(await send('GET', `/hadoop?${query}`), '200')
  const [file] = JSON.parse(text).paths
  assert.equal(file.name, 'list/file')
  assert.equal(file.contentLength, '0')
  assert.equal(file.isDirectory, undefined)
  assert.deepEqual(
    [file.owner, file.group, file.permissions],
    ['$superuser', '$superuser', 'rw-r-----'],
  )
  assert.match(file.etag, /^0x/)
  const missing = 'resource=filesystem&directory=none&recursive=false'
  expect(await send('GET', `/hadoop?${missing}`), '404 PathNotFound')
})

test('owner, permissions and list are set, and access is checked', async () => {
  await send('PUT', '/hadoop/acl?resource=directory')
  const set = '/hadoop/acl?action=setAccessControl'
  expect(await send('PUT', set, { ...PATCH, 'x-ms-owner': 'o', 'x-ms-group': 'g' }), '200')
  expect(await send('PUT', set, { ...PATCH, 'x-ms-permissions': '1751' }), '200')
  const acl = await send('HEAD', '/hadoop/acl?action=getAccessControl&upn=true')
  assert.equal(acl.headers['x-ms-permissions'], 'rwxr-x--t')
  assert.equal(acl.headers['x-ms-owner'], 'o')
  const list = 'user::rwx,user:bob:r-x,group::r-x,mask::r-x,other::---,default:user::rwx'
  expect(await send('PUT', set, { ...PATCH, 'x-ms-acl': list }), '200')
  const etag = String((await send('HEAD', '/hadoop/acl')).headers.etag)
  const stale = { ...PATCH, 'x-ms-acl': list, 'If-Match': '"0x1"' }
  expect(await send('PUT', set, stale), '412 ConditionNotMet')
  expect(await send('PUT', set, { ...stale, 'If-Match': etag }), '200')
  expect(await send('HEAD', '/hadoop/acl?action=checkAccess&fsAction=rwx'), '200')
  expect(await send('PUT', set, { ...PATCH, 'x-ms-acl': 'asdf' }), '400 InvaldAccessControlList')
  await send('PUT', '/hadoop/acl/file?resource=file')
  const onFile = { ...PATCH, 'x-ms-acl': list }
  expect(
    await send('PUT', '/hadoop/acl/file?action=setAccessControl', onFile),
    '400 DefaultAclOnFileNotAllowed',
  )
})

test('properties are set and read', async () => {
  await send('PUT', '/hadoop/xattr?resource=file')
  const properties = { ...PATCH, 'x-ms-properties': `user=${Buffer.from('x').toString('base64')}` }
  expect(await send('PUT', '/hadoop/xattr?action=setProperties', properties), '200')
  const read = await send('HEAD', '/hadoop/xattr')
  assert.equal(read.headers['x-ms-properties'], properties['x-ms-properties'])
})

test('a path is leased', async () => {
  await send('PUT', '/hadoop/lease?resource=file')
  const id = 'aaaaaaaa-0000-4000-8000-000000000000'
  const acquire = {
    'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': '60',
    'x-ms-proposed-lease-id': id,
  }
  expect(await send('POST', '/hadoop/lease', acquire), '201')
  const append = '/hadoop/lease?action=append&position=0'
  expect(await send('PUT', append, PATCH, 'x'), '412 LeaseIdMissing')
  const other = { ...PATCH, 'x-ms-lease-id': 'bbbbbbbb-0000-4000-8000-000000000000' }
  expect(await send('PUT', append, other, 'x'), '412 LeaseIdMismatch')
  expect(await send('PUT', append, { ...PATCH, 'x-ms-lease-id': id }, 'x'), '202')
  const renew = { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': id }
  expect(await send('POST', '/hadoop/lease', renew), '200')
  expect(
    await send('POST', '/hadoop/lease', {
      'x-ms-lease-action': 'break',
      'x-ms-lease-break-period': '0',
    }),
    '202',
  )
  expect(await send('POST', '/hadoop/lease', { ...renew, 'x-ms-lease-action': 'release' }), '200')
})
