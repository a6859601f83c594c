// The headers and bodies of answers, as recordings of the service's answers to its own clients show them: nothing more
// and nothing less.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect, startLakeFixture } from './fixture.ts'

const { server, lake, flat, filesystem, write } = await startLakeFixture()
const fs = await filesystem('answers')
const JSON_ONLY = { accept: 'application/json' }
const EVERYWHERE =
  /^(date|server|x-ms-request-id|x-ms-version|x-ms-client-request-id|content-length|connection|keep-alive|vary|access-control-.*)$/

function namesOf(answer: { readonly headers: object }): string {
  const names = Object.keys(answer.headers).filter((name) => !EVERYWHERE.test(name))
  return names.toSorted().join(' ')
}

await write(`${fs}/d/f`, 'content')
const leased = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }
const id = '11111111-2222-3333-4444-555555555555'

const VALIDATORS = 'etag last-modified'
const APPENDED = 'x-ms-request-server-encrypted'
const ACL = { 'x-ms-acl': 'user::rwx,group::r-x,other::---' }
const APPEND = `${fs}/d/f?action=append&position=7`
// prettier-ignore
const ANSWERS: readonly (readonly [method: string, path: string, headers: Record<string, string>, body: string, names: string])[] = [
  ['PUT', `${fs}/d/g?resource=file`, {}, '', `${VALIDATORS} x-ms-request-server-encrypted`],
  ['PUT', `${fs}/d/h`, { 'x-ms-rename-source': `${fs}/d/g` }, '', VALIDATORS],
  ['PATCH', APPEND, {}, 'x', APPENDED],
  ['PATCH', APPEND, { 'content-md5': 'ndTkYSaMgDT1yFZOFVxnpg==' }, 'x', `content-md5 ${APPENDED}`],
  ['PATCH', APPEND, { 'x-ms-content-crc64': 'seRUZAJnvS0=' }, 'x', `x-ms-content-crc64 ${APPENDED}`],
  ['PATCH', `${APPEND}&flush=true`, {}, 'x', `${VALIDATORS} ${APPENDED}`],
  ['PATCH', `${fs}/d?action=setAccessControl`, ACL, '', `${VALIDATORS} x-ms-namespace-enabled`],
  ['PATCH', `${fs}/d?action=setAccessControlRecursive&mode=set`, ACL, '', 'x-ms-namespace-enabled'],
  ['HEAD', `${fs}/d/f?action=getStatus`, {}, '',
    `${VALIDATORS} x-ms-creation-time x-ms-group x-ms-owner x-ms-permissions x-ms-resource-type x-ms-server-encrypted`],
  ['GET', `${fs}?resource=filesystem&recursive=true`, {}, '', 'content-type'],
  ['PUT', `${fs}/d/f?comp=expiry`, { ...JSON_ONLY, 'x-ms-expiry-option': 'NeverExpire' }, '', VALIDATORS],
  ['DELETE', `${fs}/d/h`, JSON_ONLY, '', 'x-ms-delete-type-permanent'],
]

for (const [method, path, headers, body, names] of ANSWERS) {
  test(`${method} ${path} ${Object.keys(headers).join()} is answered with ${names}`, async () => {
    const answer = await lake(method, path, headers, body)
    assert(answer.status < 300, answer.text)
    assert.equal(namesOf(answer), names)
  })
}

test('changes of access control and expiry leave the ETag as it is', async () => {
  const etag = async () => (await lake('HEAD', `${fs}/d/f?action=getStatus`)).headers['etag']
  const before = await etag()
  const acl = { 'x-ms-permissions': '0640' }
  const changed = expect(await lake('PATCH', `${fs}/d/f?action=setAccessControl`, acl), '200')
  assert.equal(changed.headers['etag'], before)
  const all = `${fs}/d?action=setAccessControlRecursive&mode=modify`
  expect(await lake('PATCH', all, { 'x-ms-acl': 'other::r--' }), '200')
  const expiry = { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '100000' }
  expect(await lake('PUT', `${fs}/d/f?comp=expiry`, { ...JSON_ONLY, ...expiry }), '200')
  assert.equal(await etag(), before)
})

test('a list has its keys in order, a time of expiry for each path, and a line feed at its end', async () => {
  expect(await lake('PUT', `${fs}/list/sub?resource=directory`), '201')
  const { text } = await lake('GET', `${fs}?resource=filesystem&recursive=true&directory=list`)
  assert.match(text, /\]\}\n$/)
  const [path] = JSON.parse(text).paths
  assert.deepEqual(Object.keys(path), [
    'contentLength',
    'creationTime',
    'etag',
    'expiryTime',
    'group',
    'isDirectory',
    'lastModified',
    'name',
    'owner',
    'permissions',
  ])
  assert.equal(path.expiryTime, '0')
  await flat('PUT', '/box?restype=container')
  await flat('PUT', '/box/a/b', { 'x-ms-blob-type': 'BlockBlob' })
  const inFlat = await flat('GET', '/box?resource=filesystem&recursive=true')
  const [blob] = JSON.parse(inFlat.text).paths
  assert.deepEqual(Object.keys(blob), [
    'contentLength',
    'creationTime',
    'etag',
    'lastModified',
    'name',
  ])
  assert.match(blob.creationTime, / GMT$/)
})

test('leases have one code whatever they are of, and an error says which header is wrong', async () => {
  await write(`${fs}/leases`, 'x')
  const named = { 'x-ms-lease-id': id }
  const append = `${fs}/leases?action=append&position=1`
  expect(await lake('PATCH', append, named, 'y'), '412 LeaseNotPresent')
  expect(await lake('POST', `${fs}/leases`, leased), '201')
  expect(await lake('PATCH', append, named, 'y'), '412 LeaseIdMismatch')
  expect(await lake('PATCH', append, {}, 'y'), '412 LeaseIdMissing')
  const empty = expect(await lake('PATCH', append, named, ''), '400 InvalidHeaderValue')
  const detail = { HeaderName: 'Content-Length', HeaderValue: '0' }
  assert.deepEqual(JSON.parse(empty.text).error.detail, detail)
})

test('a conflict with an existing path says what that is', async () => {
  const once = { 'if-none-match': '*' }
  for (const type of ['file', 'directory']) {
    const create = `${fs}/exists-${type}?resource=${type}`
    expect(await lake('PUT', create, once), '201')
    const refused = expect(await lake('PUT', create, once), '409 PathAlreadyExists')
    assert.equal(refused.headers['x-ms-existing-resource-type'], type)
  }
})

test('an append with a flush gives the file its Content-Type, and a file that is created again is new', async () => {
  const file = `${fs}/typed`
  expect(await lake('PUT', `${file}?resource=file`), '201')
  const type = { 'content-type': 'text/csv' }
  expect(await lake('PATCH', `${file}?action=append&position=0`, { ...type }, 'a'), '202')
  expect(await lake('PATCH', `${file}?action=flush&position=1`, {}), '200')
  const head = async () => (await lake('HEAD', file, JSON_ONLY)).headers
  assert.equal((await head())['content-type'], 'application/octet-stream')
  expect(await lake('PATCH', `${file}?action=append&position=1&flush=true`, type, 'b'), '202')
  const before = await head()
  assert.equal(before['content-type'], 'text/csv')
  server.advance(5_000)
  expect(await lake('PUT', `${file}?resource=file`), '201')
  assert.notEqual((await head())['x-ms-creation-time'], before['x-ms-creation-time'])
})

test('a directory keeps its content headers when it is renamed', async () => {
  expect(await lake('PUT', `${fs}/named?resource=directory`), '201')
  const rename = { 'x-ms-rename-source': `${fs}/named`, 'x-ms-content-language': 'en' }
  expect(await lake('PUT', `${fs}/renamed`, rename), '201')
  assert.equal((await lake('HEAD', `${fs}/renamed`)).headers['content-language'], undefined)
})

test('without a mode, a directory is moved into the one at its destination, and in legacy mode replaces it', async () => {
  for (const path of ['from', 'into', 'place']) {
    expect(await lake('PUT', `${fs}/modes/${path}?resource=directory`), '201')
  }
  const rename = { 'x-ms-rename-source': `${fs}/modes/from` }
  expect(await lake('PUT', `${fs}/modes/into`, rename), '201')
  const back = { 'x-ms-rename-source': `${fs}/modes/into/from` }
  expect(await lake('PUT', `${fs}/modes/place?mode=legacy`, back), '201')
  const { text } = await lake('GET', `${fs}?resource=filesystem&recursive=true&directory=modes`)
  const names = JSON.parse(text).paths.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['modes/into', 'modes/place'])
  expect(await lake('PUT', `${fs}/modes/x?mode=any`, back), '400 InvalidQueryParameterValue')
})

test('older versions of the Blob service say less of paths', async () => {
  const shown = async (version: string) => {
    const headers = { 'x-ms-version': version, accept: 'application/xml' }
    const { headers: answered } = await lake('HEAD', `${fs}/d`, headers)
    const names = ['x-ms-owner', 'x-ms-resource-type', 'x-ms-acl']
    return names.map((name) => answered[name] !== undefined)
  }
  assert.deepEqual(await shown('2019-12-12'), [false, false, false])
  assert.deepEqual(await shown('2020-06-12'), [true, false, false])
  assert.deepEqual(await shown('2020-12-06'), [true, true, false])
  assert.deepEqual(await shown('2023-11-03'), [true, true, true])
})

test('what is soft-deleted has an id and a time until which it is kept, and comes back with its creation time', async () => {
  const policy = '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>2</Days>'
  const body = `<StorageServiceProperties>${policy}</DeleteRetentionPolicy></StorageServiceProperties>`
  const set = await lake('PUT', '/?restype=service&comp=properties', {}, body)
  assert.equal(set.status, 202, set.text)
  await write(`${fs}/kept`, 'x')
  const deleted = expect(await lake('DELETE', `${fs}/kept`, JSON_ONLY), '200')
  assert.equal(namesOf(deleted), 'x-ms-delete-type-permanent x-ms-deletion-id')
  assert.equal(deleted.headers['x-ms-delete-type-permanent'], 'false')
  const id = deleted.headers['x-ms-deletion-id']
  const list = await lake('GET', `${fs}?restype=container&comp=list&showonly=deleted&prefix=kept`)
  const untilMs = server.now() + 2 * 86_400_000
  assert.match(list.text, new RegExp(`<DeletionId>${id}</DeletionId><Deleted>true</Deleted>`))
  assert.match(
    list.text,
    new RegExp(`<Expiry-Time>${new Date(untilMs).toUTCString().slice(0, 16)}`),
  )
  const source = { ...JSON_ONLY, 'x-ms-undelete-source': `kept?deletionid=${id}` }
  const restored = expect(await lake('PUT', `${fs}/kept?comp=undelete`, source), '200')
  assert.equal(namesOf(restored), 'x-ms-creation-time x-ms-resource-type')
})
