// Encryption scopes: keys that the server holds, named by a request, by the container or by the SAS for all writes.
// Reads name none.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { before, describe, test } from 'node:test'
import {
  AccountSASPermissions,
  BlobSASPermissions,
  ContainerSASPermissions,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  outcome,
  rawRequest,
  startTestServer,
  wireRequest,
  xmlText,
  type Headers,
  type RawResponse,
} from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'
import { MISMATCH, USES, USES_NOT } from './secure-server.ts'

const [ONE, TWO] = ['scope-1', 'scope-2']
/** The name for no scope. */
const OWN = '$account-encryption-key'

const FORBIDDEN = '403 RequestForbiddenByContainerEncryptionPolicy'
const UNKNOWN = '404 EncryptionScopeNotFound'

const fixture = await startBlobFixture({ encryptionScopes: [ONE, TWO] })
const { server, service: client, send } = fixture

for (const [name, deny] of [
  ['scoped', false],
  ['strict', true],
] as const) {
  const options = { defaultEncryptionScope: ONE, preventEncryptionScopeOverride: deny }
  await client.createContainer(name, { containerEncryptionScope: options })
}
const own = { defaultEncryptionScope: OWN, preventEncryptionScopeOverride: true }
await client.createContainer('own', { containerEncryptionScope: own })

const scopeHeader = (scope: string | undefined): Headers =>
  scope === undefined ? {} : { 'x-ms-encryption-scope': scope }

function put(path: string, scope?: string, body: string | Uint8Array = 'hello') {
  return send('PUT', path, { ...BLOCK_BLOB, ...scopeHeader(scope) }, body)
}

/** The scope in the response to a write, or the error. */
function encryptionOf(answer: RawResponse): string {
  if (answer.status >= 300) return outcome(answer)
  const { headers } = answer
  const name = headers['x-ms-request-server-encrypted'] ?? headers['x-ms-server-encrypted']
  assert.equal(name, headers['x-ms-encryption-scope'] === undefined ? 'false' : 'true')
  return String(headers['x-ms-encryption-scope'] ?? 'plain')
}

describe('the scope of a new blob', () => {
  // prettier-ignore
  const CASES: readonly (readonly [container: string, scope: string | undefined, expected: string])[] = [
    ['box',    undefined, 'plain'],
    ['box',    ONE,       ONE],
    ['box',    OWN,       'plain'],
    ['box',    'scope-9', UNKNOWN],
    ['box',    'no scope', UNKNOWN],
    ['scoped', undefined, ONE],
    ['scoped', TWO,       TWO],
    ['scoped', OWN,       'plain'],
    ['strict', undefined, ONE],
    ['strict', ONE,       ONE],
    ['strict', TWO,       FORBIDDEN],
    ['strict', OWN,       FORBIDDEN],
    ['own',    undefined, 'plain'],
    ['own',    OWN,       'plain'],
    ['own',    ONE,       FORBIDDEN],
  ]
  for (const [container, scope, expected] of CASES) {
    for (const lengthBytes of [0, 1, 20_000]) {
      test(`${container}, ${scope ?? 'none named'}, ${lengthBytes} bytes → ${expected}`, async () => {
        const path = `/${container}/new-${scope ?? ''}-${lengthBytes}`.replaceAll(/[ $]/g, '')
        const body = Buffer.alloc(lengthBytes, 'text')
        assert.equal(encryptionOf(await put(path, scope, body)), expected)
        const got = await send('GET', path)
        if (/^\d/.test(expected)) return assert.equal(outcome(got), '404 BlobNotFound')
        assert.ok(got.body.equals(body), 'reads name no scope')
        assert.equal(encryptionOf(got), expected)
        assert.equal(encryptionOf(await send('HEAD', path)), expected)
      })
    }
  }

  test('applies to every blob type, with the SDK', async () => {
    const container = client.getContainerClient('scoped')
    const append = container.getAppendBlobClient('append')
    assert.equal((await append.create()).encryptionScope, ONE)
    assert.equal((await append.appendBlock('hello', 5)).encryptionScope, ONE)
    assert.equal(String(await append.downloadToBuffer()), 'hello')
    const page = container.getPageBlobClient('page')
    const options = { encryptionScope: TWO }
    assert.equal((await page.create(1_024, options)).encryptionScope, TWO)
    const bytes = Buffer.alloc(512, 'page')
    assert.equal((await page.uploadPages(bytes, 512, 512, options)).encryptionScope, TWO)
    assert.ok((await page.downloadToBuffer(512, 512)).equals(bytes))
    const block = container.getBlockBlobClient('block')
    assert.equal((await block.stageBlock('AAAA', 'hello', 5)).encryptionScope, ONE)
    assert.equal((await block.commitBlockList(['AAAA'])).encryptionScope, ONE)
    assert.equal(String(await block.downloadToBuffer()), 'hello')
    const parts = { blockSize: 1_000_000, maxSingleShotSize: 1_000_000, ...options }
    await container.getBlockBlobClient('cut').uploadData(Buffer.alloc(2_500_000, 'x'), parts)
    assert.equal((await container.getBlockBlobClient('cut').getProperties()).encryptionScope, TWO)
    const names: Record<string, string | undefined> = {}
    for await (const { name, properties } of container.listBlobsFlat()) {
      names[name] = properties.encryptionScope
      assert.equal(properties.serverEncrypted, properties.encryptionScope !== undefined)
    }
    assert.deepEqual([names['append'], names['page'], names['block']], [ONE, TWO, ONE])
  })
})

test('a forbidden scope is checked before a missing blob', async () => {
  const headers = { 'x-ms-encryption-scope': TWO }
  const sent = await send('PUT', '/strict/nothing?comp=appendblock', headers, Buffer.from('x'))
  assert.equal(outcome(sent), FORBIDDEN)
})

test('bytes copied from a URL are answered with their MD5 if a scope is named', async () => {
  const source = { 'x-ms-copy-source': `${server.blobEndpoint}/box/from-url` }
  await send('PUT', '/box/from-url', { 'x-ms-blob-type': 'BlockBlob' }, Buffer.alloc(512, 1))
  const scope = scopeHeader(ONE)
  const page = { 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' }
  const length = { 'x-ms-blob-content-length': '512' }
  await send('PUT', '/box/url-log', { 'x-ms-blob-type': 'AppendBlob', ...scope })
  await send('PUT', '/box/url-disk', { 'x-ms-blob-type': 'PageBlob', ...length, ...scope })
  const answers = [
    await send('PUT', '/box/url-log?comp=appendblock', { ...source, ...scope }),
    await send('PUT', '/box/url-disk?comp=page', {
      ...source,
      ...scope,
      ...page,
      'x-ms-page-write': 'update',
    }),
  ]
  for (const { status, headers } of answers) {
    assert.equal(status, 201)
    assert.ok(headers['content-md5'])
    assert.equal(headers['x-ms-content-crc64'], undefined)
  }
})

describe('an existing blob', () => {
  before(async () => {
    assert.equal((await put('/box/one', ONE)).status, 201)
    assert.equal((await put('/box/plain')).status, 201)
    assert.equal((await put('/scoped/two', TWO)).status, 201)
    for (const path of ['/box/append', '/scoped/append-2']) {
      const headers = { 'x-ms-blob-type': 'AppendBlob', ...scopeHeader(ONE) }
      assert.equal((await send('PUT', path, headers)).status, 201)
    }
  })

  // prettier-ignore
  const CASES: readonly (readonly [path: string, scope: string | undefined, expected: string])[] = [
    ['/box/one',    ONE,       ONE],
    ['/box/one',    undefined, USES],
    ['/box/one',    OWN,       USES],
    ['/box/one',    TWO,       MISMATCH],
    ['/box/plain',  undefined, 'plain'],
    ['/box/plain',  ONE,       USES_NOT],
    ['/scoped/two', TWO,       TWO],
    ['/scoped/two', undefined, MISMATCH],
  ]
  for (const comp of ['metadata', 'snapshot']) {
    for (const [path, scope, expected] of CASES) {
      test(`${comp} of ${path} with ${scope ?? 'none named'} → ${expected}`, async () => {
        const answer = await send('PUT', `${path}?comp=${comp}`, scopeHeader(scope))
        // A snapshot encrypts nothing, so its response has no scope.
        const returned = comp === 'snapshot' && !/^\d/.test(expected) ? 'plain' : expected
        assert.equal(encryptionOf(answer), returned)
      })
    }
  }

  // prettier-ignore
  const APPENDS: readonly (readonly [string, string | undefined, string])[] = [
    ['/box/append',      ONE,       ONE],
    ['/box/append',      undefined, USES],
    ['/box/append',      TWO,       MISMATCH],
    ['/scoped/append-2', undefined, ONE],
  ]
  for (const [path, scope, expected] of APPENDS) {
    test(`Append Block to ${path} with ${scope ?? 'none named'} → ${expected}`, async () => {
      const answer = await send('PUT', `${path}?comp=appendblock`, scopeHeader(scope), 'more')
      assert.equal(encryptionOf(answer), expected)
    })
  }

  test('cannot be committed from blocks of another scope', async () => {
    const blob = client.getContainerClient('box').getBlockBlobClient('blocks')
    await blob.stageBlock('AAAA', 'hello', 5, { encryptionScope: ONE })
    const commit = (scope?: string) =>
      blob.commitBlockList(['AAAA'], scope === undefined ? {} : { encryptionScope: scope })
    await assert.rejects(commit(), { code: 'BlobUsesCustomerSpecifiedEncryption' })
    await assert.rejects(commit(TWO), { code: 'BlobCustomerSpecifiedEncryptionMismatch' })
    assert.equal((await commit(ONE)).encryptionScope, ONE)
    assert.equal(String(await blob.downloadToBuffer()), 'hello')
  })
})

describe('a container with a scope:', () => {
  test('properties and lists show the scope', async () => {
    const all: Record<string, unknown> = {}
    for await (const { name, properties } of client.listContainers()) {
      all[name] = [properties.defaultEncryptionScope, properties.preventEncryptionScopeOverride]
    }
    const expected = {
      box: [OWN, false],
      scoped: [ONE, false],
      strict: [ONE, true],
      own: [OWN, true],
    }
    assert.partialDeepStrictEqual(all, expected)
    for (const [name, [scope, deny]] of Object.entries(expected)) {
      const properties = await client.getContainerClient(name).getProperties()
      assert.equal(properties.defaultEncryptionScope, scope)
      assert.equal(properties.denyEncryptionScopeOverride, deny)
    }
  })

  // prettier-ignore
  const CASES: readonly (readonly [Headers, string, string | undefined])[] = [
    [{ 'x-ms-default-encryption-scope': ONE }, '400 MissingRequiredHeader', 'x-ms-deny-encryption-scope-override'],
    [{ 'x-ms-deny-encryption-scope-override': 'true' }, '400 MissingRequiredHeader', 'x-ms-default-encryption-scope'],
    [{ 'x-ms-default-encryption-scope': ONE, 'x-ms-deny-encryption-scope-override': 'maybe' }, '400 InvalidHeaderValue', 'x-ms-deny-encryption-scope-override'],
    [{ 'x-ms-default-encryption-scope': 'scope-9', 'x-ms-deny-encryption-scope-override': 'false' }, UNKNOWN, undefined],
  ]
  for (const [headers, expected, name] of CASES) {
    test(`${JSON.stringify(headers)} → ${expected}`, async () => {
      const answer = await send('PUT', '/refused?restype=container', headers)
      assert.equal(outcome(answer), expected)
      assert.equal(xmlText(answer.text, 'HeaderName'), name)
      assert.equal((await send('GET', '/refused?restype=container')).status, 404)
    })
  }
})

describe('a SAS that names a scope (ses)', () => {
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const expiresOn = () => new Date(server.now() + 60_000)

  const MAKERS: Readonly<Record<string, (container: string, scope: string) => string>> = {
    'a container’s': (containerName, encryptionScope) => {
      const permissions = ContainerSASPermissions.parse('racwdlt')
      const values = { containerName, permissions, expiresOn: expiresOn(), encryptionScope }
      return String(generateBlobSASQueryParameters(values, credential))
    },
    'a blob’s': (containerName, encryptionScope) => {
      const permissions = BlobSASPermissions.parse('racwdt')
      const values = {
        containerName,
        blobName: 'b',
        permissions,
        expiresOn: expiresOn(),
        encryptionScope,
      }
      return String(generateBlobSASQueryParameters(values, credential))
    },
    'an account’s': (_container, encryptionScope) => {
      const permissions = AccountSASPermissions.parse('racwdlt')
      const values = {
        services: 'b',
        resourceTypes: 'sco',
        permissions,
        expiresOn: expiresOn(),
        encryptionScope,
      }
      return String(generateAccountSASQueryParameters(values, credential))
    },
  }

  // prettier-ignore
  const CASES: readonly (readonly [string, ses: string, header: string | undefined, expected: string])[] = [
    ['box',    ONE,       undefined, ONE],
    ['box',    ONE,       ONE,       ONE],
    ['box',    ONE,       TWO,       '400 InvalidHeaderValue'],
    ['box',    'scope-9', undefined, UNKNOWN],
    ['scoped', TWO,       undefined, TWO],
    ['strict', ONE,       undefined, ONE],
    ['strict', TWO,       undefined, FORBIDDEN],
  ]
  for (const [what, make] of Object.entries(MAKERS)) {
    for (const [container, ses, header, expected] of CASES) {
      const named = header === undefined ? '' : `, ${header} in the header`
      test(`${what} with ${ses} for ${container}${named} → ${expected}`, async () => {
        const sign = make(container, ses)
        const path = `/${container}/b`
        const headers = { ...BLOCK_BLOB, ...scopeHeader(header) }
        const answer = await rawRequest(server, {
          method: 'PUT',
          path,
          headers,
          body: 'by SAS',
          sign,
        })
        assert.equal(encryptionOf(answer), expected)
      })
    }
  }

  test('applies to all writes but not to reads', async () => {
    const sign = MAKERS['a container’s']?.('box', ONE) ?? ''
    const by = (method: string, path: string, headers: Headers = {}, body = '') =>
      rawRequest(server, { method, path, headers, sign, ...(method === 'PUT' && { body }) })
    await put('/box/two', TWO)
    assert.equal((await by('GET', '/box/two')).text, 'hello')
    assert.equal(encryptionOf(await by('PUT', '/box/two?comp=metadata')), MISMATCH)
    const block = await by('PUT', '/box/by-block?comp=block&blockid=AAAA', {}, 'block')
    assert.equal(encryptionOf(block), ONE)
    const append = await by('PUT', '/box/by-append', { 'x-ms-blob-type': 'AppendBlob' })
    assert.equal(encryptionOf(append), ONE)
    assert.equal(encryptionOf(await by('PUT', '/box/by-append?comp=appendblock', {}, 'x')), ONE)
    assert.equal((await by('DELETE', '/box/two')).status, 202)
  })
})

test("a put is answered with 503 if the container's scope changed while its body was read", async () => {
  await send('PUT', '/race?restype=container')
  const body = Buffer.alloc(20_000)
  const headers = { ...BLOCK_BLOB, 'content-length': String(body.length) }
  const wire = wireRequest({ method: 'PUT', path: '/race/b', headers })
  const options = { host: '127.0.0.1', port: server.blobPort, method: 'PUT', path: wire.path }
  const req = httpRequest({ ...options, headers: { ...wire.headers, expect: '100-continue' } })
  const answered = new Promise<number>((resolve, reject) => {
    req.on('response', (res) => resolve(res.resume().statusCode ?? 0)).on('error', reject)
  })
  await new Promise((resolve) => req.once('continue', resolve).flushHeaders())
  await client.deleteContainer('race')
  const scope = { defaultEncryptionScope: ONE, preventEncryptionScopeOverride: false }
  await client.createContainer('race', { containerEncryptionScope: scope })
  req.end(body)
  assert.equal(await answered, 503)
  assert.equal(outcome(await send('GET', '/race/b')), '404 BlobNotFound')
})

test('an invalid scope name prevents the server from starting', async () => {
  await assert.rejects(
    startTestServer({ encryptionScopes: ['-'] }),
    /encryptionScopes.*3 to 63 letters/,
  )
})
