// Containers: create, read, metadata, access policies, public access, delete. A new container with the name of a deleted
// one is empty.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { assertRefused, xmlText, xmlTexts, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, send } = await startBlobFixture({ container: 'existing' })

describe('Create Container', () => {
  test('is answered with 201, ETag and Last-Modified, and the second time with 409', async () => {
    const created = await send('PUT', '/new?restype=container')
    assert.equal(created.status, 201)
    assert.match(String(created.headers.etag), /^"0x/)
    assert.equal(created.headers['last-modified'], new Date(server.now()).toUTCString())
    await assertRefused(send('PUT', '/new?restype=container'), 409, 'ContainerAlreadyExists')
    assert.equal((await service.getContainerClient('new').createIfNotExists()).succeeded, false)
  })

  // name → code; '' for a valid name
  const NAMES: readonly (readonly [string, string])[] = [
    ['abc', ''],
    ['0-9', ''],
    ['a'.repeat(63), ''],
    ['$root', ''],
    ['$web', ''],
    ['ab', 'OutOfRangeInput'],
    ['a'.repeat(64), 'OutOfRangeInput'],
    ['Abc', 'InvalidResourceName'],
    ['a_bc', 'InvalidResourceName'],
    ['-abc', 'InvalidResourceName'],
    ['abc-', 'InvalidResourceName'],
    ['a--bc', 'InvalidResourceName'],
    ['a.bc', 'InvalidResourceName'],
    ['%C3%A4bc', 'InvalidResourceName'],
    ['$other', 'InvalidResourceName'],
  ]
  for (const [name, code] of NAMES) {
    test(`${name.slice(0, 20)} → ${code || 'created'}`, async () => {
      const sent = send('PUT', `/${name}?restype=container`)
      if (code === '') assert.equal((await sent).status, 201)
      else await assertRefused(sent, 400, code)
    })
  }

  const REFUSED: readonly (readonly [string, string, string])[] = [
    ['x-ms-meta-', 'v', 'EmptyMetadataKey'],
    ['x-ms-meta-a-b', 'v', 'InvalidMetadata'],
    ['x-ms-meta-a', 'v'.repeat(8_192), 'MetadataTooLarge'],
    ['x-ms-blob-public-access', 'all', 'InvalidHeaderValue'],
  ]
  for (const [name, value, code] of REFUSED) {
    test(`${name} ${value.slice(0, 10)} → ${code}`, async () => {
      await assertRefused(send('PUT', '/refused?restype=container', { [name]: value }), 400, code)
      await assertRefused(send('HEAD', '/refused?restype=container'), 404, 'ContainerNotFound')
    })
  }
})

describe('Get Container Properties', () => {
  test('returns metadata, lease state, access and policies for GET and HEAD', async () => {
    const headers = { 'x-ms-meta-Team': 'blue', 'x-ms-blob-public-access': 'blob' }
    const created = await send('PUT', '/read?restype=container', headers)
    for (const method of ['GET', 'HEAD']) {
      const got = await send(method, '/read?restype=container')
      assert.equal(got.status, 200)
      assert.equal(got.text, '')
      const expected = {
        etag: created.headers.etag,
        'last-modified': created.headers['last-modified'],
        'x-ms-meta-team': 'blue',
        'x-ms-blob-public-access': 'blob',
        'x-ms-lease-status': 'unlocked',
        'x-ms-lease-state': 'available',
        'x-ms-has-immutability-policy': 'false',
        'x-ms-has-legal-hold': 'false',
        'x-ms-immutable-storage-with-versioning-enabled': 'true',
        'x-ms-default-encryption-scope': '$account-encryption-key',
        'x-ms-deny-encryption-scope-override': 'false',
      }
      for (const [name, value] of Object.entries(expected)) {
        assert.equal(got.headers[name], value, name)
      }
    }
  })

  test('ignores a trailing slash', async () => {
    assert.equal((await send('GET', '/read/?restype=container')).status, 200)
  })
})

describe('Set Container Metadata', () => {
  test('replaces all metadata', async () => {
    const container = service.getContainerClient('metadata')
    await container.create({ metadata: { a: '1', b: '2' } })
    await container.setMetadata({ C: '3' })
    assert.deepEqual((await container.getProperties()).metadata, { c: '3' })
    const got = await send('GET', '/metadata?restype=container&comp=metadata')
    assert.equal(got.headers['x-ms-meta-c'], '3')
    assert.equal(got.headers['x-ms-lease-state'], undefined)
    await container.setMetadata()
    assert.deepEqual((await container.getProperties()).metadata, {})
  })
})

function identifiers(ids: readonly string[]): string {
  const policy =
    '<AccessPolicy><Start>2026-01-01T00:00:00.0000000Z</Start>' +
    '<Expiry>2026-01-02T00:00:00.0000000Z</Expiry><Permission>rwd</Permission></AccessPolicy>'
  const items = ids.map((id) => `<SignedIdentifier><Id>${id}</Id>${policy}</SignedIdentifier>`)
  return `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers>${items.join('')}</SignedIdentifiers>`
}

describe('the ACL of a container', () => {
  const ACL = '/acl?restype=container&comp=acl'
  before(() => send('PUT', '/acl?restype=container'))

  test('is initially empty', async () => {
    const { status, text, headers } = await send('GET', ACL)
    assert.equal(status, 200)
    assert.deepEqual(xmlTexts(text, 'Id'), [])
    assert.match(text, /<SignedIdentifiers ?\/>|<SignedIdentifiers><\/SignedIdentifiers>/)
    assert.equal(headers['x-ms-blob-public-access'], undefined)
  })

  test('is returned as set, with up to five policies', async () => {
    const ids = ['one', 'two', 'three', 'four', 'x'.repeat(64)]
    const set = await send('PUT', ACL, { 'x-ms-blob-public-access': 'container' }, identifiers(ids))
    assert.equal(set.status, 200)
    const got = await send('GET', ACL)
    assert.deepEqual(xmlTexts(got.text, 'Id'), ids)
    assert.equal(xmlText(got.text, 'Permission'), 'rwd')
    assert.match(xmlText(got.text, 'Start') ?? '', /^2026-01-01T00:00:00/)
    assert.equal(got.headers['x-ms-blob-public-access'], 'container')
    assert.equal(got.headers.etag, set.headers.etag)
  })

  test('is replaced as a whole, including public access', async () => {
    await send('PUT', ACL, {}, identifiers(['only']))
    const got = await send('GET', ACL)
    assert.deepEqual(xmlTexts(got.text, 'Id'), ['only'])
    assert.equal(got.headers['x-ms-blob-public-access'], undefined)
    await send('PUT', ACL)
    assert.deepEqual(xmlTexts((await send('GET', ACL)).text, 'Id'), [])
  })

  const REFUSED: Readonly<Record<string, string>> = {
    'six policies': identifiers(['1', '2', '3', '4', '5', '6']),
    'an id of 65 characters': identifiers(['x'.repeat(65)]),
    'no id': identifiers(['x']).replace('<Id>x</Id>', ''),
    'not XML': 'policies',
    'another root': '<Policies />',
  }
  for (const [name, body] of Object.entries(REFUSED)) {
    test(`${name} → 400, and nothing changes`, async () => {
      const before = await send('GET', ACL)
      assert.equal((await send('PUT', ACL, {}, body)).status, 400)
      assert.equal((await send('GET', ACL)).headers.etag, before.headers.etag)
    })
  }

  test('is set and read by the SDK', async () => {
    const container = service.getContainerClient('acl')
    const accessPolicy = {
      startsOn: new Date('2026-01-01T00:00:00Z'),
      expiresOn: new Date('2026-02-01T00:00:00Z'),
      permissions: 'rl',
    }
    await container.setAccessPolicy('blob', [{ id: 'mine', accessPolicy }])
    const got = await container.getAccessPolicy()
    assert.equal(got.blobPublicAccess, 'blob')
    assert.deepEqual(got.signedIdentifiers, [{ id: 'mine', accessPolicy }])
  })
})

describe('public access', () => {
  // level → status of a read, status of a list
  const LEVELS: readonly (readonly [string, number, number])[] = [
    ['', 401, 401],
    ['blob', 200, 401],
    ['container', 200, 200],
  ]
  for (const [level, read, list] of LEVELS) {
    test(`${level || 'none'}: read ${read}, list ${list}`, async () => {
      const path = `/public${level}`
      const headers: Headers = level === '' ? {} : { 'x-ms-blob-public-access': level }
      await send('PUT', `${path}?restype=container`, headers)
      await send('PUT', `${path}/b`, { 'x-ms-blob-type': 'BlockBlob' }, 'x')
      const anonymous = (method: string, query: string) =>
        send(method, path + query, {}, undefined, 'none')
      assert.equal((await anonymous('GET', '/b')).status, read)
      assert.equal((await anonymous('GET', '?restype=container&comp=list')).status, list)
      assert.equal((await anonymous('GET', '?restype=container')).status, list)
      assert.ok((await anonymous('DELETE', '/b')).status >= 401)
      assert.equal((await send('HEAD', `${path}/b`)).status, 200)
    })
  }
})

describe('Delete Container', () => {
  test('is answered with 202 and removes everything, so that a new container is empty', async () => {
    const container = service.getContainerClient('gone')
    await container.create({ metadata: { a: '1' } })
    await container.uploadBlockBlob('b', 'x', 1)
    assert.equal((await send('DELETE', '/gone?restype=container')).status, 202)
    const paths: readonly (readonly [string, string])[] = [
      ['GET', '/gone/b'],
      ['GET', '/gone?restype=container'],
      ['GET', '/gone?restype=container&comp=list'],
      ['GET', '/gone?restype=container&comp=acl'],
      ['PUT', '/gone?restype=container&comp=metadata'],
      ['PUT', '/gone?restype=container&comp=acl'],
      ['DELETE', '/gone?restype=container'],
      ['DELETE', '/gone/b'],
    ]
    for (const [method, path] of paths) {
      await assertRefused(send(method, path), 404, 'ContainerNotFound')
    }
    await container.create()
    assert.equal((await send('GET', '/gone/b')).headers['x-ms-error-code'], 'BlobNotFound')
    assert.deepEqual((await container.getProperties()).metadata, {})
    const listed = await send('GET', '/gone?restype=container&comp=list')
    assert.deepEqual(xmlTexts(listed.text, 'Name'), [])
  })
})
