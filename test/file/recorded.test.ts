// Responses of the File service compared with those recorded from Azure in the SDKs' own tests, for each version:
// headers and elements, and how creating and changing files affects them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlTexts, assertRefused, type Headers } from '../harness.ts'
import { ownHeaders } from '../own-headers.ts'
import { startFileFixture } from './fixture.ts'

const box = await startFileFixture()

const TIMES = { 'x-ms-file-creation-time': 'now', 'x-ms-file-last-write-time': 'now' }
/** Versions from 2019-02-02 to 2021-04-10 require all of these. */
const NEEDED = { ...TIMES, 'x-ms-file-attributes': 'none', 'x-ms-file-permission': 'inherit' }

const at = (version: string, headers: Headers = {}) => ({ 'x-ms-version': version, ...headers })

const createFile = (path: string, headers: Headers = {}) =>
  box.send('PUT', path, {
    'x-ms-type': 'file',
    'x-ms-content-length': '1024',
    ...NEEDED,
    ...headers,
  })

const VALIDATORS = 'etag last-modified'
const SHARE_2019 = `${VALIDATORS} x-ms-has-immutability-policy x-ms-has-legal-hold`
const SMB =
  'x-ms-file-attributes x-ms-file-change-time x-ms-file-creation-time x-ms-file-id ' +
  'x-ms-file-last-write-time x-ms-file-parent-id x-ms-file-permission-key'

describe('shares by version:', () => {
  // prettier-ignore
  const PROPERTIES: readonly [version: string, headers: string][] = [
    ['2018-11-09', `${SHARE_2019} x-ms-share-quota`],
    ['2019-02-02', `${SHARE_2019} x-ms-share-quota`],
    ['2019-12-12', `${VALIDATORS} x-ms-access-tier x-ms-access-tier-change-time x-ms-has-immutability-policy x-ms-has-legal-hold x-ms-share-quota`],
    ['2020-02-10', `${VALIDATORS} x-ms-access-tier x-ms-access-tier-change-time x-ms-has-immutability-policy x-ms-has-legal-hold x-ms-lease-state x-ms-lease-status x-ms-share-quota`],
    ['2026-02-06', `${VALIDATORS} x-ms-access-tier x-ms-access-tier-change-time x-ms-has-immutability-policy x-ms-has-legal-hold x-ms-lease-state x-ms-lease-status x-ms-share-quota`],
  ]
  for (const [version, headers] of PROPERTIES) {
    test(`Get Share Properties in ${version}`, async () => {
      const answer = await box.send('GET', '/box?restype=share', at(version))
      assert.equal(ownHeaders(answer), headers)
    })
  }

  test('a premium share shows its protocol and its throughput in the versions that have them', async () => {
    await box.createShare('premium', { 'x-ms-access-tier': 'Premium', 'x-ms-share-quota': '100' })
    const headersIn = async (version: string) =>
      ownHeaders(await box.send('GET', '/premium?restype=share', at(version)))
    assert.doesNotMatch(await headersIn('2019-02-02'), /provisioned|burst|protocols/)
    assert.match(await headersIn('2019-07-07'), /provisioned-egress-mbps .*provisioned-iops/)
    assert.match(await headersIn('2020-02-10'), /x-ms-enabled-protocols/)
    assert.doesNotMatch(await headersIn('2024-11-04'), /included-burst/)
    assert.match(await headersIn('2025-01-05'), /included-burst/)
  })

  test('Create, Set and Delete Share return size and usage since 2025-01-05', async () => {
    for (const [version, size, usage] of [
      ['2022-11-02', VALIDATORS, ''],
      [
        '2025-01-05',
        `${VALIDATORS} x-ms-share-quota`,
        'x-ms-file-share-snapshot-usage-bytes x-ms-file-share-usage-bytes',
      ],
    ] as const) {
      const created = await box.send('PUT', '/sized?restype=share', at(version))
      assert.equal(ownHeaders(created), size)
      const set = await box.send('PUT', '/sized?restype=share&comp=properties', at(version))
      assert.equal(ownHeaders(set), size)
      assert.equal(ownHeaders(await box.send('DELETE', '/sized?restype=share', at(version))), usage)
    }
  })

  test('List Shares has the elements of its version', async () => {
    const properties = async (version: string) => {
      const { text } = await box.send('GET', '/?comp=list&prefix=box', at(version))
      const [, inner = ''] = /<Properties>(.*)<\/Properties>/.exec(text) ?? []
      return [...inner.matchAll(/<([\w-]+)>/g)].map(([, name]) => name).join(' ')
    }
    assert.equal(await properties('2019-02-02'), 'Last-Modified Etag Quota')
    const recorded =
      'Last-Modified Etag LeaseStatus LeaseState Quota AccessTier AccessTierChangeTime ' +
      'DefaultEncryptionScope DenyEncryptionScopeOverride'
    for (const version of ['2020-02-10', '2021-06-08', '2022-11-02', '2026-02-06']) {
      assert.equal(await properties(version), recorded)
    }
  })

  test('Get Share Stats is in gigabytes before 2018-11-09', async () => {
    await box.createShare('usage')
    const used = { 'x-ms-content-length': String(2 ** 30 + 1) }
    assert.equal((await createFile('/usage/file', used)).status, 201)
    const stats = (version: string) =>
      box.send('GET', '/usage?restype=share&comp=stats', at(version))
    const old = await stats('2018-03-28')
    assert.match(old.text, /<ShareStats><ShareUsage>2<\/ShareUsage><\/ShareStats>$/)
    const recent = await stats('2018-11-09')
    assert.match(recent.text, /<ShareUsageBytes>1073741825<\/ShareUsageBytes>/)
    assert.equal(ownHeaders(recent), 'content-type')
  })

  test('a missing snapshot is reported as a missing share before 2025-11-05', async () => {
    const path = '/box?restype=share&sharesnapshot=2020-01-01T00:00:00.0000000Z'
    await assertRefused(box.send('GET', path, at('2025-07-05')), 404, 'ShareNotFound')
    await assertRefused(box.send('GET', path, at('2025-11-05')), 404, 'ShareSnapshotNotFound')
  })

  test('the id of a broken lease is lost, and a released lease has no time left', async () => {
    await box.createShare('leased')
    const id = '11111111-aaaa-4aaa-8aaa-111111111111'
    const lease = (action: string, headers: Headers = {}) =>
      box.send('PUT', '/leased?restype=share&comp=lease', {
        'x-ms-lease-action': action,
        ...headers,
      })
    const acquire = { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': id }
    assert.equal((await lease('acquire', acquire)).status, 201)
    const released = await lease('release', { 'x-ms-lease-id': id })
    assert.equal(released.headers['x-ms-lease-time'], '0')
    await lease('acquire', acquire)
    await lease('break', { 'x-ms-lease-break-period': '5' })
    box.server.advance(6_000)
    const deleted = box.send('DELETE', '/leased?restype=share', { 'x-ms-lease-id': id })
    await assertRefused(deleted, 412, 'LeaseLost')
  })
})

describe('files by version:', () => {
  test('SMB properties are returned since 2019-02-02', async () => {
    const path = '/box/versions'
    const created = await createFile(path, at('2018-11-09'))
    assert.equal(ownHeaders(created), `${VALIDATORS} x-ms-request-server-encrypted`)
    const old = await box.send('HEAD', path, at('2018-11-09'))
    assert.equal(ownHeaders(old), `content-type ${VALIDATORS} x-ms-server-encrypted x-ms-type`)
    const recent = await box.send('HEAD', path, at('2019-02-02'))
    assert.equal(
      ownHeaders(recent),
      `content-type ${VALIDATORS} ${SMB} x-ms-server-encrypted x-ms-type`,
    )
    const leased = await box.send('HEAD', path, at('2019-07-07'))
    assert.match(ownHeaders(leased), /x-ms-lease-state x-ms-lease-status/)
    const directory = await box.send('PUT', '/box/d?restype=directory', at('2018-11-09'))
    assert.equal(ownHeaders(directory), `${VALIDATORS} x-ms-request-server-encrypted`)
  })

  test('Put Range returns the last write time since 2021-06-08', async () => {
    await createFile('/box/written')
    const put = (version: string) =>
      box.send(
        'PUT',
        '/box/written?comp=range',
        at(version, { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0' }),
        'a',
      )
    const written = `content-md5 ${VALIDATORS}`
    assert.equal(ownHeaders(await put('2020-02-10')), `${written} x-ms-request-server-encrypted`)
    assert.equal(
      ownHeaders(await put('2021-06-08')),
      `${written} x-ms-file-last-write-time x-ms-request-server-encrypted`,
    )
  })
})

test('List Directories and Files has the name before the id, and the creation time as the last access time', async () => {
  await box.send('PUT', '/box/listed?restype=directory', NEEDED)
  await createFile('/box/listed/file')
  box.server.advance(60_000)
  await box.send('PUT', '/box/listed/file?comp=range', { 'x-ms-write': 'update', range: 'bytes=0-0' }, 'a') // prettier-ignore
  const path = '/box/listed?restype=directory&comp=list&include=timestamps'
  const { text } = await box.send('GET', path)
  assert.match(text, /<Entries><File><Name>file<\/Name><FileId>\d+<\/FileId><Properties>/)
  assert.deepEqual(xmlTexts(text, 'LastAccessTime'), xmlTexts(text, 'CreationTime'))
  assert.notDeepEqual(xmlTexts(text, 'LastWriteTime'), xmlTexts(text, 'CreationTime'))
})

describe('x-ms-file-change-time', () => {
  const T = '2022-03-10T10:14:30.5000000Z'
  const LAST_MODIFIED = 'Thu, 10 Mar 2022 10:14:30 GMT'

  test('sets Last-Modified if the file is created with it, but not if it is renamed', async () => {
    const file = await createFile('/box/timed', { 'x-ms-file-change-time': T })
    assert.equal(file.headers['last-modified'], LAST_MODIFIED)
    const replaced = await createFile('/box/timed', { 'x-ms-file-change-time': T })
    assert.equal(replaced.headers['last-modified'], LAST_MODIFIED)
    assert.notEqual(replaced.headers.etag, file.headers.etag)
    const directory = await box.send('PUT', '/box/timed-directory?restype=directory', {
      ...NEEDED,
      'x-ms-file-change-time': T,
    })
    assert.equal(directory.headers['last-modified'], LAST_MODIFIED)
    const source = `${box.server.fileEndpoint}/box/timed`
    const now = new Date(box.server.now()).toUTCString()
    const renamed = await box.send('PUT', '/box/renamed?comp=rename', {
      'x-ms-file-rename-source': source,
      'x-ms-file-change-time': T,
    })
    assert.equal(renamed.headers['last-modified'], now)
    assert.equal(renamed.headers['x-ms-file-change-time'], T)
    const copied = await box.send('PUT', '/box/copied', {
      'x-ms-copy-source': `${box.server.fileEndpoint}/box/renamed`,
      'x-ms-file-change-time': T,
    })
    assert.equal(copied.headers['last-modified'], now)
  })
})

describe('content headers:', () => {
  test('a file that is created without a type has the default one', async () => {
    await createFile('/box/typed')
    const { headers } = await box.send('HEAD', '/box/typed')
    assert.equal(headers['content-type'], 'application/octet-stream')
  })

  test('Set File Properties clears the type unless it is sent, or no header is', async () => {
    await createFile('/box/cleared')
    const set = (headers: Headers) =>
      box.send('PUT', '/box/cleared?comp=properties', { ...headers })
    const typeOf = async () =>
      (await box.send('HEAD', '/box/cleared')).headers['content-type'] ?? 'none'
    await set({ 'x-ms-content-length': '5' })
    assert.equal(await typeOf(), 'application/octet-stream')
    await set({ 'x-ms-content-disposition': 'inline', 'x-ms-content-language': 'spanish' })
    assert.equal(await typeOf(), 'none')
    assert.equal((await box.send('GET', '/box/cleared')).headers['content-type'], undefined)
    const copied = await box.send('PUT', '/box/cleared-copy', {
      'x-ms-copy-source': `${box.server.fileEndpoint}/box/cleared`,
    })
    assert.equal(copied.status, 202)
    const copy = await box.send('HEAD', '/box/cleared-copy')
    assert.equal(copy.headers['content-type'], undefined)
    assert.equal(copy.headers['content-language'], 'spanish')
    await set({ 'x-ms-content-type': 'text/plain' })
    assert.equal(await typeOf(), 'text/plain')
  })

  test('x-ms-content-md5 is stored as sent, of any length', async () => {
    const md5 = 'AQIDBA=='
    assert.equal((await createFile('/box/md5', { 'x-ms-content-md5': md5 })).status, 201)
    assert.equal((await box.send('HEAD', '/box/md5')).headers['content-md5'], md5)
    const set = (value: string) =>
      box.send('PUT', '/box/md5?comp=properties', { 'x-ms-content-md5': value })
    assert.equal((await set('AQ==')).status, 200)
    assert.equal((await box.send('HEAD', '/box/md5')).headers['content-md5'], 'AQ==')
    await assertRefused(set('no base64'), 400, 'InvalidMd5')
  })
})

describe('recorded since 2023:', () => {
  test('Create File with content returns its MD5', async () => {
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '3', ...at('2026-02-06') }
    const { status, headers: answered } = await box.send('PUT', '/box/content', headers, 'abc')
    assert.equal(status, 201)
    assert.equal(answered['content-md5'], 'kAFQmDzST7DWlj99KOF/cg==')
  })

  test('Get Permission names the format since 2024-11-04', async () => {
    const body = JSON.stringify({ permission: 'O:SYG:SYD:(A;;FA;;;SY)' })
    const created = await box.send('PUT', '/box?restype=share&comp=filepermission', {}, body)
    const key = { 'x-ms-file-permission-key': String(created.headers['x-ms-file-permission-key']) }
    const formatIn = async (version: string, headers: Headers = {}) => {
      const path = '/box?restype=share&comp=filepermission'
      const { text } = await box.send('GET', path, { ...key, ...headers, ...at(version) })
      return JSON.parse(text).format
    }
    assert.equal(await formatIn('2024-08-04'), undefined)
    assert.equal(await formatIn('2024-11-04'), 'sddl')
    const binary = { 'x-ms-file-permission-format': 'Binary' }
    assert.equal(await formatIn('2024-11-04', binary), 'binary')
  })
})
