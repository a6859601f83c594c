// List Blobs: order, prefix, delimiter, bounds, pages, and invalid requests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageResponseFormat } from '@azure/storage-blob'
import { xmlText, xmlTexts } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, container, send } = await startBlobFixture({ container: 'list' })

/** In the order of the list: by code point, so upper case first. */
const NAMES = [
  'A', 'B/x', 'a', 'a-', 'a.txt', 'a/', 'a//z', 'a/b', 'a/b/c', 'a/b/d', 'a/c', 'a0', 'aa', 'b',
  'b/c/d/e', 'c|d', 'c|e', 'z', 'é', '日/本',
] // prettier-ignore

for (const name of NAMES.toReversed()) {
  await container.getBlockBlobClient(name).upload(name, Buffer.byteLength(name))
}

async function list(query: string, path = '/list?restype=container&comp=list') {
  const answer = await send('GET', path + query)
  const names = xmlTexts(answer.text, 'Name')
  return { ...answer, names, next: xmlText(answer.text, 'NextMarker') ?? '' }
}

const q = encodeURIComponent

// query → listed names; prefixes end with the delimiter
const LISTS: readonly (readonly [string, readonly string[]])[] = [
  ['', NAMES],
  ['&prefix=', NAMES],
  ['&prefix=a/b', ['a/b', 'a/b/c', 'a/b/d']],
  ['&prefix=A', ['A']],
  ['&prefix=nothing', []],
  [`&prefix=${q('日')}`, ['日/本']],
  ['&maxresults=2', ['A', 'B/x']],
  ['&maxresults=9999', NAMES],
  ['&delimiter=/', [
    'A', 'B/', 'a', 'a-', 'a.txt', 'a/', 'a0', 'aa', 'b', 'b/', 'c|d', 'c|e', 'z', 'é', '日/',
  ]],
  ['&delimiter=/&prefix=a/', ['a/', 'a//', 'a/b', 'a/b/', 'a/c']],
  ['&delimiter=/&prefix=a', ['a', 'a-', 'a.txt', 'a/', 'a0', 'aa']],
  ['&delimiter=/&prefix=a/b', ['a/b', 'a/b/']],
  ['&delimiter=/&prefix=b/c/', ['b/c/d/']],
  ['&delimiter=%7C&prefix=c', ['c|']],
  ['&delimiter=c/&prefix=b', ['b', 'b/c/']],
  ['&delimiter=/&maxresults=3', ['A', 'B/', 'a']],
  ['&startFrom=b', ['b', 'b/c/d/e', 'c|d', 'c|e', 'z', 'é', '日/本']],
  ['&startFrom=b0&maxresults=1', ['c|d']],
  ['&startFrom=a/b&prefix=a/', ['a/b', 'a/b/c', 'a/b/d', 'a/c']],
  ['&startFrom=a/b&delimiter=/&prefix=a/', ['a/b', 'a/b/', 'a/c']],
  ['&include=deleted', NAMES],
  ['&include=snapshots,versions,uncommittedblobs', NAMES],
  ['&include=deletedwithversions&delimiter=/&prefix=a', ['a', 'a-', 'a.txt', 'a/', 'a0', 'aa']],
] // prettier-ignore

describe('List Blobs', () => {
  for (const [query, names] of LISTS) {
    test(`${query || 'all'} → ${names.join(' ').slice(0, 60)}`, async () => {
      const listed = await list(query)
      assert.equal(listed.status, 200)
      assert.equal(listed.headers['content-type'], 'application/xml')
      assert.deepEqual(listed.names.toSorted(), [...names].toSorted())
      assert.deepEqual(listed.names, names)
    })

    for (const size of [1, 2, 3, 7]) {
      if (query.includes('maxresults')) continue
      test(`${query || 'all'}, in pages of ${size}`, async () => {
        const pages: string[] = []
        let marker = ''
        do {
          const page = await list(`${query}&maxresults=${size}&marker=${q(marker)}`)
          assert.equal(page.status, 200)
          assert.ok(page.names.length <= size)
          pages.push(...page.names)
          marker = page.next
        } while (marker !== '')
        assert.deepEqual(pages, names)
      })
    }
  }

  test('echoes the parameters of the request', async () => {
    const { text } = await list('&prefix=a%26&delimiter=%2F&maxresults=4')
    const root = `<EnumerationResults ServiceEndpoint="${server.blobEndpoint}/" ContainerName="list">`
    const echo = '<Prefix>a&amp;</Prefix><MaxResults>4</MaxResults><Delimiter>/</Delimiter>'
    assert.ok(text.includes(root + echo), text)
    assert.match(text, /<Blobs><\/Blobs><NextMarker \/><\/EnumerationResults>$|<Blobs \/>/)
    const bare = (await list('')).text
    for (const name of ['Prefix', 'Marker', 'MaxResults', 'Delimiter']) {
      assert.ok(!bare.includes(`<${name}`), name)
    }
  })

  test('returns properties, and metadata if included', async () => {
    const blob = container.getBlockBlobClient('z')
    const blobHTTPHeaders = { blobContentType: 'text/css', blobContentLanguage: 'la' }
    const put = await blob.upload('z', 1, { blobHTTPHeaders, metadata: { Team: 'a<b' } })
    const [plain] = await itemsOf({ prefix: 'z' })
    assert.equal(plain?.metadata, undefined)
    const [item] = await itemsOf({ prefix: 'z', includeMetadata: true })
    assert.deepEqual(item?.metadata, { Team: 'a<b' })
    assert.equal(`"${item?.properties.etag}"`, put.etag)
    assert.equal(item?.properties.contentLength, 1)
    assert.equal(item?.properties.contentType, 'text/css')
    assert.equal(item?.properties.contentLanguage, 'la')
    assert.equal(item?.properties.blobType, 'BlockBlob')
    assert.equal(item?.properties.leaseState, 'available')
    assert.equal(item?.properties.leaseStatus, 'unlocked')
    assert.equal(item?.properties.lastModified.getTime(), put.lastModified?.getTime())
    const properties = await blob.getProperties()
    assert.deepEqual(item?.properties.contentMD5, properties.contentMD5)
    assert.deepEqual(item?.properties.createdOn, properties.createdOn)
  })

  async function itemsOf(options: { prefix: string; includeMetadata?: boolean }) {
    const items = []
    for await (const item of container.listBlobsFlat(options)) items.push(item)
    return items
  }

  test('works with the SDK by hierarchy', async () => {
    // For each page the SDK returns the prefixes first.
    const seen: string[] = []
    for await (const item of container.listBlobsByHierarchy('/', { prefix: 'a/' })) {
      seen.push(`${item.kind} ${item.name}`)
    }
    assert.deepEqual(seen, ['prefix a//', 'prefix a/b/', 'blob a/', 'blob a/b', 'blob a/c'])
  })

  test('works with the SDK between two names, as Apache Arrow', async () => {
    const responseFormat = StorageResponseFormat.Arrow
    const between = async (startFrom: string, endBefore: string, prefix = '') => {
      const options = { responseFormat, startFrom, endBefore, prefix }
      const seen: string[] = []
      const folded: string[] = []
      for await (const item of container.listBlobsFlat(options)) seen.push(item.name)
      for await (const item of container.listBlobsByHierarchy('/', options)) folded.push(item.name)
      return [seen, folded]
    }
    assert.deepEqual(await between('a/b', 'a0'), [['a/b', 'a/b/c', 'a/b/d', 'a/c'], ['a/']])
    assert.deepEqual(await between('A', 'a'), [
      ['A', 'B/x'],
      ['B/', 'A'],
    ])
    const ends = [['a/b', 'a/b/c', 'a/b/d'], ['a/b/', 'a/b']] // prettier-ignore
    assert.deepEqual(await between('a/b', 'a/b0', 'a/'), ends)
    assert.deepEqual(await between('A', 'z', 'a/c'), [['a/c'], ['a/c']])
    assert.deepEqual(await between('c', 'b'), [[], []])
  })

  test('continues from a marker even if blobs are added and deleted', async () => {
    const moving = service.getContainerClient('moving')
    await moving.create()
    for (const name of ['b', 'd', 'f', 'h']) await moving.uploadBlockBlob(name, '', 0)
    const path = '/moving?restype=container&comp=list&maxresults=2'
    const first = await list('', path)
    assert.deepEqual(first.names, ['b', 'd'])
    await moving.deleteBlob('d')
    await moving.deleteBlob('b')
    for (const name of ['a', 'c', 'e']) await moving.uploadBlockBlob(name, '', 0)
    const second = await list(`&marker=${q(first.next)}`, path)
    assert.deepEqual(second.names, ['e', 'f'])
  })

  // query → code
  const REFUSED: readonly (readonly [string, string])[] = [
    ['&maxresults=0', 'OutOfRangeQueryParameterValue'],
    ['&maxresults=-1', 'OutOfRangeQueryParameterValue'],
    ['&maxresults=many', 'InvalidQueryParameterValue'],
    ['&include=everything', 'InvalidQueryParameterValue'],
    ['&include=metadata,everything', 'InvalidQueryParameterValue'],
    ['&marker=none%20of%20ours', 'InvalidQueryParameterValue'],
    ['&marker=eA', 'InvalidQueryParameterValue'],
    ['&marker=ZDc6YQ', 'InvalidQueryParameterValue'],
    ['&delimiter=/&include=snapshots', 'InvalidQueryParameterValue'],
    ['&showonly=deleted', 'InvalidQueryParameterValue'],
  ]
  for (const [query, code] of REFUSED) {
    test(`${query} → 400 ${code}`, async () => {
      const { status, text } = await list(query)
      assert.deepEqual([status, xmlText(text, 'Code')], [400, code])
    })
  }

  test('accepts every value of include', async () => {
    const words =
      'snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions,deletedwithversions,' +
      'immutabilitypolicy,legalhold,permissions'
    assert.equal((await list(`&include=${words}`)).status, 200)
    assert.equal((await list('&include=Metadata&include=copy')).status, 200)
  })

  test('of a missing container → ContainerNotFound', async () => {
    const { status, text } = await list('', '/nolist?restype=container&comp=list')
    assert.deepEqual([status, xmlText(text, 'Code')], [404, 'ContainerNotFound'])
  })
})

describe('a list with a parameter longer than any name', () => {
  const long = 'x'.repeat(5_000)
  const marker = Buffer.from(`n${'𝒳'.repeat(1_024)}`).toString('base64url')
  const cases: readonly (readonly [string, number])[] = [
    [`/?comp=list&prefix=${long}`, 200],
    [`/long-list?restype=container&comp=list&prefix=${long}`, 200],
    [`/long-list?restype=container&comp=list&startFrom=${long}`, 200],
    [`/long-list?restype=container&comp=list&endBefore=${long}`, 400],
    [`/long-list?restype=container&comp=list&marker=${marker}`, 400],
  ]
  for (const [path, status] of cases) {
    test(`${path.slice(0, 60)}… → ${status}`, async () => {
      const own = await startBlobFixture({ container: 'long-list' })
      assert.equal((await own.send('GET', path)).status, status)
    })
  }
})
