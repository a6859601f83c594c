// Reasons to refuse Copy Blob: conditions of source and destination, leases and types of the destination, the archive
// tier, and invalid URLs.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { assertRefused, outcome, xmlText, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

const urlOf = (name: string) => container.getBlobClient(name).url
const put = (name: string, text: string) =>
  container.getBlockBlobClient(name).upload(text, text.length)

await put('source', 'text')

function copy(to: string, headers: Headers = {}, path = `/box/${to}`) {
  const all = { 'x-ms-copy-source': urlOf('source'), ...headers }
  return send('PUT', path, all)
}

describe('conditions of Copy Blob:', () => {
  const OLD = new Date(0).toUTCString()
  const NEW = new Date(Date.now() + 86_400_000).toUTCString()

  // prettier-ignore
  const SOURCE: readonly (readonly [Record<string, string>, string])[] = [
    [{ 'x-ms-source-if-match': '*' }, '202'],
    [{ 'x-ms-source-if-match': '"0x1"' }, '412 SourceConditionNotMet'],
    [{ 'x-ms-source-if-none-match': '"0x1"' }, '202'],
    [{ 'x-ms-source-if-none-match': 'ETAG' }, '412 SourceConditionNotMet'],
    [{ 'x-ms-source-if-modified-since': OLD }, '202'],
    [{ 'x-ms-source-if-modified-since': NEW }, '412 SourceConditionNotMet'],
    [{ 'x-ms-source-if-unmodified-since': NEW }, '202'],
    [{ 'x-ms-source-if-unmodified-since': OLD }, '412 SourceConditionNotMet'],
    [{ 'x-ms-source-if-tags': '"a" = \'1\'' }, '412 ConditionNotMet'],
  ]
  for (const [headers, expected] of SOURCE) {
    test(`${JSON.stringify(headers)} → ${expected}`, async () => {
      const { etag = '' } = await container.getBlobClient('source').getProperties()
      const sent = Object.entries(headers).map(([name, value]) => [
        name,
        value.replace('ETAG', etag),
      ])
      assert.equal(outcome(await copy('conditioned', Object.fromEntries(sent))), expected)
    })
  }

  // prettier-ignore
  const TARGET: readonly (readonly [Record<string, string>, string])[] = [
    [{ 'if-match': '*' }, '202'],
    [{ 'if-match': '"0x1"' }, '412 TargetConditionNotMet'],
    [{ 'if-none-match': '"0x1"' }, '202'],
    [{ 'if-none-match': '*' }, '409 BlobAlreadyExists'],
    [{ 'if-modified-since': NEW }, '412 TargetConditionNotMet'],
    [{ 'if-unmodified-since': OLD }, '412 TargetConditionNotMet'],
    [{ 'x-ms-if-tags': '"a" = \'1\'' }, '412 ConditionNotMet'],
  ]
  for (const [headers, expected] of TARGET) {
    test(`${JSON.stringify(headers)} on the destination → ${expected}`, async () => {
      await put('present', 'x')
      assert.equal(outcome(await copy('present', headers)), expected)
    })
  }

  test('If-Match on a missing destination', () =>
    assertRefused(copy('missing', { 'if-match': '*' }), 412, 'TargetConditionNotMet'))
})

describe('leases and Copy Blob:', () => {
  const leaseOf = async (name: string, seconds: number) => {
    await put(name, 'old')
    const lease = container.getBlobClient(name).getBlobLeaseClient()
    return (await lease.acquireLease(seconds)).leaseId ?? ''
  }

  test('a leased destination needs the lease id', async () => {
    const id = await leaseOf('leased', -1)
    await assertRefused(copy('leased'), 412, 'LeaseIdMissing')
    const other = { 'x-ms-lease-id': '00000000-0000-4000-8000-000000000000' }
    await assertRefused(copy('leased', other), 412, 'LeaseIdMismatchWithBlobOperation')
    assert.equal((await copy('leased', { 'x-ms-lease-id': id })).status, 202)
    const { leaseState, leaseDuration } = await container.getBlobClient('leased').getProperties()
    assert.deepEqual([leaseState, leaseDuration], ['leased', 'infinite'])
  })

  test('the lease of the destination has to be infinite', async () => {
    const id = await leaseOf('briefly', 60)
    const sent = copy('briefly', { 'x-ms-lease-id': id })
    await assertRefused(sent, 412, 'InfiniteLeaseDurationRequired')
    server.advance(61_000)
    await assertRefused(copy('briefly', { 'x-ms-lease-id': id }), 412, 'LeaseLost')
    assert.equal((await copy('briefly')).status, 202)
  })

  test('a lease id without a lease is refused', async () => {
    await put('free', 'x')
    const id = { 'x-ms-lease-id': '00000000-0000-4000-8000-000000000000' }
    await assertRefused(copy('free', id), 412, 'LeaseNotPresentWithBlobOperation')
    await assertRefused(copy('none', id), 412, 'LeaseNotPresentWithBlobOperation')
  })
})

describe('Copy Blob refuses', () => {
  test('a destination of another type', async () => {
    await container.getAppendBlobClient('append').create()
    await assertRefused(copy('append'), 409, 'InvalidBlobType')
    await container.getPageBlobClient('page').create(512)
    await assertRefused(copy('page'), 409, 'InvalidBlobType')
  })

  test('a destination in a missing container', () =>
    assertRefused(copy('b', {}, '/nobox/b'), 404, 'ContainerNotFound'))

  for (const query of ['snapshot', 'versionid']) {
    test(`a destination with ?${query}`, () => {
      const path = `/box/source?${query}=2026-01-01T00:00:00.0000000Z`
      return assertRefused(copy('', {}, path), 400, 'InvalidQueryParameterValue')
    })
  }

  for (const [what, path] of [
    ['blob', 'box/nothing'],
    ['container', 'nobox/nothing'],
    ['snapshot', 'box/source?snapshot=2026-01-01T00:00:00.0000000Z'],
    ['version', 'box/source?versionid=2026-01-01T00:00:00.0000000Z'],
  ]) {
    test(`a source whose ${what} does not exist`, async () => {
      const source = `${server.blobEndpoint}/${path}`
      const answer = copy('x', { 'x-ms-copy-source': source })
      await assertRefused(answer, 404, 'CannotVerifyCopySource')
      const { text, headers } = await answer
      const expected = what === 'container' ? 'ContainerNotFound' : 'BlobNotFound'
      assert.equal(headers['x-ms-copy-source-error-code'], expected)
      assert.equal(headers['x-ms-copy-source-status-code'], '404')
      assert.equal(xmlText(text, 'CopySourceErrorCode'), expected)
      assert.equal(xmlText(text, 'CopySourceStatusCode'), '404')
    })
  }

  for (const [what, url] of Object.entries({
    'not a URL': 'box/source',
    'a path': '/devstoreaccount1/box/source',
    'a URL with another scheme': 'ftp://example.com/file',
    'too long': `http://127.0.0.1/${'x'.repeat(2_048)}`,
  })) {
    test(`a source that is ${what}`, () =>
      assertRefused(copy('x', { 'x-ms-copy-source': url }), 400, 'InvalidHeaderValue'))
  }

  test('a source in an unknown account', () => {
    const source = `http://127.0.0.1:${server.blobPort}/nobody/box/source`
    return assertRefused(copy('x', { 'x-ms-copy-source': source }), 404, 'CannotVerifyCopySource')
  })

  test('to overwrite a blob with a SAS that can only create', async () => {
    const { BlobSASPermissions } = await import('@azure/storage-blob')
    const client = container.getBlobClient('created-once')
    const permissions = BlobSASPermissions.parse('c')
    const expiresOn = new Date(server.now() + 3_600_000)
    const sas = (await client.generateSasUrl({ permissions, expiresOn })).split('?')[1] ?? ''
    const source = container.getBlobClient('source')
    const read = BlobSASPermissions.parse('r')
    const url = await source.generateSasUrl({ permissions: read, expiresOn })
    const path = '/box/created-once'
    const create = () => send('PUT', path, { 'x-ms-copy-source': url }, undefined, sas)
    assert.equal(outcome(await create()), '202')
    assert.equal(outcome(await create()), '403 UnauthorizedBlobOverwrite')
  })
})

describe('Copy Blob and the archive tier:', () => {
  before(async () => {
    await put('archived', 'x')
    await container.getBlobClient('archived').setAccessTier('Archive')
  })
  const archived = () => ({ 'x-ms-copy-source': urlOf('archived') })

  test('an archived destination is not overwritten', () =>
    assertRefused(copy('archived'), 409, 'BlobArchived'))

  test('an archived source is copied only to an online tier', async () => {
    await assertRefused(copy('out', archived()), 409, 'BlobArchived')
    const tier = { ...archived(), 'x-ms-access-tier': 'Archive' }
    await assertRefused(copy('out', tier), 409, 'BlobArchived')
  })

  test('a copy of an archived source stays archived until it is rehydrated', async () => {
    const headers = { 'x-ms-access-tier': 'Cool', 'x-ms-rehydrate-priority': 'High' }
    assert.equal((await copy('out', { ...archived(), ...headers })).status, 202)
    const client = container.getBlobClient('out')
    const { accessTier, archiveStatus, rehydratePriority } = await client.getProperties()
    assert.deepEqual(
      [accessTier, archiveStatus, rehydratePriority],
      ['Archive', 'rehydrate-pending-to-cool', 'High'],
    )
    await assert.rejects(client.downloadToBuffer(), { code: 'BlobBeingRehydrated' })
    server.advance(3_600_000)
    assert.equal((await client.getProperties()).accessTier, 'Cool')
    assert.equal((await client.downloadToBuffer()).toString(), 'x')
    await assert.rejects(container.getBlobClient('archived').downloadToBuffer(), {
      code: 'BlobArchived',
    })
  })

  test('a tier that the blob type does not have is refused', async () => {
    await assertRefused(copy('tier', { 'x-ms-access-tier': 'P10' }), 400, 'InvalidBlobTier')
    await assertRefused(copy('tier', { 'x-ms-access-tier': 'Warm' }), 400, 'InvalidHeaderValue')
    assert.equal((await copy('tier', { 'x-ms-access-tier': 'Cold' })).status, 202)
    assert.equal((await container.getBlobClient('tier').getProperties()).accessTier, 'Cold')
  })
})

describe('Abort Copy Blob of a completed copy', () => {
  const abort = (path: string, headers: Headers = { 'x-ms-copy-action': 'abort' }) =>
    send('PUT', path, headers)
  const ID = '00000000-0000-4000-8000-000000000000'

  // prettier-ignore
  const REFUSED: readonly (readonly [string, Headers | undefined, number, string])[] = [
    [`/box/source?comp=copy&copyid=${ID}`, undefined, 409, 'NoPendingCopyOperation'],
    [`/box/nothing?comp=copy&copyid=${ID}`, undefined, 404, 'BlobNotFound'],
    [`/nobox/b?comp=copy&copyid=${ID}`, undefined, 404, 'ContainerNotFound'],
    ['/box/source?comp=copy&copyid=no-guid', undefined, 400, 'InvalidQueryParameterValue'],
    ['/box/source?comp=copy', undefined, 400, 'MissingRequiredQueryParameter'],
    [`/box/source?comp=copy&copyid=${ID}`, {}, 400, 'MissingRequiredHeader'],
    [`/box/source?comp=copy&copyid=${ID}`, { 'x-ms-copy-action': 'stop' }, 400, 'InvalidHeaderValue'],
    [`/box/source?comp=copy&copyid=${ID}`, { 'x-ms-copy-action': 'abort', 'if-match': '*' }, 400, 'ConditionHeadersNotSupported'],
  ]
  for (const [path, headers, status, code] of REFUSED) {
    test(`${path} ${JSON.stringify(headers ?? {})} → ${code}`, () =>
      assertRefused(abort(path, headers), status, code))
  }
})
