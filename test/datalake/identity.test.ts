// Access control by identity: tokens and user delegation SAS are users, everything else is a superuser. Both endpoints enforce
// the same.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import {
  DirectorySASPermissions,
  FileSystemSASPermissions,
  generateDataLakeSASQueryParameters,
  StorageSharedKeyCredential,
  type UserDelegationKey,
} from '@azure/storage-file-datalake'
import { UnsecuredJWT } from 'jose'
import { delegationKeyIn } from '../delegation-key.ts'
import { ACCOUNT_KEY, outcome, xmlText, type Headers } from '../harness.ts'
import { runTestServer } from '../running-server.ts'
import { expect, LAKE, sendAs, writeFile } from './fixture.ts'

const server = await runTestServer({ oauth: 'basic', silent: true })
after(() => server.close())
const own = sendAs(server.blobPort, LAKE)

const guid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`
const [ALICE, BOB, EVE, STAFF, TENANT] = [guid(1), guid(2), guid(3), guid(4), guid(5)]

function token(oid: string, groups: readonly string[] = []): Headers {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const claims = {
    aud: 'https://storage.azure.com',
    iss: `https://sts.windows.net/${TENANT}/`,
    nbf: nowSeconds - 60,
    exp: nowSeconds + 3_600,
    oid,
    tid: TENANT,
    groups,
  }
  return { authorization: `Bearer ${new UnsecuredJWT(claims).encode()}` }
}

const as =
  (who: Headers) =>
  (method: string, path: string, headers: Headers = {}, body?: string) =>
    own(method, path, { ...who, ...headers }, body, 'none')

const [alice, bob, eve] = [as(token(ALICE)), as(token(BOB)), as(token(EVE))]
const DENIED = '403 AuthorizationPermissionMismatch'
const JSON_ONLY = { accept: 'application/json' }
const XML = { accept: 'application/xml' }

const setAcl = async (path: string, acl: string) =>
  expect(await own('PATCH', `${path}?action=setAccessControl`, { 'x-ms-acl': acl }), '200')

await own('PUT', '/shared?resource=filesystem')
await setAcl('/shared/', 'user::rwx,group::r-x,other::--x')
await writeFile(own, '/shared/open/readable', 'text')
await writeFile(own, '/shared/open/secret', 'text')
await setAcl('/shared/open', `user::rwx,user:${BOB}:rwx,group::r-x,other::--x`)
await setAcl(
  '/shared/open/readable',
  `user::rw-,user:${BOB}:r--,group:${STAFF}:r--,group::r--,other::---`,
)

test('whoever creates a filesystem with a token owns its root', async () => {
  expect(await alice('PUT', '/alices?resource=filesystem'), '201')
  const root = await own('HEAD', '/alices/?action=getAccessControl')
  assert.equal(root.headers['x-ms-owner'], ALICE)
  assert.equal(root.headers['x-ms-group'], ALICE)
  expect(await alice('PUT', '/alices/dir/file?resource=file'), '201')
  const file = await own('HEAD', '/alices/dir/file?action=getAccessControl')
  assert.equal(file.headers['x-ms-owner'], ALICE)
  expect(await bob('PUT', '/alices/dir/mine?resource=file'), DENIED)
})

test('a read needs r on the file and x on all directories, at both endpoints', async () => {
  for (const accept of [JSON_ONLY, XML]) {
    assert.equal((await bob('GET', '/shared/open/readable', accept)).text, 'text')
    assert.equal(
      (await as(token(EVE, [STAFF]))('GET', '/shared/open/readable', accept)).status,
      200,
    )
    assert.equal(outcome(await eve('GET', '/shared/open/readable', accept)), DENIED)
    assert.equal(outcome(await bob('GET', '/shared/open/secret', accept)), DENIED)
  }
  await setAcl('/shared/open', 'user::rwx,group::r-x,other::---')
  expect(await bob('GET', '/shared/open/readable', JSON_ONLY), DENIED)
  await setAcl('/shared/open', `user::rwx,user:${BOB}:rwx,group::r-x,other::--x`)
})

test('a write needs w, and a new path w and x on its directory, at both endpoints', async () => {
  expect(await bob('PATCH', '/shared/open/readable?action=append&position=4', {}, 'x'), DENIED)
  expect(await bob('PUT', '/shared/open/bobs?resource=file'), '201')
  const put = { 'x-ms-blob-type': 'BlockBlob' }
  assert.equal(outcome(await bob('PUT', '/shared/open/blob', put, 'text')), '201')
  assert.equal(outcome(await eve('PUT', '/shared/open/eves', put, 'text')), DENIED)
  assert.equal(outcome(await eve('PUT', '/shared/eves', put, 'text')), DENIED)
  assert.equal(outcome(await bob('PUT', '/shared/open/readable', put, 'text')), DENIED)
  const blob = await own('HEAD', '/shared/open/blob?action=getAccessControl')
  assert.equal(blob.headers['x-ms-owner'], BOB)
})

test('a list needs r and x, a deletion and a rename w and x', async () => {
  expect(await bob('GET', '/shared?resource=filesystem&directory=open&recursive=false'), '200')
  expect(await eve('GET', '/shared?resource=filesystem&directory=open&recursive=false'), DENIED)
  expect(await bob('GET', '/shared?resource=filesystem&recursive=false'), DENIED)
  await writeFile(own, '/shared/open/gone', '')
  const rename = { 'x-ms-rename-source': '/shared/open/gone' }
  expect(await eve('PUT', '/shared/open/elsewhere', rename), DENIED)
  expect(await bob('PUT', '/shared/elsewhere', rename), DENIED)
  expect(await bob('PUT', '/shared/open/elsewhere', rename), '201')
  expect(await eve('DELETE', '/shared/open/elsewhere?recursive=false'), DENIED)
  expect(await bob('DELETE', '/shared/open/elsewhere?recursive=false'), '200')
})

test('the sticky bit keeps entries from all but their owners', async () => {
  await own('PUT', '/shared/tmp?resource=directory', {
    'x-ms-permissions': '1777',
    'x-ms-umask': '0000',
  })
  expect(await bob('PUT', '/shared/tmp/bobs?resource=file'), '201')
  expect(await alice('DELETE', '/shared/tmp/bobs?recursive=false'), DENIED)
  const rename = { 'x-ms-rename-source': '/shared/tmp/bobs' }
  expect(await alice('PUT', '/shared/tmp/alices', rename), DENIED)
  expect(await bob('DELETE', '/shared/tmp/bobs?recursive=false'), '200')
})

test('only owners change access control, and Check Access says who may do what', async () => {
  expect(await bob('PUT', '/shared/open/own?resource=file'), '201')
  const set = '/shared/open/own?action=setAccessControl'
  expect(await eve('PATCH', set, { 'x-ms-permissions': '0777' }), DENIED)
  expect(await bob('PATCH', set, { 'x-ms-permissions': '0640' }), '200')
  expect(await bob('PATCH', set, { 'x-ms-owner': EVE }), DENIED)
  expect(await bob('PATCH', set, { 'x-ms-group': STAFF }), DENIED)
  expect(await as(token(BOB, [STAFF]))('PATCH', set, { 'x-ms-group': STAFF }), '200')
  const check = (send: typeof bob, action: string) =>
    send('HEAD', `/shared/open/own?action=checkAccess&fsAction=${action}`)
  expect(await check(bob, 'rw-'), '200')
  expect(await check(bob, 'rwx'), DENIED)
  expect(await check(as(token(EVE, [STAFF])), 'r--'), '200')
  expect(await check(eve, 'r--'), DENIED)
  expect(await check(bob, 'all'), '400 InvalidQueryParameterValue')
})

test('a recursive change reports what the user may not change', async () => {
  await own('PUT', '/shared/mixed?resource=directory', {
    'x-ms-permissions': '0777',
    'x-ms-umask': '0000',
  })
  await setAcl('/shared/mixed', 'user::rwx,group::rwx,other::rwx')
  expect(await own('PATCH', '/shared/mixed?action=setAccessControl', { 'x-ms-owner': BOB }), '200')
  expect(await bob('PUT', '/shared/mixed/a?resource=file'), '201')
  expect(await alice('PUT', '/shared/mixed/b?resource=file'), '201')
  expect(await bob('PUT', '/shared/mixed/c?resource=file'), '201')
  const change = '/shared/mixed?action=setAccessControlRecursive&mode=modify&forceFlag='
  const acl = { 'x-ms-acl': `user:${EVE}:r--` }
  const stopped = expect(await bob('PATCH', `${change}false`, acl), '200')
  assert.equal(JSON.parse(stopped.text).failureCount, 1)
  assert.equal(stopped.headers['x-ms-continuation'], undefined)
  const forced = JSON.parse(expect(await bob('PATCH', `${change}true`, acl), '200').text)
  assert.deepEqual(
    [forced.directoriesSuccessful, forced.filesSuccessful, forced.failureCount],
    [1, 2, 1],
  )
  assert.deepEqual(
    forced.failedEntries.map(({ name, type }: { name: string; type: string }) => [name, type]),
    [['shared/mixed/b'.slice('shared/'.length), 'FILE']],
  )
})

async function delegationKey(): Promise<UserDelegationKey> {
  const [start, expiry] = [server.now(), server.now() + 3_600_000].map(
    (ms) => new Date(ms).toISOString().slice(0, 19) + 'Z',
  )
  const body = `<KeyInfo><Start>${start}</Start><Expiry>${expiry}</Expiry></KeyInfo>`
  const answer = await alice('POST', '/?restype=service&comp=userdelegationkey', {}, body)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(xmlText(answer.text, 'SignedOid'), ALICE)
  return delegationKeyIn(answer.text)
}

type Agent = { readonly preauthorizedAgentObjectId?: string; readonly agentObjectId?: string }

async function delegatedSas(agent: Agent): Promise<string> {
  const values = {
    fileSystemName: 'shared',
    permissions: FileSystemSASPermissions.parse('racwdlmeop'),
    startsOn: new Date(server.now() - 60_000),
    expiresOn: new Date(server.now() + 3_600_000),
    version: '2023-11-03',
    ...agent,
  }
  return generateDataLakeSASQueryParameters(values, await delegationKey(), LAKE).toString()
}

test('a user delegation SAS is checked for suoid, or else for the owner of the key', async () => {
  const read = async (agent: Agent, file = 'readable') =>
    outcome(
      await own('GET', `/shared/open/${file}`, JSON_ONLY, undefined, await delegatedSas(agent)),
    )
  assert.equal(await read({ agentObjectId: BOB }), '200')
  assert.equal(await read({ agentObjectId: EVE }), DENIED)
  assert.equal(await read({ preauthorizedAgentObjectId: BOB }), DENIED)
  assert.equal(await read({}), DENIED)
  await writeFile(own, '/shared/open/hers', 'text')
  await setAcl('/shared/open/hers', `user::rw-,user:${ALICE}:r--,group::---,other::---`)
  assert.equal(await read({}, 'hers'), '200')
  assert.equal(await read({ preauthorizedAgentObjectId: EVE }, 'hers'), '200')
  assert.equal(await read({ agentObjectId: EVE }, 'hers'), DENIED)
})

test('a user delegation SAS creates paths for the user that it names', async () => {
  const sas = await delegatedSas({ agentObjectId: BOB })
  expect(await own('PUT', '/shared/open/agent?resource=file', {}, undefined, sas), '201')
  const created = await own('HEAD', '/shared/open/agent?action=getAccessControl')
  assert.equal(created.headers['x-ms-owner'], BOB)
  const trusted = await delegatedSas({ preauthorizedAgentObjectId: EVE })
  expect(
    await own('PUT', '/alices/eves?resource=file', {}, undefined, trusted),
    '403 AuthenticationFailed',
  )
  expect(await own('PUT', '/shared/open/eves?resource=file', {}, undefined, trusted), DENIED)
  await own('PUT', '/shared/hers?resource=directory')
  await setAcl('/shared/hers', `user::rwx,user:${ALICE}:rwx,group::r-x,other::---`)
  expect(await own('PUT', '/shared/hers/eves?resource=file', {}, undefined, trusted), '201')
  const hers = await own('HEAD', '/shared/hers/eves?action=getAccessControl')
  assert.equal(hers.headers['x-ms-owner'], EVE)
})

test('the agent is signed', async () => {
  const sas = await delegatedSas({ agentObjectId: EVE })
  const forged = sas.replace(EVE, BOB)
  assert.notEqual(forged, sas)
  assert.equal(
    outcome(await own('GET', '/shared/open/readable', JSON_ONLY, undefined, forged)),
    '403 AuthenticationFailed',
  )
})

test('a directory SAS opens the directory and what is below it, and lists it', async () => {
  const credential = new StorageSharedKeyCredential(LAKE, ACCOUNT_KEY)
  const sas = generateDataLakeSASQueryParameters(
    {
      fileSystemName: 'shared',
      pathName: 'open',
      isDirectory: true,
      directoryDepth: 1,
      permissions: DirectorySASPermissions.parse('rl'),
      expiresOn: new Date(server.now() + 3_600_000),
      version: '2023-11-03',
    },
    credential,
  ).toString()
  const read = (method: string, path: string) => own(method, path, JSON_ONLY, undefined, sas)
  expect(await read('GET', '/shared/open/readable'), '200')
  expect(await read('GET', '/shared?resource=filesystem&directory=open&recursive=true'), '200')
  expect(
    await read('GET', '/shared?resource=filesystem&directory=tmp&recursive=true'),
    '403 AuthenticationFailed',
  )
  expect(
    await read('GET', '/shared?resource=filesystem&recursive=true'),
    '403 AuthenticationFailed',
  )
  expect(await read('GET', '/shared/tmp'), '403 AuthenticationFailed')
  expect(await read('DELETE', '/shared/open?recursive=true'), DENIED)
  expect(
    await read('DELETE', '/shared?resource=filesystem&directory=open'),
    '400 InvalidQueryParameterValue',
  )
})

test('each change of access control needs its letter, and a rename one for its source', async () => {
  const sasWith = (letters: string) => {
    const expiry = new Date(server.now() + 3_600_000).toISOString().slice(0, 19) + 'Z'
    const fields = [
      letters,
      '',
      expiry,
      `/blob/${LAKE}/shared`,
      '',
      '',
      '',
      '2022-11-02',
      'c',
      '',
      '',
      '',
      '',
      '',
      '',
      '',
    ]
    const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
    const sig = hmac.update(fields.join('\n')).digest('base64')
    return new URLSearchParams({
      sp: letters,
      se: expiry,
      sv: '2022-11-02',
      sr: 'c',
      sig,
    }).toString()
  }
  const set = (letters: string, headers: Headers) =>
    own('PATCH', '/shared/open?action=setAccessControl', headers, undefined, sasWith(letters))
  expect(await set('o', { 'x-ms-group': STAFF }), '200')
  expect(await set('o', { 'x-ms-permissions': '0771' }), DENIED)
  expect(await set('p', { 'x-ms-permissions': '0771' }), '200')
  expect(await set('p', { 'x-ms-group': STAFF }), DENIED)
  expect(await set('w', { 'x-ms-group': STAFF }), DENIED)
  await writeFile(own, '/shared/open/moving', '')
  const rename = { 'x-ms-rename-source': '/shared/open/moving' }
  expect(await own('PUT', '/shared/open/moved', rename, undefined, sasWith('cw')), DENIED)
  expect(await own('PUT', '/shared/open/moved', rename, undefined, sasWith('cwm')), '201')
  const withOwn = { 'x-ms-rename-source': `/shared/open/moved?${sasWith('m')}` }
  expect(await own('PUT', '/shared/open/again', withOwn, undefined, sasWith('c')), '201')
})

test('keys, account SAS and service SAS are not restricted', async () => {
  await setAcl('/shared/open/secret', 'user::---,group::---,other::---')
  expect(await own('GET', '/shared/open/secret', JSON_ONLY), '200')
})
