import assert from 'node:assert/strict'
import { KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import * as blobs from '@azure/storage-blob'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { accountKey } from '../../storage/shared/account.ts'
import { authenticate } from '../authenticate.ts'
import { createBearerValidator, type BearerOptions } from './bearer.ts'
import { ACCOUNT, KEYS, AUTH_NOW_MS, outcome, authRequest, AUTH_WORLD } from '../example.ts'
import { wwwAuthenticate } from '../failure.ts'
import type { AuthRequest } from '../request.ts'
import { getUserDelegationKey } from '../sas/user-delegation-key.ts'

const TENANT = 'ab1f708d-50f6-404c-a006-d71b2ac7a606'
const NOW_S = AUTH_NOW_MS / 1000
const claims: JWTPayload = {
  aud: 'https://storage.azure.com',
  iss: `https://sts.windows.net/${TENANT}/`,
  nbf: NOW_S - 60,
  exp: NOW_S + 3600,
  oid: 'user',
  tid: TENANT,
}

const folder = mkdtempSync(join(tmpdir(), 'bearer-'))
const keySetFile = join(folder, 'jwks.json')
const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256' }
const keySet = JSON.stringify({ keys: [jwk] })
writeFileSync(keySetFile, keySet)

/** An issuer, which serves its configuration and its keys. */
const issuer = createServer((request, response) => {
  const configuration = JSON.stringify({ jwks_uri: `${issuerUrl()}/keys` })
  response.end(request.url === '/keys' ? keySet : configuration)
})
before(() => new Promise<void>((resolve) => void issuer.listen(0, '127.0.0.1', resolve)))
after(() => {
  issuer.close()
  issuer.closeAllConnections()
  rmSync(folder, { recursive: true })
})

function issuerUrl(): string {
  const address = issuer.address()
  assert.ok(address !== null && typeof address === 'object')
  return `http://127.0.0.1:${address.port}`
}

function signedToken(more: JWTPayload, kid = 'k1'): Promise<string> {
  const token = new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'RS256', kid })
  return token.sign(privateKey)
}

function sent(token: string, more: Partial<AuthRequest> = {}, search = ''): AuthRequest {
  const url = `https://${ACCOUNT}.blob.core.windows.net/c/b${search}`
  return authRequest('blob', { url, headers: { authorization: `Bearer ${token}` } }, more)
}

/** Claims to set; undefined leaves one out. */
type Change = Readonly<Record<string, unknown>>

const unsigned = (more: Change) => new UnsecuredJWT({ ...claims, ...more }).encode()

function result(request: AuthRequest, options: Partial<BearerOptions> = {}) {
  const bearer = createBearerValidator({ mode: 'basic', ...options })
  return outcome(() => authenticate(request, { ...AUTH_WORLD, bearer }))
}

const REFUSED = '401 InvalidAuthenticationInfo challenge'
const AUDIENCE = `${REFUSED} Audience validation failed. Audience did not match.`
const ISSUER = `${REFUSED} Issuer validation failed. Issuer did not match.`
const EXPIRED = `${REFUSED} Lifetime validation failed. The token is expired.`

test('a token needs a known audience and issuer and a valid lifetime', async () => {
  const rows: [change: Change, expected: string][] = [
    [{}, 'ok'],
    [{ aud: 'https://storage.azure.com/' }, 'ok'],
    [{ aud: 'e406a681-f3d4-42a8-90b6-c2b029497af1' }, 'ok'],
    [{ aud: `https://${ACCOUNT}.blob.core.windows.net` }, 'ok'],
    [{ aud: `https://${ACCOUNT}.blob.core.usgovcloudapi.net/` }, 'ok'],
    [{ aud: `http://${ACCOUNT}.blob.localhost:10000` }, 'ok'],
    [{ aud: ['https://graph.microsoft.com', 'https://storage.azure.com'] }, 'ok'],
    [{ aud: `https://${ACCOUNT}.queue.core.windows.net` }, AUDIENCE],
    [{ aud: 'https://other.blob.core.windows.net' }, AUDIENCE],
    [{ aud: 'https://graph.microsoft.com' }, AUDIENCE],
    [{ aud: undefined }, AUDIENCE],
    [{ iss: `https://login.microsoftonline.com/${TENANT}/v2.0` }, 'ok'],
    [{ iss: 'https://example.com/' }, ISSUER],
    [{ iss: undefined }, ISSUER],
    [{ exp: NOW_S - 600 }, EXPIRED],
    [{ exp: undefined }, EXPIRED],
    [{ nbf: NOW_S + 600 }, `${REFUSED} Lifetime validation failed. The token is not yet valid.`],
    [{ nbf: NOW_S + 60 }, 'ok'],
    [{ nbf: undefined }, 'ok'],
  ]
  for (const [more, expected] of rows) {
    assert.equal(await result(sent(unsigned(more))), expected, JSON.stringify(more))
  }
})

test('issuer and audiences are configurable', async () => {
  const options = { issuer: 'https://id.example.com', jwks: keySetFile, audiences: ['api://mine'] }
  const token = await signedToken({ iss: 'https://id.example.com/', aud: 'api://mine' })
  assert.equal(await result(sent(token), options), 'ok')
  assert.equal(await result(sent(await signedToken({})), options), ISSUER)
})

test('a token needs HTTPS or loopback, a recent version and the form of a token', async () => {
  const token = unsigned({})
  const http = '403 AuthenticationFailed Authentication scheme Bearer is not allowed with HTTP.'
  const version =
    '403 AuthenticationFailed Authentication scheme Bearer is not supported in this version.'
  const malformed = `${REFUSED} Token validation failed. The token is not well formed.`
  const far = { secure: false, remoteAddress: '198.51.100.1' }
  const near = { secure: false, remoteAddress: '::1' }
  assert.equal(await result(sent(token, far)), http)
  assert.equal(await result(sent(token, near)), 'ok')
  assert.equal(await result(sent(token, near), { httpFromLoopback: false }), http)
  assert.equal(await result(sent(token, { version: '2017-07-29' })), version)
  for (const text of ['', 'x', 'a.b.c', 'e30.bnVsbA.']) {
    assert.equal(await result(sent(text)), malformed, text)
  }
})

test('services and versions without a challenge answer 403', async () => {
  const token = unsigned({ aud: 'https://graph.microsoft.com' })
  const expected = '403 AuthenticationFailed Audience validation failed. Audience did not match.'
  assert.equal(await result(sent(token, { version: '2019-07-07' })), expected)
  assert.equal(await result(sent(token, { service: 'file' })), expected)
})

test('tokens are refused without a validator', async () => {
  const expected = '403 AuthenticationFailed Authentication scheme Bearer is not supported.'
  assert.equal(await outcome(() => authenticate(sent(unsigned({})), AUTH_WORLD)), expected)
})

test('the challenge says where to get a token', () => {
  const rows: [options: Partial<BearerOptions>, uri: string][] = [
    [{}, 'https://login.microsoftonline.com/common/oauth2/authorize'],
    [{ issuer: 'https://id.example.com/' }, 'https://id.example.com/oauth2/authorize'],
    [{ authorizationUri: `https://id/${TENANT}/authorize` }, `https://id/${TENANT}/authorize`],
  ]
  for (const [options, uri] of rows) {
    const bearer = createBearerValidator({ mode: 'basic', ...options, jwks: keySetFile })
    const expected = `Bearer authorization_uri=${uri} resource_id=https://storage.azure.com`
    assert.equal(bearer.challenge, expected)
  }
  const bearer = createBearerValidator({ mode: 'basic' })
  assert.throws(
    () => authenticate(sent('x'), { ...AUTH_WORLD, bearer }),
    (error) => wwwAuthenticate(error) === bearer.challenge,
  )
})

test('signatures are checked with keys from a file, from a URL and by discovery', async () => {
  const iss = issuerUrl()
  const good = await signedToken({ iss })
  const [header = '', , signature = ''] = good.split('.')
  const payload = Buffer.from(JSON.stringify({ ...claims, iss, oid: 'root' })).toString('base64url')
  const noMatch = `${REFUSED} Signature validation failed. The signature did not match.`
  const noKey = `${REFUSED} Signature validation failed. No key matches the token.`
  const places: Partial<BearerOptions>[] = [
    { issuer: iss, jwks: keySetFile },
    { issuer: iss, jwks: `${iss}/keys` },
    { issuer: iss },
  ]
  for (const options of places) {
    assert.equal(await result(sent(good), options), 'ok')
    assert.equal(await result(sent(`${header}.${payload}.${signature}`), options), noMatch)
    assert.equal(await result(sent(await signedToken({ iss }, 'k2')), options), noKey)
    assert.match(await result(sent(unsigned({ iss })), options), /^401 InvalidAuthenticationInfo/)
  }
})

test('a signature over an unencoded payload (RFC 7797) is refused', async () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'RS256', kid: 'k1', b64: false, crit: ['b64'] })
  const text = `${header}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(text), KeyObject.from(privateKey))
  const token = `${text}.${signature.toString('base64url')}`
  const malformed = `${REFUSED} Token validation failed. The token is not well formed.`
  assert.equal(await result(sent(token), { jwks: keySetFile }), malformed)
})

test('the lifetime of a signed token allows for clock skew', async () => {
  const options = { jwks: keySetFile }
  const early = `${REFUSED} Lifetime validation failed. The token is not yet valid.`
  assert.equal(await result(sent(await signedToken({ exp: NOW_S - 600 })), options), EXPIRED)
  assert.equal(await result(sent(await signedToken({ exp: NOW_S - 200 })), options), 'ok')
  assert.equal(await result(sent(await signedToken({ nbf: NOW_S + 600 })), options), early)
})

test('a cached token still expires', async () => {
  const bearer = createBearerValidator({ mode: 'basic', jwks: keySetFile })
  const request = sent(await signedToken({}))
  const at = (wallNowMs: number) =>
    outcome(() => authenticate(request, { ...AUTH_WORLD, bearer, wallNowMs }))
  assert.equal(await at(AUTH_NOW_MS), 'ok')
  assert.equal(await at(AUTH_NOW_MS + 2 * 3_600_000), EXPIRED)
})

test('a user delegation SAS for one user needs that user’s token', async () => {
  const account = { name: ACCOUNT, keys: KEYS.map(accountKey) }
  const ask = { claims, expiryMs: AUTH_NOW_MS + 3_600_000, service: 'b', version: '2026-04-06' }
  const key = getUserDelegationKey(account, ask, AUTH_NOW_MS)
  const sas = blobs.generateBlobSASQueryParameters(
    {
      containerName: 'c',
      permissions: blobs.BlobSASPermissions.parse('r'),
      expiresOn: new Date(AUTH_NOW_MS + 60_000),
      delegatedUserObjectId: 'friend',
    },
    {
      signedObjectId: key.signedOid,
      signedTenantId: key.signedTid,
      signedStartsOn: new Date(key.signedStart),
      signedExpiresOn: new Date(key.signedExpiry),
      signedService: key.signedService,
      signedVersion: key.signedVersion,
      value: key.value,
    },
    ACCOUNT,
  )
  const withToken = (more: JWTPayload) => result(sent(unsigned(more), {}, `?${sas}`))
  assert.equal(await withToken({ oid: 'friend' }), 'ok')
  assert.equal(await withToken({ oid: 'stranger' }), '403 AuthorizationFailure')
  assert.equal(await withToken({ oid: 'friend', tid: 'elsewhere' }), '403 AuthorizationFailure')
  const alone = sent('', { headers: {} }, `?${sas}`)
  const expected =
    '403 AuthenticationFailed The signed delegated user must authenticate with a bearer token.'
  assert.equal(await result(alone), expected)
})
