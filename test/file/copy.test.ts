// Copy File within a server: of a file, a snapshot of one, or a blob of any type; what is copied, what the request can
// set, and that the two are independent afterwards.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import {
  FileSASPermissions,
  FileSystemAttributes,
  type FileStartCopyOptions,
  type ShareFileClient,
} from '@azure/storage-file-share'
import { assertRefused, startTestServer, type Headers, type TestServer } from '../harness.ts'
import { fileFixtureOn } from './fixture.ts'

const TIME = '2020-01-02T03:04:05.1234567Z'
const SDDL =
  'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)'

const { server, service: shares, share, ...fixture } = await fileFixtureOn(await startTestServer())
const container = await createContainer(server)
let count = 0

async function createContainer({ connectionString }: TestServer): Promise<ContainerClient> {
  const blobs = BlobServiceClient.fromConnectionString(connectionString)
  return (await blobs.createContainer('box')).containerClient
}

const fileOf = (name: string) => share.rootDirectoryClient.getFileClient(name)
const newName = () => `file-${(count += 1)}`

async function newFile(bytes: Buffer, headers: Headers = {}): Promise<ShareFileClient> {
  const file = fileOf(newName())
  const length = { 'x-ms-content-length': String(bytes.length) }
  await send(`/box/${file.path}`, { 'x-ms-type': 'file', ...length, ...headers })
  if (bytes.length > 0) await file.uploadRange(bytes, 0, bytes.length)
  return file
}

function send(path: string, headers: Headers) {
  return fixture.send('PUT', path, headers)
}

async function copy(url: string, headers: Headers = {}, to = fileOf(newName())) {
  const answer = await send(`/box/${to.path}`, { 'x-ms-copy-source': url, ...headers })
  assert.equal(answer.status, 202, answer.text)
  return { file: to, answer, properties: await to.getProperties() }
}

const LARGE = Buffer.alloc(300_000, 'large')

describe('a copy of a file', () => {
  test('has its bytes, headers and metadata, and shows its source', async () => {
    const source = await newFile(LARGE, {
      'x-ms-content-type': 'text/plain',
      'x-ms-content-language': 'de',
      'x-ms-meta-a': '1',
    })
    const { file, answer, properties } = await copy(source.url)
    assert.deepEqual(await file.downloadToBuffer(), LARGE)
    assert.equal(answer.headers['x-ms-copy-status'], 'success')
    assert.equal(answer.headers['x-ms-copy-id'], properties.copyId)
    assert.equal(answer.headers.etag, properties.etag)
    assert.equal(answer.headers['last-modified'], properties.lastModified?.toUTCString())
    assert.equal(properties.copySource, source.url)
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.copyProgress, '300000/300000')
    assert.ok(properties.copyCompletedOn)
    assert.equal(properties.contentType, 'text/plain')
    assert.equal(properties.contentLanguage, 'de')
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.equal((await file.download()).copyId, properties.copyId)
  })

  test('keeps its holes', async () => {
    const source = fileOf(newName())
    await source.create(2 ** 40)
    await source.uploadRange('here', 2 ** 39, 4)
    const { file } = await copy(source.url)
    const start = 2 ** 39
    assert.deepEqual((await file.getRangeList()).rangeList, [{ start, end: start + 3 }])
    const empty = fileOf(newName())
    await empty.create(1_000)
    assert.deepEqual((await copy(empty.url)).properties.contentLength, 1_000)
  })

  test('is independent of it', async () => {
    const source = await newFile(LARGE)
    const { file } = await copy(source.url)
    await source.uploadRange('source', 10, 6)
    await file.uploadRange('copy', 20, 4)
    await file.clearRange(1_024, 4_096)
    const [one, other] = [Buffer.from(LARGE), Buffer.from(LARGE)]
    one.write('source', 10)
    other.write('copy', 20)
    other.fill(0, 1_024, 5_120)
    assert(one.equals(await source.downloadToBuffer()))
    assert(other.equals(await file.downloadToBuffer()))
    await source.delete()
    for (let pass = 0; pass < 3; pass += 1) await server.sweep()
    assert(other.equals(await file.downloadToBuffer()))
  })

  test('in a snapshot has its content at that time', async () => {
    const source = await newFile(Buffer.from('before'))
    const { snapshot = '' } = await share.createSnapshot()
    await source.uploadRange('after!', 0, 6)
    const url = `${source.url}?sharesnapshot=${encodeURIComponent(snapshot)}`
    assert.equal((await (await copy(url)).file.downloadToBuffer()).toString(), 'before')
  })

  test('replaces another file, which keeps its id and its snapshots', async () => {
    const target = await newFile(Buffer.from('old and longer'), { 'x-ms-meta-old': '1' })
    const before = await target.getProperties()
    const { snapshot = '' } = await share.createSnapshot()
    const source = await newFile(Buffer.from('new'))
    const { properties } = await copy(source.url, {}, target)
    assert.equal((await target.downloadToBuffer()).toString(), 'new')
    assert.equal(properties.fileId, before.fileId)
    assert.deepEqual(properties.metadata, {})
    const past = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient(target.name)
    assert.equal((await past.downloadToBuffer()).toString(), 'old and longer')
  })

  test('can replace itself with other metadata', async () => {
    const file = await newFile(Buffer.from('same'))
    const { properties } = await copy(file.url, { 'x-ms-meta-b': '2' }, file)
    assert.deepEqual(properties.metadata, { b: '2' })
    assert.equal((await file.downloadToBuffer()).toString(), 'same')
  })

  test('can be made with a SAS to another share', async () => {
    const other = shares.getShareClient('other')
    await other.createIfNotExists()
    const source = await newFile(Buffer.from('bytes'))
    const permissions = FileSASPermissions.parse('r')
    const expiresOn = new Date(server.now() + 3_600_000)
    const url = await source.generateSasUrl({ permissions, expiresOn })
    const target = other.rootDirectoryClient.getFileClient('copy')
    const { copyStatus } = await target.startCopyFromURL(url)
    assert.equal(copyStatus, 'success')
    assert.equal((await target.downloadToBuffer()).toString(), 'bytes')
  })

  test('counts towards the usage of the share', async () => {
    const small = shares.getShareClient('small')
    await small.create({ quota: 1 })
    const source = fileOf(newName())
    await source.create(600 * 2 ** 20)
    const [a, b] = ['a', 'b'].map((name) => small.rootDirectoryClient.getFileClient(name))
    await a?.startCopyFromURL(source.url)
    await a?.startCopyFromURL(source.url)
    await assert.rejects(b?.startCopyFromURL(source.url) ?? Promise.resolve(), {
      statusCode: 409,
      code: 'ShareSizeLimitReached',
    })
  })
})

describe('attributes and times of a copy:', () => {
  const hidden = { 'x-ms-file-attributes': 'Hidden', 'x-ms-file-creation-time': TIME }
  const overrides = { ...hidden, 'x-ms-file-last-write-time': TIME, 'x-ms-file-change-time': TIME }
  const restored = { ...overrides, 'x-ms-file-property-semantics': 'Restore' }
  // prettier-ignore
  const COPIES: readonly [headers: Headers, attributes: string, isTimeKept: boolean][] = [
    [{},                                                                          'Archive',          false],
    [{ 'x-ms-file-attributes': 'source' },                                        'Hidden',           false],
    [{ 'x-ms-file-attributes': 'Source', 'x-ms-file-copy-set-archive': 'true' },  'Hidden | Archive', false],
    [{ 'x-ms-file-attributes': 'None' },                                          'Archive',          false],
    [{ 'x-ms-file-attributes': 'System' },                                        'System | Archive', false],
    [{ 'x-ms-file-attributes': 'System', 'x-ms-file-copy-set-archive': 'false' }, 'System',           false],
    [{ 'x-ms-file-attributes': 'None', 'x-ms-file-copy-set-archive': 'true' },    'Archive',          false],
    [overrides,                                                                       'Hidden | Archive', true],
    [Object.fromEntries(Object.keys(overrides).map((name) => [name, 'source'])),      'Hidden',           true],
  ]
  for (const [headers, attributes, isTimeKept] of COPIES) {
    test(`${JSON.stringify(headers)} → ${attributes}`, async () => {
      const source = await newFile(Buffer.alloc(0), restored)
      const { file } = await copy(source.url, headers)
      const { headers: returned } = await fixture.send('HEAD', `/box/${file.path}`)
      assert.equal(returned['x-ms-file-attributes'], attributes)
      const now = new Date(server.now()).toISOString().replace('Z', '0000Z')
      for (const name of ['creation', 'last-write', 'change']) {
        assert.equal(returned[`x-ms-file-${name}-time`], isTimeKept ? TIME : now, name)
      }
    })
  }

  test('the permission is copied by value, also to another share', async () => {
    const other = shares.getShareClient('permissions')
    await other.create()
    const source = await newFile(Buffer.alloc(0), { 'x-ms-file-permission': SDDL })
    const target = other.rootDirectoryClient.getFileClient('copy')
    const keyAfter = async (options: FileStartCopyOptions) => {
      await target.startCopyFromURL(source.url, options)
      return (await target.getProperties()).filePermissionKey ?? ''
    }
    const inherited = await keyAfter({})
    const taken = await keyAfter({ copyFileSmbInfo: { filePermissionCopyMode: 'source' } })
    assert.notEqual(taken, inherited)
    const { filePermissionKey = '' } = await source.getProperties()
    const { permission } = await share.getPermission(filePermissionKey)
    assert.equal((await other.getPermission(taken)).permission, permission)
    const override = { copyFileSmbInfo: { filePermissionCopyMode: 'override' } } as const
    const byKey = { ...override, filePermissionKey: inherited }
    assert.equal(await keyAfter(byKey), inherited)
    assert.equal(await keyAfter({ ...override, filePermission: SDDL }), taken)
  })
})

describe('a copy of a blob', () => {
  const MIB = 2 ** 20
  const bytesOf = async (url: string) => (await copy(url)).file.downloadToBuffer()

  for (const length of [0, 100, 100_000]) {
    test(`of ${length} bytes in one part`, async () => {
      const blob = container.getBlockBlobClient(newName())
      const bytes = Buffer.alloc(length, 'blob')
      const blobHTTPHeaders = { blobContentType: 'text/css' }
      await blob.upload(bytes, length, { metadata: { c: '3' }, blobHTTPHeaders })
      const { file, properties } = await copy(blob.url)
      assert.deepEqual(await file.downloadToBuffer(), bytes)
      assert.equal(properties.contentType, 'text/css')
      assert.deepEqual(properties.metadata, { c: '3' })
      await file.resize(length + 10)
      await file.uploadRange('more', length, 4)
      assert.deepEqual(await blob.downloadToBuffer(), bytes)
    })
  }

  test('of many blocks can be partly overwritten', async () => {
    const blob = container.getBlockBlobClient(newName())
    const ids = Array.from({ length: 100 }, (_, n) =>
      Buffer.from(String(n).padStart(4)).toString('base64'),
    )
    for (const id of ids) await blob.stageBlock(id, id, id.length)
    await blob.commitBlockList(ids)
    const { file } = await copy(blob.url)
    const expected = Buffer.from(ids.join(''))
    assert.deepEqual(await file.downloadToBuffer(), expected)
    await file.uploadRange('xyz', 10, 3)
    expected.write('xyz', 10)
    assert.deepEqual(await file.downloadToBuffer(), expected)
    assert.equal((await blob.downloadToBuffer()).toString(), ids.join(''))
  })

  test('can be of pages, appended blocks or a snapshot', async () => {
    const pages = container.getPageBlobClient(newName())
    await pages.create(MIB)
    await pages.uploadPages('p'.repeat(512), 1_024, 512)
    const { file } = await copy(pages.url)
    assert.deepEqual((await file.getRangeList()).rangeList, [{ start: 1_024, end: 1_535 }])
    const appended = container.getAppendBlobClient(newName())
    await appended.create()
    for (const line of ['one', 'two']) await appended.appendBlock(line, 3)
    const { snapshot = '' } = await appended.createSnapshot()
    await appended.appendBlock('three', 5)
    assert.equal((await bytesOf(appended.url)).toString(), 'onetwothree')
    assert.equal((await bytesOf(appended.withSnapshot(snapshot).url)).toString(), 'onetwo')
  })

  test('that is encrypted stores the decrypted content', async () => {
    const own = await fileFixtureOn(await startTestServer({ encryptionScopes: ['scope'] }))
    const blob = (await createContainer(own.server)).getBlockBlobClient('blob')
    await blob.upload('secret', 6, { encryptionScope: 'scope' })
    const file = own.share.rootDirectoryClient.getFileClient('file')
    await file.startCopyFromURL(blob.url)
    assert.equal((await file.downloadToBuffer()).toString(), 'secret')
  })
})

describe('Copy File is refused:', () => {
  const source = async () => (await newFile(Buffer.from('x'))).url
  // prettier-ignore
  const REFUSED: readonly [what: string, path: string, headers: Headers, status: number, code: string][] = [
    ['override without a permission', '/box/a', { 'x-ms-file-permission-copy-mode': 'override' }, 400, 'MissingRequiredHeader'],
    ['an unknown mode',                '/box/a', { 'x-ms-file-permission-copy-mode': 'keep' },     400, 'InvalidHeaderValue'],
    ['an unknown attribute',           '/box/a', { 'x-ms-file-attributes': 'Blue' },               400, 'InvalidHeaderValue'],
    ['an invalid time',                '/box/a', { 'x-ms-file-creation-time': 'now' },             400, 'InvalidHeaderValue'],
    ['a condition',                    '/box/a', { 'if-none-match': '*' },                         400, 'ConditionHeadersNotSupported'],
    ['a lease id without a lease',     '/box/a', { 'x-ms-lease-id': '11111111-aaaa-4aaa-8aaa-111111111111' }, 412, 'LeaseNotPresentWithFileOperation'],
    ['a missing parent',               '/box/no/a', {}, 404, 'ParentNotFound'],
    ['a missing share',                '/none/a',   {}, 404, 'ShareNotFound'],
    ['a directory with that name',     '/box/folder', {}, 409, 'ResourceTypeMismatch'],
    ['an invalid URL',                 '/box/a', { 'x-ms-copy-source': 'file' }, 400, 'InvalidHeaderValue'],
  ]
  for (const [what, path, headers, status, code] of REFUSED) {
    test(what, async () => {
      await share.getDirectoryClient('folder').createIfNotExists()
      await assertRefused(
        send(path, { 'x-ms-copy-source': await source(), ...headers }),
        status,
        code,
      )
      assert.equal(await fileOf('a').exists(), false)
    })
  }

  test('a source that is missing or a directory', async () => {
    await share.getDirectoryClient('folder').createIfNotExists()
    for (const [name, status] of [
      ['none', 404],
      ['folder', 409],
    ] as const) {
      const sent = send('/box/a', { 'x-ms-copy-source': fileOf(name).url })
      await assertRefused(sent, status, 'CannotVerifyCopySource')
    }
  })

  test('a read-only destination, unless the request ignores that', async () => {
    const readOnly = { 'x-ms-file-attributes': 'ReadOnly' }
    for (const name of ['x-ms-file-copy-ignore-readonly', 'x-ms-file-copy-ignore-read-only']) {
      const target = fileOf(newName())
      await target.create(1, { fileAttributes: FileSystemAttributes.parse('ReadOnly') })
      const sent = { 'x-ms-copy-source': await source(), ...readOnly }
      await assertRefused(send(`/box/${target.path}`, sent), 409, 'ReadOnlyAttribute')
      assert.equal((await send(`/box/${target.path}`, { ...sent, [name]: 'true' })).status, 202)
    }
  })

  test('overwriting a file with a SAS that can only create', async () => {
    const [target, url] = [fileOf(newName()), await source()]
    const expiresOn = new Date(server.now() + 3_600_000)
    const permissions = FileSASPermissions.parse('c')
    const { search: sign } = new URL(await target.generateSasUrl({ permissions, expiresOn }))
    const from = await fileOf(new URL(url).pathname.split('/').at(-1) ?? '').generateSasUrl({
      permissions: FileSASPermissions.parse('r'),
      expiresOn,
    })
    const headers = { 'x-ms-copy-source': from }
    const create = () => fixture.send('PUT', `/box/${target.path}`, headers, undefined, sign)
    assert.equal((await create()).status, 202)
    await assertRefused(create(), 403, 'AuthorizationPermissionMismatch')
  })

  test('aborting a copy that is not pending', async () => {
    const { file, answer } = await copy(await source())
    const id = String(answer.headers['x-ms-copy-id'])
    await assert.rejects(file.abortCopyFromURL(id), {
      statusCode: 409,
      code: 'NoPendingCopyOperation',
    })
  })
})
