// Bearer tokens over the wire, user delegation keys and their SAS; and no secret is ever logged.
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { BLOCK_BLOB } from './blob/fixture.ts'
import { delegationKeyIn } from './delegation-key.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, rawRequest } from './harness.ts'
import { runTestServer, type RunningTestServer } from './running-server.ts'

const HOUR_MS = 3_600_000
const TENANT = 'ab1f708d-50f6-404c-a006-d71b2ac7a606'
const USER = '4fd0e7a0-0a2c-4f2f-8b46-2d0a3f0d9d11'
const CHALLENGED = '401 InvalidAuthenticationInfo'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-bearer-'))
const { publicKey, privateKey } = await generateKeyPair('RS256')
const jwks = join(folder, 'jwks.json')
writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }))

let basic: RunningTestServer
let signed: RunningTestServer
before(async () => {
  basic = await runTestServer({ oauth: 'basic', silent: true })
  const oauthIssuer = `https://sts.windows.net/${TENANT}/`
  signed = await runTestServer({ oauth: 'basic', oauthIssuer, oauthJwks: jwks, silent: true })
  for (const server of [basic, signed]) {
    await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
    await rawRequest(server, { method: 'PUT', path: '/box/b', headers: BLOCK_BLOB, body: 'hello' })
  }
})
after(async () => {
  await Promise.all([basic.close(), signed.close()])
  rmSync(folder, { recursive: true })
})

function claims(more: JWTPayload = {}): JWTPayload {
  const nowSeconds = Math.floor(Date.now() / 1000)
  return {
    aud: 'https://storage.azure.com',
    iss: `https://sts.windows.net/${TENANT}/`,
    nbf: nowSeconds - 60,
    exp: nowSeconds + 3600,
    oid: USER,
    tid: TENANT,
    ...more,
  }
}

function withToken(token: string, more: Readonly<Record<string, string>> = {}) {
  return { headers: { ...BLOCK_BLOB, ...more, authorization: `Bearer ${token}` }, sign: 'none' }
}

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

// prettier-ignore
const TOKENS: readonly [what: string, claims: JWTPayload, outcome: string][] = [
  ['that is valid', {}, '200'],
  ['for the account itself', { aud: `https://${ACCOUNT}.blob.core.windows.net` }, '200'],
  ['with the trailing slash that some libraries add', { aud: 'https://storage.azure.com/' }, '200'],
  ['for another service', { aud: 'https://graph.microsoft.com' }, CHALLENGED],
  ['from another issuer', { iss: 'https://accounts.example/' }, CHALLENGED],
  ['expired', { exp: inSeconds(-600) }, CHALLENGED],
  ['not yet valid', { nbf: inSeconds(600) }, CHALLENGED],
  ['expired a minute ago, which clock skew allows', { exp: inSeconds(-60) }, '200'],
]

for (const [what, more, expected] of TOKENS) {
  test(`--oauth basic: a token ${what} → ${expected}`, async () => {
    const token = new UnsecuredJWT(claims(more)).encode()
    const answer = await rawRequest(basic, { method: 'GET', path: '/box/b', ...withToken(token) })
    assert.equal(outcome(answer), expected, answer.text)
    if (answer.status === 401) {
      assert.match(String(answer.headers['www-authenticate']), /^Bearer authorization_uri=/)
    }
  })
}

test('--oauth basic ignores the signature but refuses what is not a token', async () => {
  const secret = createSecretKey(Buffer.alloc(32, 1))
  const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256' }).sign(secret)
  const get = { method: 'GET', path: '/box/b' }
  assert.equal(outcome(await rawRequest(basic, { ...get, ...withToken(token) })), '200')
  for (const none of ['x', 'a.b.c', `${token}.more`, '{}']) {
    assert.equal(outcome(await rawRequest(basic, { ...get, ...withToken(none) })), CHALLENGED, none)
  }
})

test('a token permits reads, writes and lists; versions before 2017-11-09 do not accept tokens', async () => {
  const bearer = withToken(new UnsecuredJWT(claims()).encode())
  const put = await rawRequest(basic, { method: 'PUT', path: '/box/new', body: 'new', ...bearer })
  assert.equal(outcome(put), '201')
  const list = '/box?restype=container&comp=list'
  assert.equal(outcome(await rawRequest(basic, { method: 'GET', path: list, ...bearer })), '200')
  const old = { ...bearer, headers: { ...bearer.headers, 'x-ms-version': '2017-07-29' } }
  const answer = await rawRequest(basic, { method: 'GET', path: list, ...old })
  assert.equal(outcome(answer), '403 AuthenticationFailed')
})

test('--oauthJwks accepts only tokens signed by its keys', async () => {
  const sign = (kid: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid }).sign(key)
  const stranger = await generateKeyPair('RS256')
  const tokens: readonly [string, string][] = [
    [await sign('one', privateKey), '200'],
    [await sign('two', privateKey), CHALLENGED],
    [await sign('one', stranger.privateKey), CHALLENGED],
    [new UnsecuredJWT(claims()).encode(), CHALLENGED],
  ]
  for (const [token, expected] of tokens) {
    const answer = await rawRequest(signed, { method: 'GET', path: '/box/b', ...withToken(token) })
    assert.equal(outcome(answer), expected)
  }
})

async function delegationKey(server: RunningTestServer) {
  const [start, expiry] = [server.now() - 60_000, server.now() + HOUR_MS].map(sasTime)
  const body = `<KeyInfo><Start>${start}</Start><Expiry>${expiry}</Expiry></KeyInfo>`
  const path = '?restype=service&comp=userdelegationkey'
  const token = new UnsecuredJWT(claims()).encode()
  const answer = await rawRequest(server, { method: 'POST', path, body, ...withToken(token) })
  assert.equal(outcome(answer), '200', answer.text)
  return delegationKeyIn(answer.text)
}

function sasTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`
}

test('a user delegation key signs a SAS until it expires', async () => {
  const key = await delegationKey(basic)
  assert.equal(key.signedObjectId, USER)
  const sas = (permissions: string, lastsMs: number): string => {
    const values = {
      containerName: 'box',
      blobName: 'b',
      permissions: BlobSASPermissions.parse(permissions),
      expiresOn: new Date(basic.now() + lastsMs),
    }
    return generateBlobSASQueryParameters(values, key, ACCOUNT).toString()
  }
  const ask = async (method: string, sign: string, path = '/box/b') =>
    outcome(await rawRequest(basic, { method, path, headers: BLOCK_BLOB, sign }))
  const read = sas('r', 2 * HOUR_MS)
  assert.equal(await ask('GET', read), '200')
  assert.equal(await ask('PUT', read), '403 AuthorizationPermissionMismatch')
  assert.equal(await ask('GET', read, '/box/new'), '403 AuthenticationFailed')
  assert.equal(await ask('GET', read.replace(USER, TENANT)), '403 AuthenticationFailed')
  basic.advance(HOUR_MS + 60_000)
  assert.equal(await ask('GET', read), '403 AuthenticationFailed')
})

// prettier-ignore
const KEY_REQUESTS: readonly [string, string][] = [
  ['no body', ''],
  ['text that is not XML', 'key please'],
  ['another document', '<Key/>'],
  ['no expiry', '<KeyInfo><Start>2026-01-01T00:00:00Z</Start></KeyInfo>'],
  ['invalid times', '<KeyInfo><Start>now</Start><Expiry>later</Expiry></KeyInfo>'],
]

for (const [what, body] of KEY_REQUESTS) {
  test(`Get User Delegation Key with ${what} is refused with 400`, async () => {
    const path = '?restype=service&comp=userdelegationkey'
    const bearer = withToken(new UnsecuredJWT(claims()).encode())
    const answer = await rawRequest(basic, { method: 'POST', path, body, ...bearer })
    assert.equal(answer.status, 400, answer.text)
  })
}

test('a request signed with the account key gets no user delegation key', async () => {
  const path = '?restype=service&comp=userdelegationkey'
  const answer = await rawRequest(basic, { method: 'POST', path, body: '<KeyInfo/>' })
  assert.equal(outcome(answer), '403 AuthenticationFailed')
})

for (const form of ['text', 'json'] as const) {
  test(`no secret is logged (--log ${form})`, async () => {
    const debug = join(folder, `${form}.log`)
    const server = await runTestServer({ oauth: 'basic', log: form, logLevel: 'debug', debug })
    const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
    const values = {
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: new Date(Date.now() + HOUR_MS),
    }
    const where = { containerName: 'box', blobName: 'b' }
    const sas = generateBlobSASQueryParameters({ ...where, ...values }, credential)
    const token = new UnsecuredJWT(claims()).encode()
    const get = { method: 'GET', path: '/box/b' }
    await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
    await rawRequest(server, { ...get, sign: String(sas) })
    await rawRequest(server, { ...get, sign: `${String(sas)}&sp=w` })
    await rawRequest(server, { ...get, sign: String(sas).replace('sig=', '%53iG=') })
    await rawRequest(server, { ...get, ...withToken(token) })
    await rawRequest(server, {
      ...get,
      headers: { authorization: `SharedKey ${ACCOUNT}:c2VjcmV0`, 'x-ms-date': 'x' },
      sign: 'none',
    })
    const key = await delegationKey(server)
    await server.close()
    const logged = server.logged()
    assert.equal(logged.split('/box/b').length - 1, 5)
    assert.match(logged, /sig=REDACTED/)
    const signature = sas.signature
    const secrets = [
      ACCOUNT_KEY,
      signature,
      encodeURIComponent(signature),
      token,
      key.value,
      'c2VjcmV0',
    ]
    for (const secret of secrets) {
      assert.ok(!logged.includes(secret), secret)
      assert.ok(!readFileSync(debug, 'utf8').includes(secret), secret)
    }
  })
}
