// Get and Set Blob Tags, and tags set by Put Blob: valid tags, conditions and permissions. Tags do not change a blob's
// ETag.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobSASPermissions } from '@azure/storage-blob'
import { crc64Hasher } from '../../src/extent/hash/hash.ts'
import { md5Of, outcome, rawRequest, xmlText, xmlTexts, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture, VERSIONING } from './fixture.ts'
import { A } from './lease-table.ts'

const { server, container, send } = await startBlobFixture()
let count = 0

async function newBlob(headers: Headers = {}): Promise<string> {
  const path = `/box/tagged-${(count += 1)}`
  const put = await send('PUT', path, { ...BLOCK_BLOB, ...headers }, 'text')
  assert.equal(put.status, 201)
  return path
}

const tag = (name: string, value: string) => `<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`
const tags = (inner: string) => `<Tags><TagSet>${inner}</TagSet></Tags>`
const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'

function setTags(path: string, body: string, headers: Headers = {}, query = '') {
  return send('PUT', `${path}?comp=tags${query}`, headers, body)
}

async function tagsOf(path: string, query = ''): Promise<string> {
  const answer = await send('GET', `${path}?comp=tags${query}`)
  assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/xml'])
  assert.ok(answer.text.startsWith(DECLARATION))
  return answer.text.slice(DECLARATION.length)
}

describe('the SDK', () => {
  test('sets tags, reads them and replaces them as a whole', async () => {
    const blob = container.getBlockBlobClient('sdk')
    await blob.upload('text', 4, { tags: { first: '1' } })
    assert.deepEqual((await blob.getTags()).tags, { first: '1' })
    await blob.setTags({ 'a b': '+ - . / : = _', empty: '' })
    assert.deepEqual((await blob.getTags()).tags, { 'a b': '+ - . / : = _', empty: '' })
    assert.equal((await blob.getProperties()).tagCount, 2)
    await blob.setTags({})
    assert.deepEqual((await blob.getTags()).tags, {})
    assert.equal((await blob.getProperties()).tagCount, undefined)
  })

  test('sends conditions on the blob', async () => {
    const blob = container.getBlockBlobClient('sdk-conditions')
    const { etag = '' } = await blob.upload('text', 4)
    await blob.setTags({ a: '1' }, { conditions: { ifMatch: etag } })
    const other = { conditions: { ifMatch: '"0x1"' } }
    await assert.rejects(blob.setTags({ a: '2' }, other), { statusCode: 412 })
    await assert.rejects(blob.getTags(other), { statusCode: 412, code: 'ConditionNotMet' })
    assert.deepEqual((await blob.getTags({ conditions: { ifMatch: etag } })).tags, { a: '1' })
  })
})

test('setting tags changes neither the ETag nor Last-Modified nor anything else', async () => {
  const path = await newBlob({ 'x-ms-meta-kept': 'yes' })
  const before = await send('GET', path)
  server.advance(5_000)
  const set = await setTags(path, tags(tag('a', '1')))
  assert.deepEqual([set.status, set.text, set.headers.etag], [204, '', undefined])
  const after = await send('GET', path)
  for (const name of ['etag', 'last-modified', 'x-ms-meta-kept', 'content-md5']) {
    assert.equal(after.headers[name], before.headers[name], name)
  }
  assert.deepEqual([after.text, after.headers['x-ms-tag-count']], ['text', '1'])
  assert.equal(before.headers['x-ms-tag-count'], undefined)
})

describe('Set Blob Tags with', () => {
  const many = (n: number) => Array.from({ length: n }, (_, i) => tag(`t${i}`, 'v')).join('')
  const BODIES: readonly (readonly [title: string, body: string, expected: string])[] = [
    ['none', tags(''), '204'],
    ['ten', tags(many(10)), '204'],
    ['eleven', tags(many(11)), '400 TagsTooLarge'],
    ['a name of 128 characters', tags(tag('n'.repeat(128), 'v')), '204'],
    ['a name of 129 characters', tags(tag('n'.repeat(129), 'v')), '400 TagsTooLarge'],
    ['a value of 256 characters', tags(tag('n', 'v'.repeat(256))), '204'],
    ['a value of 257 characters', tags(tag('n', 'v'.repeat(257))), '400 TagsTooLarge'],
    ['an empty name', tags(tag('', 'v')), '400 EmptyTagName'],
    ['an empty value', tags(tag('n', '')), '204'],
    ['all valid characters', tags(tag('aZ09 +-./:=_', 'aZ09 +-./:=_')), '204'],
    ['an invalid character', tags(tag('n', 'a,b')), '400 InvalidTag'],
    ['a letter that is not ASCII', tags(tag('ö', 'v')), '400 InvalidTag'],
    ['a name twice', tags(tag('n', '1') + tag('n', '2')), '400 DuplicateTagNames'],
    ['names that differ in case', tags(tag('n', '1') + tag('N', '2')), '204'],
    ['no body', '', '400 InvalidXmlDocument'],
    ['another document', '<TagSet/>', '400 InvalidXmlDocument'],
    ['half a document', '<Tags><TagSet>', '400 InvalidXmlDocument'],
    ['a body that is too long', tags(' '.repeat(70_000)), '413 RequestBodyTooLarge'],
  ]
  for (const [title, body, expected] of BODIES) {
    test(`${title} → ${expected}`, async () => {
      const path = await newBlob({ 'x-ms-tags': 'was=there' })
      assert.equal(outcome(await setTags(path, body)), expected)
      if (expected !== '204') assert.equal(await tagsOf(path), tags(tag('was', 'there')))
      else if (body === tags('')) assert.equal(await tagsOf(path), '<Tags><TagSet /></Tags>')
      else assert.equal((await tagsOf(path)).replaceAll('<Value />', '<Value></Value>'), body)
    })
  }
})

describe('checksums of the body:', () => {
  const body = tags(tag('a', '1'))
  const crc64 = (text: string) => {
    const hasher = crc64Hasher()
    hasher.update(Buffer.from(text))
    return hasher.digest().toString('base64')
  }
  const SUMS: readonly (readonly [Headers, string])[] = [
    [{ 'Content-MD5': md5Of(body) }, '204'],
    [{ 'Content-MD5': md5Of('other') }, '400 Md5Mismatch'],
    [{ 'Content-MD5': 'short' }, '400 InvalidMd5'],
    [{ 'x-ms-content-crc64': crc64(body) }, '204'],
    [{ 'x-ms-content-crc64': crc64('other') }, '400 Crc64Mismatch'],
    [{ 'Content-MD5': md5Of(body), 'x-ms-content-crc64': crc64(body) }, '400 BothCrc64AndMd5HeaderPresent'],
  ] // prettier-ignore
  for (const [headers, expected] of SUMS) {
    test(`${Object.keys(headers).join(', ')} → ${expected}`, async () => {
      const path = await newBlob()
      assert.equal(outcome(await setTags(path, body, headers)), expected)
      assert.equal(await tagsOf(path), expected === '204' ? body : '<Tags><TagSet /></Tags>')
    })
  }
})

describe('conditions on tags:', () => {
  type At = { readonly etag: string; readonly modifiedMs: number }
  const date = (timeMs: number) => new Date(timeMs).toUTCString()
  const UNMET = '412 ConditionNotMet'
  const SAME = '304 ConditionNotMet'
  const MANY = '400 MultipleConditionHeadersNotSupported'
  const PLAIN = '400 ConditionHeadersNotSupported'
  // Conditions on the blob have a prefix, since plain headers would refer to the tags.
  const CONDITIONS: readonly (readonly [string, (at: At) => Headers, get: string, set: string])[] = [
    ['match', ({ etag }) => ({ 'x-ms-blob-if-match': etag }), '200', '204'],
    ['match any', () => ({ 'x-ms-blob-if-match': '*' }), '200', '204'],
    ['match another', () => ({ 'x-ms-blob-if-match': '"0x1"' }), UNMET, UNMET],
    ['none match another', () => ({ 'x-ms-blob-if-none-match': '"0x1"' }), '200', '204'],
    ['none match it', ({ etag }) => ({ 'x-ms-blob-if-none-match': etag }), SAME, UNMET],
    ['modified since before', (at) => ({ 'x-ms-blob-if-modified-since': date(at.modifiedMs - 1000) }), '200', '204'],
    ['modified since then', (at) => ({ 'x-ms-blob-if-modified-since': date(at.modifiedMs) }), SAME, UNMET],
    ['unmodified since then', (at) => ({ 'x-ms-blob-if-unmodified-since': date(at.modifiedMs) }), '200', '204'],
    ['unmodified since before', (at) => ({ 'x-ms-blob-if-unmodified-since': date(at.modifiedMs - 1000) }), UNMET, UNMET],
    ['match, and none match', ({ etag }) => ({ 'x-ms-blob-if-match': etag, 'x-ms-blob-if-none-match': '"0x1"' }), '200', MANY],
    ['If-Match', ({ etag }) => ({ 'If-Match': etag }), PLAIN, PLAIN],
    ['If-None-Match', () => ({ 'If-None-Match': '"0x1"' }), PLAIN, PLAIN],
    ['If-Modified-Since', (at) => ({ 'If-Modified-Since': date(at.modifiedMs - 1000) }), PLAIN, PLAIN],
    ['If-Unmodified-Since', (at) => ({ 'If-Unmodified-Since': date(at.modifiedMs) }), PLAIN, PLAIN],
  ] // prettier-ignore
  for (const [title, headers, get, set] of CONDITIONS) {
    test(`${title} → ${get}, ${set}`, async () => {
      const path = await newBlob({ 'x-ms-tags': 'was=there' })
      const { headers: got } = await send('HEAD', path)
      const at = { etag: got.etag ?? '', modifiedMs: Date.parse(got['last-modified'] ?? '') }
      assert.equal(outcome(await send('GET', `${path}?comp=tags`, headers(at))), get)
      assert.equal(outcome(await setTags(path, tags(''), headers(at))), set)
      const isSet = set === '204'
      assert.equal(
        await tagsOf(path),
        isSet ? '<Tags><TagSet /></Tags>' : tags(tag('was', 'there')),
      )
    })
  }
})

describe('tags of a missing resource:', () => {
  for (const [path, code] of [
    ['/box/none', '404 BlobNotFound'],
    ['/nobox/none', '404 ContainerNotFound'],
    ['/box/none?snapshot=2020-01-01T00:00:00.0000000Z', '404 BlobNotFound'],
    ['/box/none?snapshot=yesterday', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`${path} → ${code}`, async () => {
      const comp = `${path}${path.includes('?') ? '&' : '?'}comp=tags`
      assert.equal(outcome(await send('GET', comp)), code)
      assert.equal(outcome(await send('PUT', comp, {}, tags(''))), code)
    })
  }
})

test('a snapshot keeps its tags and can be given others', async () => {
  const path = await newBlob({ 'x-ms-tags': 'state=one' })
  const taken = await send('PUT', `${path}?comp=snapshot`)
  const snapshot = `&snapshot=${taken.headers['x-ms-snapshot']?.toString() ?? ''}`
  assert.equal(outcome(await setTags(path, tags(tag('state', 'two')))), '204')
  assert.equal(await tagsOf(path, snapshot), tags(tag('state', 'one')))
  assert.equal(outcome(await setTags(path, tags(tag('state', 'past')), {}, snapshot)), '204')
  assert.equal(await tagsOf(path, snapshot), tags(tag('state', 'past')))
  assert.equal(await tagsOf(path), tags(tag('state', 'two')))
})

test('an archived blob can be tagged', async () => {
  const path = await newBlob({ 'x-ms-access-tier': 'Archive' })
  assert.equal(outcome(await send('GET', path)), '409 BlobArchived')
  assert.equal(outcome(await setTags(path, tags(tag('a', '1')))), '204')
  assert.equal(await tagsOf(path), tags(tag('a', '1')))
})

test('each version has its own tags, and setting them creates no version', async () => {
  const own = await startBlobFixture()
  await own.setServiceProperties(VERSIONING)
  const versions: string[] = []
  for (const state of ['one', 'two']) {
    versions.push(await own.put('b', state, { 'x-ms-tags': `state=${state}` }))
  }
  const [first, second] = versions.map((version) => `/box/b?comp=tags&versionid=${version}`)
  assert.ok(first !== undefined && second !== undefined && first !== second)
  const [past, now] = [tags(tag('state', 'past')), tags(tag('state', 'now'))]
  assert.equal(outcome(await own.send('PUT', first, {}, past)), '204')
  assert.equal(outcome(await own.send('PUT', second, {}, now)), '204')
  assert.equal((await own.send('GET', first)).text, DECLARATION + past)
  assert.equal((await own.send('GET', '/box/b?comp=tags')).text, DECLARATION + now)
  const { headers } = await own.send('GET', '/box/b')
  assert.equal(headers['x-ms-version-id'], versions[1])
  const where = encodeURIComponent("state >= 'a'")
  const found = await own.send('GET', `/?comp=blobs&where=${where}`)
  assert.deepEqual(xmlTexts(found.text, 'Value'), ['now'])
})

describe('x-ms-tags of Put Blob', () => {
  const HEADERS: readonly (readonly [header: string, expected: string, body?: string])[] = [
    ['a=1', '201', tags(tag('a', '1'))],
    ['a=1&b%20c=d%2Be', '201', tags(tag('a', '1') + tag('b c', 'd+e'))],
    ['a=', '201', tags('<Tag><Key>a</Key><Value /></Tag>')],
    ['', '201', '<Tags><TagSet /></Tags>'],
    ['a', '400 InvalidHeaderValue'],
    ['a=%', '400 InvalidHeaderValue'],
    ['=1', '400 EmptyTagName'],
    ['a=1&a=2', '400 DuplicateTagNames'],
    ['a=%2C', '400 InvalidTag'],
    [Array.from({ length: 11 }, (_, i) => `t${i}=`).join('&'), '400 TagsTooLarge'],
  ]
  for (const [header, expected, body] of HEADERS) {
    test(`'${header}' → ${expected}`, async () => {
      const path = `/box/put-${(count += 1)}`
      const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': header }
      assert.equal(outcome(await send('PUT', path, headers, 'text')), expected)
      if (body === undefined) assert.equal((await send('HEAD', path)).status, 404)
      else assert.equal((await tagsOf(path)).replaceAll('<Value></Value>', '<Value />'), body)
    })
  }

  test('an overwrite replaces the tags', async () => {
    const path = await newBlob({ 'x-ms-tags': 'a=1' })
    await send('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, 'text')
    assert.equal(await tagsOf(path), '<Tags><TagSet /></Tags>')
  })
})

describe('a SAS', () => {
  const DENIED = '403 AuthorizationPermissionMismatch'
  const SAS: readonly (readonly [string, 'get' | 'set' | 'put' | 'put empty' | 'put none', string])[] = [
    ['t', 'get', '200'],
    ['t', 'set', '204'],
    ['r', 'get', DENIED],
    ['w', 'set', DENIED],
    ['rwt', 'put', '201'],
    ['rw', 'put', DENIED],
    ['rw', 'put none', '201'],
    // Even an empty header sets tags.
    ['rw', 'put empty', DENIED],
    ['t', 'put', DENIED],
  ] // prettier-ignore
  for (const [permissions, what, expected] of SAS) {
    test(`with ${permissions}: ${what} → ${expected}`, async () => {
      const path = await newBlob()
      const blob = container.getBlobClient(path.slice('/box/'.length))
      const expiresOn = new Date(server.now() + 3_600_000)
      const parsed = BlobSASPermissions.parse(permissions)
      const url = await blob.generateSasUrl({ permissions: parsed, expiresOn })
      const sign = url.slice(url.indexOf('?') + 1)
      const put: Headers = { 'x-ms-blob-type': 'BlockBlob' }
      const requests = {
        get: { method: 'GET', path: `${path}?comp=tags` },
        set: { method: 'PUT', path: `${path}?comp=tags`, body: tags('') },
        put: { method: 'PUT', path, headers: { ...put, 'x-ms-tags': 'a=1' }, body: 'x' },
        'put empty': { method: 'PUT', path, headers: { ...put, 'x-ms-tags': '' }, body: 'x' },
        'put none': { method: 'PUT', path, headers: put, body: 'x' },
      }
      assert.equal(outcome(await rawRequest(server, { ...requests[what], sign })), expected)
    })
  }
})

test('a list shows tags if they are included', async () => {
  await container.getBlockBlobClient('listed').upload('x', 1, { tags: { a: '1', b: '2' } })
  const list = '/box?restype=container&comp=list&prefix=listed'
  const { text } = await send('GET', `${list}&include=tags`)
  assert.ok(text.includes(tags(tag('a', '1') + tag('b', '2'))), text)
  assert.equal(xmlText(text, 'TagCount'), '2')
  assert.ok(!(await send('GET', list)).text.includes('<Tags>'))
})

test('tags of a leased blob can be set only with the lease id', async () => {
  const path = await newBlob()
  const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }
  await send('PUT', `${path}?comp=lease`, { ...acquire, 'x-ms-proposed-lease-id': A })
  assert.equal(outcome(await setTags(path, tags(tag('a', '1')))), '412 LeaseIdMissing')
  assert.equal(outcome(await setTags(path, tags(tag('a', '1')), { 'x-ms-lease-id': A })), '204')
  assert.equal(await tagsOf(path), tags(tag('a', '1')))
})
