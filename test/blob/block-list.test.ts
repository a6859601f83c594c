// Put Block List and Get Block List: which blocks make up the blob, which properties a commit sets, and what each list
// shows.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY, xmlTexts, md5Of, type Headers, assertRefused } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

const idOf = (text: string) => Buffer.from(text).toString('base64')

/** Puts a block for each letter, with the letter and `mark` as its content. */
async function stage(blob: string, letters: string, mark = ''): Promise<void> {
  for (const letter of letters) {
    const path = `/box/${blob}?comp=block&blockid=${encodeURIComponent(idOf(letter))}`
    assert.equal((await send('PUT', path, {}, letter + mark)).status, 201)
  }
}

/** `L:a C:b U:c` as the XML of a block list. */
function listXml(list: string): string {
  const places: Headers = { L: 'Latest', C: 'Committed', U: 'Uncommitted' }
  const items = list.split(' ').filter((item) => item !== '')
  const blocks = items.map((item) => {
    const place = places[item[0] ?? '']
    return `<${place}>${idOf(item.slice(2))}</${place}>`
  })
  return `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks.join('')}</BlockList>`
}

const versioningXml = (isEnabled: boolean) =>
  `<StorageServiceProperties><IsVersioningEnabled>${isEnabled}</IsVersioningEnabled></StorageServiceProperties>`

const commit = (blob: string, list: string, headers: Headers = {}, sign?: string) =>
  send('PUT', `/box/${blob}?comp=blocklist`, headers, listXml(list), sign)

async function content(blob: string): Promise<string> {
  const { status, text } = await send('GET', `/box/${blob}`)
  return status === 200 ? text : String(status)
}

/** The ids of each list, as letters; undefined for a list that the response does not have. */
function listsOf(xml: string) {
  const letters = (element: string) => {
    const [, inside] = new RegExp(`<${element}(?: />|>(.*)</${element}>)`).exec(xml) ?? []
    if (!xml.includes(`<${element}`)) return undefined
    return xmlTexts(inside ?? '', 'Name').map((id) => Buffer.from(id, 'base64').toString())
  }
  return [letters('CommittedBlocks')?.join(''), letters('UncommittedBlocks')?.join('')]
}

async function lists(blob: string, query = '&blocklisttype=all') {
  const { status, text } = await send('GET', `/box/${blob}?comp=blocklist${query}`)
  return status === 200 ? listsOf(text) : status
}

describe('the blocks of the list', () => {
  // The blob was committed from a, b, c; then b, c, d were staged with a mark.
  // prettier-ignore
  const COMMITS: readonly (readonly [list: string, outcome: string])[] = [
    ['L:a L:b L:c L:d', 'ab2c2d2'],
    ['C:a C:b U:b U:d', 'abb2d2'],
    ['U:d C:c C:b C:a', 'd2cba'],
    ['L:d L:d C:a C:a', 'd2d2aa'],
    ['', ''],
    ['C:d', 'InvalidBlockList'],
    ['U:a', 'InvalidBlockList'],
    ['L:e', 'InvalidBlockList'],
    ['L:a L:b L:e', 'InvalidBlockList'],
  ]
  for (const [at, [list, outcome]] of COMMITS.entries()) {
    test(`[${list}] → ${outcome === '' ? 'an empty blob' : outcome}`, async () => {
      const blob = `commit-${at}`
      await stage(blob, 'abc')
      await commit(blob, 'L:a L:b L:c')
      await stage(blob, 'bcd', '2')
      const { status, headers } = await commit(blob, list)
      if (outcome === 'InvalidBlockList') {
        assert.deepEqual([status, headers['x-ms-error-code']], [400, outcome])
        assert.equal(await content(blob), 'abc')
        assert.deepEqual(await lists(blob), ['abc', 'bcd'])
        return
      }
      assert.equal(status, 201)
      assert.equal(await content(blob), outcome)
      const order = list
        .split(' ')
        .map((item) => item.slice(2))
        .join('')
      assert.deepEqual(await lists(blob), [order, ''])
    })
  }

  test('cannot be those of a blob written by Put Blob', async () => {
    await send('PUT', '/box/whole', BLOCK_BLOB, 'whole')
    assert.deepEqual(await lists('whole'), ['', ''])
    await stage('whole', 'a')
    assert.equal((await commit('whole', 'U:a')).status, 201)
    assert.equal(await content('whole'), 'a')
  })

  test('can be many, in any order, and every range of the blob is right', async () => {
    const blob = container.getBlockBlobClient('many')
    const ids = Array.from({ length: 600 }, (_, i) => idOf(String(i).padStart(4, '0')))
    const bodies = ids.map((_, i) => `${i},`.repeat((i % 5) + 1))
    for (let at = 0; at < ids.length; at += 50) {
      const some = ids.slice(at, at + 50)
      await Promise.all(
        some.map((id, i) => {
          const body = bodies[at + i] ?? ''
          return blob.stageBlock(id, body, body.length)
        }),
      )
    }
    await blob.commitBlockList(ids)
    await blob.commitBlockList(ids.toReversed())
    const whole = bodies.toReversed().join('')
    assert.equal(String(await blob.downloadToBuffer()), whole)
    for (const [from, count] of [
      [0, 1],
      [700, 1_500],
      [whole.length - 3, 3],
    ] as const) {
      assert.equal(
        String(await blob.downloadToBuffer(from, count)),
        whole.slice(from, from + count),
      )
    }
    const { committedBlocks = [] } = await blob.getBlockList('committed')
    assert.deepEqual(
      committedBlocks.map(({ name }) => name),
      ids.toReversed(),
    )
    assert.equal(committedBlocks[599]?.size, bodies[0]?.length)
  })
})

describe('a commit', () => {
  test('by the SDK sets headers, metadata, tags and tier', async () => {
    const blob = container.getBlockBlobClient('set')
    await stage('set', 'a')
    const blobHTTPHeaders = {
      blobContentType: 'text/plain',
      blobContentLanguage: 'de',
      blobContentEncoding: 'identity',
      blobContentDisposition: 'inline',
      blobCacheControl: 'no-store',
      // Not the MD5 of these bytes: the service stores any value.
      blobContentMD5: createHash('md5').update('other').digest(),
    }
    const metadata = { one: '1' }
    await blob.commitBlockList([idOf('a')], {
      blobHTTPHeaders,
      metadata,
      tags: { k: 'v' },
      tier: 'Cool',
    })
    const got = await blob.getProperties()
    assert.equal(got.contentType, 'text/plain')
    assert.equal(got.contentLanguage, 'de')
    assert.equal(got.contentEncoding, 'identity')
    assert.equal(got.contentDisposition, 'inline')
    assert.equal(got.cacheControl, 'no-store')
    assert.equal(Buffer.from(got.contentMD5 ?? []).toString('base64'), md5Of('other'))
    assert.deepEqual([got.metadata, got.tagCount, got.accessTier], [metadata, 1, 'Cool'])
    assert.equal(got.contentLength, 1)
    // The next commit sets none of these: all are cleared except the tier.
    server.advance(2_000)
    const again = await blob.commitBlockList([idOf('a')])
    const after = await blob.getProperties()
    assert.notEqual(again.etag, got.etag)
    assert.equal(after.lastModified?.getTime(), Math.floor(server.now() / 1_000) * 1_000)
    assert.equal(after.createdOn?.getTime(), got.createdOn?.getTime())
    assert.equal(after.contentType, 'application/octet-stream')
    assert.deepEqual([after.contentMD5, after.contentLanguage], [undefined, undefined])
    assert.deepEqual([after.metadata, after.tagCount, after.accessTier], [{}, undefined, 'Cool'])
  })

  test('takes plain headers as those of the list, not of the blob', async () => {
    await stage('plain', 'a')
    const headers = {
      'Content-Type': 'application/xml',
      'Content-Language': 'fr',
      'Content-MD5': md5Of(listXml('L:a')),
    }
    const { status, headers: answered } = await commit('plain', 'L:a', headers)
    assert.equal(status, 201)
    assert.equal(answered['content-md5'], headers['Content-MD5'])
    assert.match(String(answered.etag), /^"0x/)
    assert.equal(answered['last-modified'], new Date(server.now()).toUTCString())
    assert.equal(answered['x-ms-request-server-encrypted'], 'false')
    const got = await send('HEAD', '/box/plain')
    assert.equal(got.headers['content-type'], 'application/octet-stream')
    assert.deepEqual(
      [got.headers['content-language'], got.headers['content-md5']],
      [undefined, undefined],
    )
  })

  test('can set an immutability policy and a legal hold, which then prevent the next commit', async () => {
    const until = new Date(server.now() + 3_600_000).toUTCString()
    const headers = { 'x-ms-immutability-policy-until-date': until, 'x-ms-legal-hold': 'true' }
    await stage('held', 'a')
    assert.equal((await commit('held', 'L:a', headers)).status, 201)
    const got = await send('HEAD', '/box/held')
    assert.equal(got.headers['x-ms-immutability-policy-until-date'], until)
    assert.equal(got.headers['x-ms-legal-hold'], 'true')
    await assertRefused(commit('held', 'C:a'), 409, 'BlobImmutableDueToLegalHold')
  })

  test('keeps snapshots and their blocks', async () => {
    const blob = container.getBlockBlobClient('snapped')
    await stage('snapped', 'ab')
    await commit('snapped', 'L:a L:b')
    const { snapshot = '' } = await blob.createSnapshot()
    await stage('snapped', 'c')
    await commit('snapped', 'C:b U:c')
    assert.equal(String(await blob.withSnapshot(snapshot).downloadToBuffer()), 'ab')
    assert.equal(await content('snapped'), 'bc')
    const query = `&blocklisttype=all&snapshot=${encodeURIComponent(snapshot)}`
    await stage('snapped', 'd')
    assert.deepEqual(await lists('snapped', query), ['ab', ''])
    assert.deepEqual(await lists('snapped'), ['bc', 'd'])
  })

  test('creates a version with versioning, while Put Block does not', async (t) => {
    const setVersioning = (isEnabled: boolean) =>
      send('PUT', '?restype=service&comp=properties', {}, versioningXml(isEnabled))
    assert.equal((await setVersioning(true)).status, 202)
    t.after(() => setVersioning(false))
    await stage('versions', 'a')
    const first = (await commit('versions', 'L:a')).headers['x-ms-version-id']
    assert.ok(first !== undefined)
    await stage('versions', 'b')
    assert.equal((await send('HEAD', '/box/versions')).headers['x-ms-version-id'], first)
    const second = (await commit('versions', 'C:a U:b')).headers['x-ms-version-id']
    assert.notEqual(second, first)
    assert.deepEqual(await lists('versions', `&versionid=${encodeURIComponent(String(first))}`), [
      'a',
      undefined,
    ])
  })
})

describe('a commit is refused:', () => {
  test('conditions apply to the committed blob, not to uncommitted blocks', async () => {
    await stage('guarded', 'a')
    await assertRefused(commit('guarded', 'L:a', { 'If-Match': '*' }), 412, 'ConditionNotMet')
    const created = await commit('guarded', 'L:a', { 'If-None-Match': '*' })
    assert.equal(created.status, 201)
    await stage('guarded', 'b')
    const etag = String(created.headers.etag)
    await assertRefused(
      commit('guarded', 'L:b', { 'If-None-Match': '*' }),
      409,
      'BlobAlreadyExists',
    )
    await assertRefused(commit('guarded', 'L:b', { 'If-None-Match': etag }), 412, 'ConditionNotMet')
    await assertRefused(commit('guarded', 'L:b', { 'If-Match': '"0x1"' }), 412, 'ConditionNotMet')
    await assertRefused(
      commit('guarded', 'L:b', { 'x-ms-if-tags': `k = 'v'` }),
      412,
      'ConditionNotMet',
    )
    assert.deepEqual(await lists('guarded'), ['a', 'b'])
    assert.equal((await commit('guarded', 'L:b', { 'If-Match': etag })).status, 201)
  })

  // prettier-ignore
  const REFUSED: readonly (readonly [what: string, body: string, headers: Headers, status: number, code: string])[] = [
    ['no body', '', {}, 400, 'InvalidXmlDocument'],
    ['a body that is not XML', 'blocks', {}, 400, 'InvalidXmlDocument'],
    ['a wrong MD5 of the list', listXml('L:a'), { 'Content-MD5': md5Of('other') }, 400, 'Md5Mismatch'],
    ['a wrong CRC-64 of the list', listXml('L:a'), { 'x-ms-content-crc64': 'AAAAAAAAAAA=' }, 400, 'Crc64Mismatch'],
    ['invalid metadata', listXml('L:a'), { 'x-ms-meta-a-b': 'x' }, 400, 'InvalidMetadata'],
    ['an unknown tier', listXml('L:a'), { 'x-ms-access-tier': 'Warm' }, 400, 'InvalidHeaderValue'],
    ['50,001 blocks', listXml('L:a '.repeat(50_001)), {}, 400, 'BlockListTooLong'],
  ]
  for (const [what, body, headers, status, code] of REFUSED) {
    test(`${what}: ${status} ${code}`, async () => {
      await stage('refused', 'a')
      await assertRefused(send('PUT', '/box/refused?comp=blocklist', headers, body), status, code)
      assert.deepEqual(await lists('refused'), ['', 'a'])
    })
  }

  test('no container, a page blob, an append blob, an archived blob, a snapshot', async () => {
    const nowhere = send('PUT', '/none/b?comp=blocklist', {}, listXml(''))
    await assertRefused(nowhere, 404, 'ContainerNotFound')
    const page = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }
    await send('PUT', '/box/page', page)
    await send('PUT', '/box/append', { 'x-ms-blob-type': 'AppendBlob' })
    for (const blob of ['page', 'append']) {
      await assertRefused(commit(blob, ''), 409, 'InvalidBlobType')
      await assertRefused(send('GET', `/box/${blob}?comp=blocklist`), 409, 'InvalidBlobType')
    }
    await send('PUT', '/box/cold', { ...BLOCK_BLOB, 'x-ms-access-tier': 'Archive' }, 'x')
    await assertRefused(commit('cold', ''), 409, 'BlobArchived')
    await assertRefused(send('GET', '/box/cold?comp=blocklist'), 409, 'BlobArchived')
    const snapshot = '/box/b?comp=blocklist&snapshot=2020-01-01T00:00:00.0000000Z'
    await assertRefused(send('PUT', snapshot, {}, listXml('')), 400, 'InvalidQueryParameterValue')
  })

  test('a SAS with create permission can commit a new blob but not replace one', async () => {
    const sign = generateBlobSASQueryParameters(
      {
        containerName: 'box',
        permissions: ContainerSASPermissions.parse('c'),
        expiresOn: new Date(server.now() + 60_000),
      },
      new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    ).toString()
    await stage('created', 'a')
    assert.equal((await commit('created', 'L:a', {}, sign)).status, 201)
    await assertRefused(commit('created', 'C:a', {}, sign), 403, 'UnauthorizedBlobOverwrite')
    const tagged = commit('tagged', '', { 'x-ms-tags': 'k=v' }, sign)
    await assertRefused(tagged, 403, 'AuthorizationPermissionMismatch')
  })
})
