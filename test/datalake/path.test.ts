// What the clients' libraries do not send: checks of bodies, headers that an operation does not have, what each endpoint makes
// of the other's paths.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect, startLakeFixture } from './fixture.ts'

const { lake, filesystem, write } = await startLakeFixture({ encryptionScopes: ['vault'] })
const fs = await filesystem('paths')

const JSON_ONLY = { accept: 'application/json' }
const XML = { accept: 'application/xml' }

test('only files expire', async () => {
  const expiry = { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '1000' }
  expect(await lake('PUT', `${fs}/d/f?resource=file`, expiry), '201')
  const refused = await lake('PUT', `${fs}/d?comp=expiry`, { ...expiry, ...JSON_ONLY })
  assert.equal(refused.status, 400)
  assert.equal(refused.headers['x-ms-error-code'], 'ExpiryNotSupportedForDirectory')
  const directory = await lake('PUT', `${fs}/e?resource=directory`, expiry)
  expect(directory, '400 ExpiryNotSupportedForDirectory')
})

test('a rename of a file changes content headers that it names, and takes nothing of a new path', async () => {
  await write(`${fs}/x`, 'content')
  const rename = { 'x-ms-rename-source': `${fs}/x`, 'x-ms-content-type': 'text/csv' }
  expect(await lake('PUT', `${fs}/y`, rename), '201')
  const { headers, text } = await lake('GET', `${fs}/y`, JSON_ONLY)
  assert.deepEqual([headers['content-type'], text], ['text/csv', 'content'])
  for (const header of ['x-ms-permissions', 'x-ms-properties', 'x-ms-acl', 'x-ms-expiry-option']) {
    const back = { 'x-ms-rename-source': `${fs}/y`, [header]: '0777' }
    expect(await lake('PUT', `${fs}/x`, back), '400 UnsupportedHeader')
  }
})

test('appended bytes are checked, and a bad append leaves nothing', async () => {
  expect(await lake('PUT', `${fs}/checked?resource=file`), '201')
  const append = `${fs}/checked?action=append&position=0`
  const md5 = { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }
  expect(await lake('PATCH', append, md5, 'abc'), '400 Md5Mismatch')
  const crc64 = { 'x-ms-content-crc64': 'AAAAAAAAAAA=' }
  expect(await lake('PATCH', append, crc64, 'abc'), '400 Crc64Mismatch')
  expect(await lake('PATCH', append, {}, ''), '400 InvalidHeaderValue')
  expect(await lake('PATCH', `${fs}/checked?action=flush&position=3`), '400 InvalidFlushPosition')
  const right = { 'content-md5': 'kAFQmDzST7DWlj99KOF/cg==' }
  const appended = expect(await lake('PATCH', append, right, 'abc'), '202')
  assert.equal(appended.headers['content-md5'], right['content-md5'])
  expect(
    await lake('PATCH', `${fs}/checked?action=flush&position=3`, {}, 'x'),
    '400 ContentLengthMustBeZero',
  )
  expect(await lake('PATCH', `${fs}/checked?action=flush&position=3`), '200')
})

test('a read has hashes of ranges, and a structured body on request', async () => {
  await write(`${fs}/read`, 'abcdef')
  const range = { ...JSON_ONLY, 'x-ms-range': 'bytes=0-2', 'x-ms-range-get-content-md5': 'true' }
  const part = await lake('GET', `${fs}/read`, range)
  assert.deepEqual([part.status, part.text], [206, 'abc'])
  assert.equal(part.headers['content-md5'], 'kAFQmDzST7DWlj99KOF/cg==')
  const structured = { ...JSON_ONLY, 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }
  const { headers } = await lake('GET', `${fs}/read`, structured)
  assert.equal(headers['x-ms-structured-content-length'], '6')
  expect(await lake('GET', `${fs}/read`, { ...JSON_ONLY, range: 'bytes=9-' }), '416 InvalidRange')
})

test('the Blob service shows directories as empty blobs with a mark, and access control of all paths', async () => {
  await write(`${fs}/seen/file`, 'text')
  const directory = await lake('HEAD', `${fs}/seen`, XML)
  assert.equal(directory.headers['content-length'], '0')
  assert.equal(directory.headers['x-ms-resource-type'], 'directory')
  assert.equal(directory.headers['x-ms-meta-hdi_isfolder'], 'true')
  assert.equal(directory.headers['x-ms-permissions'], 'rwxr-x---')
  const file = await lake('GET', `${fs}/seen/file`, XML)
  assert.equal(file.headers['x-ms-resource-type'], 'file')
  assert.equal(file.headers['x-ms-acl'], 'user::rw-,group::r--,other::---')
  const list = `${fs}?restype=container&comp=list&prefix=seen&include=permissions`
  const { text } = await lake('GET', list)
  const types = [...text.matchAll(/<ResourceType>(\w+)</g)].map(([, type]) => type)
  assert.deepEqual(types, ['directory', 'file'])
  assert.match(text, /<Permissions>rw-r-----<\/Permissions><Acl>user::rw-,group::r--,other::---</)
  const folded = await lake('GET', `${list}&delimiter=/`)
  assert.match(
    folded.text,
    /<BlobPrefix><Name>seen\/<\/Name><Properties>.*<ResourceType>directory</,
  )
})

test('appends to an encrypted file are encrypted like it, few bytes and many', async () => {
  const scoped = `/scoped`
  const scope = {
    'x-ms-default-encryption-scope': 'vault',
    'x-ms-deny-encryption-scope-override': 'true',
  }
  expect(await lake('PUT', `${scoped}?resource=filesystem`, scope), '201')
  expect(await lake('PUT', `${scoped}/f?resource=file`), '201')
  const long = 'long '.repeat(4_000)
  for (const [position, text] of [
    [0, 'few'],
    [3, long],
  ] as const) {
    const appended = await lake('PATCH', `${scoped}/f?action=append&position=${position}`, {}, text)
    assert.equal(expect(appended, '202').headers['x-ms-encryption-scope'], 'vault')
  }
  const end = 3 + long.length
  const last = await lake(
    'PATCH',
    `${scoped}/f?action=append&position=${end}&flush=true`,
    {},
    'end',
  )
  expect(last, '202')
  const read = await lake('GET', `${scoped}/f`, JSON_ONLY)
  assert.equal(read.text, `few${long}end`)
  assert.equal(read.headers['x-ms-server-encrypted'], 'true')

  expect(await lake('PUT', `${scoped}/short?resource=file`), '201')
  for (const [position, text] of [
    [0, 'one'],
    [3, 'two'],
  ] as const) {
    const query = `action=append&position=${position}&flush=true`
    expect(await lake('PATCH', `${scoped}/short?${query}`, {}, text), '202')
  }
  assert.equal((await lake('GET', `${scoped}/short`, JSON_ONLY)).text, 'onetwo')
})
