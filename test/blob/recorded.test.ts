// Responses seen in recorded traffic of Azure that no other test covers: the headers of each version, and the texts of
// errors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, send } = await startBlobFixture()

const at = (version: string): Headers => ({ 'x-ms-version': version })

describe('by version:', () => {
  const PUTS = [
    ['2018-11-09', false],
    ['2019-02-02', true],
    ['2026-10-06', true],
  ] as const
  for (const [version, hasCrc64] of PUTS) {
    for (const lengthBytes of [5, 20_000]) {
      test(`Put Blob of ${lengthBytes} bytes in ${version} returns an MD5${hasCrc64 ? ' and a CRC-64' : ''}`, async () => {
        const headers = { ...BLOCK_BLOB, ...at(version) }
        const answer = await send('PUT', '/box/hashed', headers, 'x'.repeat(lengthBytes))
        assert.ok(answer.headers['content-md5'])
        assert.equal(answer.headers['x-ms-content-crc64'] !== undefined, hasCrc64)
      })
    }
  }

  test('Get Blob returns the tier since 2026-10-06, Get Blob Properties since 2017-04-17', async () => {
    await send('PUT', '/box/tiered', BLOCK_BLOB, 'x')
    const tier = async (method: string, version: string) =>
      (await send(method, '/box/tiered', at(version))).headers['x-ms-access-tier']
    assert.equal(await tier('GET', '2026-06-06'), undefined)
    assert.equal(await tier('GET', '2026-10-06'), 'Hot')
    assert.equal(await tier('GET', '2026-06-06'), undefined)
    // An unknown version is treated like the one before it.
    assert.equal(await tier('GET', '2026-10-05'), undefined)
    assert.equal(await tier('GET', '2099-01-01'), 'Hot')
    assert.equal(await tier('HEAD', '2017-04-17'), 'Hot')
    assert.equal(await tier('HEAD', '2016-05-31'), undefined)
  })

  test('a list has the elements of its version', async () => {
    await send('PUT', '/lists?restype=container')
    const tags = { 'x-ms-tags': 'a=b', 'x-ms-meta-a': 'kept' }
    await send('PUT', '/lists/blob', { ...BLOCK_BLOB, ...tags }, 'x')
    const list = async (version: string) => {
      const path = '/lists?restype=container&comp=list&include=metadata'
      return (await send('GET', path, at(version))).text
    }
    assert.match(await list('2019-12-12'), /<Content-CRC64 \/>.*<TagCount>1<.*<OrMetadata \/>/)
    const old = await list('2018-03-28')
    assert.doesNotMatch(old, /Content-CRC64|OrMetadata|<TagCount>1/)
    assert.match(old, /<Metadata><a>kept<\/a><\/Metadata><\/Blob>/)
    const containers = await send('GET', '/?comp=list', at('2018-03-28'))
    assert.match(containers.text, /<HasLegalHold>/)
    assert.doesNotMatch(containers.text, /DefaultEncryptionScope/)
  })

  test("the error of a copy's source is returned since 2025-01-05", async () => {
    const copy = { 'x-ms-copy-source': `${server.blobEndpoint}/box/nothing` }
    const text = async (version: string) =>
      (await send('PUT', '/box/copied', { ...copy, ...at(version) })).text
    assert.match(await text('2025-01-05'), /<CopySourceErrorCode>BlobNotFound</)
    const old = await text('2022-11-02')
    assert.match(old, /<Code>CannotVerifyCopySource</)
    assert.doesNotMatch(old, /CopySourceErrorCode|CopySourceStatusCode/)
  })
})

describe('error texts:', () => {
  const LEASE = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }
  const missing = (noun: string) =>
    new RegExp(`There is currently a lease on the ${noun} and no lease ID was specified`)

  test('a missing lease id names the blob or the container', async () => {
    await send('PUT', '/leased?restype=container')
    await send('PUT', '/leased/blob', BLOCK_BLOB, 'x')
    await send('PUT', '/leased/blob?comp=lease', LEASE)
    assert.match((await send('DELETE', '/leased/blob')).text, missing('blob'))
    await send('PUT', '/leased?restype=container&comp=lease', LEASE)
    const deleted = await send('DELETE', '/leased?restype=container')
    assert.match(deleted.text, missing('container'))
    await send('PUT', '/box/free', BLOCK_BLOB, 'x')
    const broken = await send('PUT', '/box/free?comp=lease', { 'x-ms-lease-action': 'break' })
    assert.match(broken.text, /There is currently no lease on the blob\./)
  })

  test('a name with invalid characters', async () => {
    const { text } = await send('PUT', '/Box?restype=container')
    assert.match(text, /The specifed resource name contains invalid characters\./)
  })
})

describe('bodies:', () => {
  test('an unexpected short body is ignored, a long one is refused', async () => {
    await send('PUT', '/box/deleted', BLOCK_BLOB, 'x')
    assert.equal((await send('DELETE', '/box/deleted', {}, '{}')).status, 202)
    const long = await send('DELETE', '/box/deleted', {}, 'x'.repeat(64 * 1024 + 1))
    assert.equal(long.status, 413)
  })

  test('an error response to HEAD has no Content-Type', async () => {
    const { status, headers } = await send('HEAD', '/box/nothing')
    assert.deepEqual([status, headers['content-type']], [404, undefined])
    assert.equal(headers['x-ms-error-code'], 'BlobNotFound')
  })
})

test('the stored MD5 can be any value if it is not checked against a body', async () => {
  const md5 = { 'x-ms-blob-content-md5': 'AQIDBA==' }
  const block = `/box/listed?comp=blocklist`
  const MAKES: readonly (readonly [string, Headers, string?])[] = [
    ['/box/set?comp=properties', md5],
    ['/box/log', { 'x-ms-blob-type': 'AppendBlob', ...md5 }],
    ['/box/disk', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512', ...md5 }],
    [block, md5, '<BlockList />'],
  ]
  await send('PUT', '/box/set', BLOCK_BLOB, 'x')
  for (const [path, headers, body] of MAKES) {
    const { status } = await send('PUT', path, headers, body ?? '')
    assert.equal(status < 300, true, path)
    const [name = ''] = path.split('?')
    assert.equal((await send('HEAD', name)).headers['content-md5'], 'AQIDBA==', path)
  }
  const put = await send('PUT', '/box/set', { ...BLOCK_BLOB, ...md5 }, 'x')
  assert.equal(put.headers['x-ms-error-code'], 'InvalidMd5')
})

test('hour and minute metrics are stored and returned', async () => {
  const retention = '<RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy>'
  const on = `<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>${retention}`
  const metrics = `<HourMetrics>${on}</HourMetrics><MinuteMetrics>${on}</MinuteMetrics>`
  const body = `<StorageServiceProperties>${metrics}</StorageServiceProperties>`
  const set = await send('PUT', '/?restype=service&comp=properties', {}, body)
  assert.equal(set.status, 202)
  const { text } = await send('GET', '/?restype=service&comp=properties')
  assert.ok(text.includes(metrics), text)
})

test('a soft-deleted snapshot is not found, with the reason', async () => {
  const properties = (policy: string) =>
    send(
      'PUT',
      '/?restype=service&comp=properties',
      {},
      `<StorageServiceProperties><DeleteRetentionPolicy>${policy}</DeleteRetentionPolicy></StorageServiceProperties>`,
    )
  await properties('<Enabled>true</Enabled><Days>1</Days>')
  await send('PUT', '/box/soft', BLOCK_BLOB, 'x')
  const { headers: taken } = await send('PUT', '/box/soft?comp=snapshot')
  const path = `/box/soft?snapshot=${String(taken['x-ms-snapshot'])}`
  const { headers: seen } = await send('HEAD', path)
  assert.deepEqual([seen['x-ms-lease-status'], seen['x-ms-lease-state']], [undefined, undefined])
  assert.equal((await send('DELETE', path)).status, 202)
  const { status, headers } = await send('HEAD', path)
  assert.deepEqual([status, headers['x-ms-is-soft-deleted']], [404, 'true'])
  assert.equal((await send('HEAD', '/box/nothing')).headers['x-ms-is-soft-deleted'], undefined)
  await properties('<Enabled>false</Enabled>')
})

test('a legal hold protects the current version too', async () => {
  const versioning = (isEnabled: boolean) =>
    send(
      'PUT',
      '/?restype=service&comp=properties',
      {},
      `<StorageServiceProperties><IsVersioningEnabled>${isEnabled}</IsVersioningEnabled></StorageServiceProperties>`,
    )
  await versioning(true)
  await send('PUT', '/box/held', { ...BLOCK_BLOB, 'x-ms-legal-hold': 'true' }, 'x')
  const held = await send('DELETE', '/box/held')
  const code = held.headers['x-ms-error-code']
  assert.deepEqual([held.status, code], [409, 'BlobImmutableDueToLegalHold'])
  await send('PUT', '/box/held?comp=legalhold', { 'x-ms-legal-hold': 'false' })
  assert.equal((await send('DELETE', '/box/held')).status, 202)
  await versioning(false)
})

test('Query Blob Contents and Find Blobs by Tags have the recorded responses', async () => {
  await send('PUT', '/box/queried', { ...BLOCK_BLOB, 'x-ms-tags': 'asked=yes' }, 'a,b')
  const query =
    '<QueryRequest><QueryType>SQL</QueryType>' +
    '<Expression>SELECT * FROM BlobStorage</Expression></QueryRequest>'
  const { status, headers } = await send('POST', '/box/queried?comp=query', {}, query)
  assert.deepEqual([status, headers['x-ms-blob-content-md5']], [200, undefined])
  const where = encodeURIComponent(`"asked" = 'yes'`)
  const found = await send('GET', `/?comp=blobs&maxresults=7&where=${where}`)
  assert.match(found.text, /<\/Where><MaxResults>7<\/MaxResults><Blobs>/)
})

test('Put Blob From URL returns the CRC-64, or the MD5 of the request', async () => {
  await send('PUT', '/box/source', BLOCK_BLOB, 'hello')
  const md5 = 'XUFAKrxLKna5cZ2REBfFkg=='
  const source = { ...BLOCK_BLOB, 'x-ms-copy-source': `${server.blobEndpoint}/box/source` }
  const hashes = async (headers: Headers) => {
    const { headers: got } = await send('PUT', '/box/fetched', { ...source, ...headers })
    return [got['content-md5'], got['x-ms-content-crc64'] !== undefined]
  }
  assert.deepEqual(await hashes({}), [undefined, true])
  assert.deepEqual(await hashes({ 'x-ms-source-content-md5': md5 }), [md5, false])
  assert.equal((await send('HEAD', '/box/fetched')).headers['content-md5'], md5)
})

describe('recorded since 2023:', () => {
  test('conditions on the tier of a blob to delete have a code of their own', async () => {
    await send('PUT', '/box/cool', { ...BLOCK_BLOB, 'x-ms-access-tier': 'Cool' }, 'x')
    for (const condition of ['modified', 'unmodified']) {
      const dateMs = server.now() + (condition === 'modified' ? 60_000 : -60_000)
      const header = `x-ms-access-tier-if-${condition}-since`
      const { status, headers } = await send('DELETE', '/box/cool', {
        [header]: new Date(dateMs).toUTCString(),
      })
      assert.equal(status, 412)
      assert.equal(headers['x-ms-error-code'], 'AccessTierChangeTimeConditionNotMet')
    }
  })

  test('a version is not deleted together with snapshots, and the error says why', async () => {
    const id = '2020-01-01T00:00:00.0000000Z'
    const include = { 'x-ms-delete-snapshots': 'include' }
    const { status, text } = await send('DELETE', `/box/any?versionid=${id}`, include)
    assert.equal(status, 400)
    assert.match(text, new RegExp(`<QueryParameterName>versionid<.*<QueryParameterValue>${id}<`))
    assert.match(text, /<Reason>This operation is only allowed on the root blob\./)
  })

  test('Copy Blob says nothing of encryption, Copy Blob From URL does', async () => {
    await send('PUT', '/box/from', BLOCK_BLOB, 'x')
    const copy = { 'x-ms-copy-source': `${server.blobEndpoint}/box/from` }
    const encrypted = async (headers: Headers) =>
      (await send('PUT', '/box/to', headers)).headers['x-ms-request-server-encrypted']
    assert.equal(await encrypted(copy), undefined)
    assert.equal(await encrypted({ ...copy, 'x-ms-requires-sync': 'true' }), 'false')
  })

  test('Append Block and Put Page From URL do not repeat what the source says', async () => {
    const source = { 'x-ms-copy-source': `${server.blobEndpoint}/box/nothing`, ...at('2026-02-06') }
    await send('PUT', '/box/log', { 'x-ms-blob-type': 'AppendBlob' })
    const appended = await send('PUT', '/box/log?comp=appendblock', source)
    assert.match(appended.text, /Could not verify the copy source within the specified time\./)
    assert.match(appended.text, /<CopySourceErrorMessage>The specified blob does not exist\.</)
    const staged = await send('PUT', '/box/new?comp=block&blockid=QUJD', source)
    assert.match(staged.text, /<Message>The specified blob does not exist\./)
  })

  test('Abort Copy Blob says what is wrong with an id', async () => {
    const abort = { 'x-ms-copy-action': 'abort' }
    const { text } = await send('PUT', '/box/to?comp=copy&copyid=id', abort)
    assert.match(text, /<Reason>copyid needs to be valid Guid\.<\/Reason>/)
  })
})
