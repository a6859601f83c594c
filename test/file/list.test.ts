// List Directories and Files: order, pages, included properties, names that XML cannot contain, snapshots.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { API_VERSION, xmlText, xmlTexts, assertRefused } from '../harness.ts'
import { startFileFixture } from './fixture.ts'
import { markForDeletion, placeOf } from './smb-client.ts'

const box = await startFileFixture({ share: 'lists' })
const { share } = box

await share.createDirectory('Box')
for (const name of ['Box/zoo', 'Box/Inner']) await share.createDirectory(name)
for (const name of ['alpha', 'Beta', 'gamma']) {
  await share.getDirectoryClient('Box').createFile(name, name.length)
}

const list = async (query: string, headers = {}) => {
  const answer = await box.send('GET', `/lists/Box?restype=directory&comp=list${query}`, headers)
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

test('a list has one level, ordered by name, with ids and lengths', async () => {
  const items: (readonly [string, string, number?])[] = []
  for await (const item of share.getDirectoryClient('Box').listFilesAndDirectories()) {
    assert.match(item.fileId ?? '', /^\d+$/)
    if (item.kind === 'file') items.push([item.kind, item.name, item.properties.contentLength])
    else items.push([item.kind, item.name])
  }
  // The SDK returns files first; the response has one order.
  assert.deepEqual(items, [
    ['file', 'alpha', 5],
    ['file', 'Beta', 4],
    ['file', 'gamma', 5],
    ['directory', 'Inner'],
    ['directory', 'zoo'],
  ])
  assert.deepEqual(xmlTexts(await list(''), 'Name'), ['alpha', 'Beta', 'gamma', 'Inner', 'zoo'])
})

test('a list echoes the parameters of the request', async () => {
  const xml = await list('&prefix=B&maxresults=7')
  const endpoint = `${box.server.fileEndpoint}/`
  assert(
    xml.includes(
      `<EnumerationResults ServiceEndpoint="${endpoint}" ShareName="lists" DirectoryPath="Box">`,
    ),
  )
  assert.equal(xmlText(xml, 'Prefix'), 'B')
  assert.equal(xmlText(xml, 'MaxResults'), '7')
  const { fileId } = await share.getDirectoryClient('Box').getProperties()
  assert.equal(xmlText(xml, 'DirectoryId'), fileId)
  assert.deepEqual(xmlTexts(xml, 'Name'), ['Beta'])
  assert(xml.endsWith('</Entries><NextMarker /></EnumerationResults>'))
})

test('the root is listed with only the share name', async () => {
  const answer = await box.send('GET', '/lists?restype=directory&comp=list')
  assert(answer.text.includes('DirectoryPath=""'))
  assert.equal(xmlText(answer.text, 'DirectoryId'), '0')
  assert.deepEqual(xmlTexts(answer.text, 'Name'), ['Box'])
})

test('a list is split into pages', async () => {
  const names: string[][] = []
  const paged = share.getDirectoryClient('Box').listFilesAndDirectories().byPage({ maxPageSize: 2 })
  for await (const { segment } of paged) {
    const both = [...segment.fileItems, ...segment.directoryItems]
    names.push(both.map(({ name }) => name))
  }
  assert.deepEqual(names, [['alpha', 'Beta'], ['gamma', 'Inner'], ['zoo']])
})

describe('include', () => {
  // prettier-ignore
  const NODES: readonly [include: string, nodes: readonly string[]][] = [
    ['Timestamps', ['CreationTime', 'LastAccessTime', 'LastWriteTime', 'ChangeTime', 'Last-Modified']],
    ['ETag', ['Etag']],
    ['Attributes', ['Attributes']],
    ['PermissionKey', ['PermissionKey']],
  ]
  const ALL = NODES.flatMap(([, nodes]) => nodes)
  for (const [include, nodes] of NODES) {
    test(`${include}: ${nodes.join(', ')}`, async () => {
      const xml = await list(`&include=${include}`, { 'x-ms-file-extended-info': 'true' })
      for (const node of ALL) {
        assert.equal(xmlTexts(xml, node).length, nodes.includes(node) ? 5 : 0, node)
      }
    })
  }
  test('returns the values of Get Properties', async () => {
    const file = share.getDirectoryClient('Box').getFileClient('Beta')
    const returned = await file.getProperties()
    const include = {
      includeTimestamps: true,
      includeEtag: true,
      includeAttributes: true,
      includePermissionKey: true,
    }
    const box = share.getDirectoryClient('Box')
    for await (const item of box.listFilesAndDirectories({ ...include, prefix: 'beta' })) {
      assert(item.kind === 'file')
      assert.equal(item.attributes, returned.fileAttributes)
      assert.equal(item.permissionKey, returned.filePermissionKey)
      assert.equal(item.properties.etag, returned.etag)
      assert.deepEqual(item.properties.creationTime, returned.fileCreatedOn)
      assert.deepEqual(item.properties.lastModified, returned.lastModified)
      assert.equal(item.fileId, returned.fileId)
    }
  })
})

test('a list has ids since 2020-10-02', async () => {
  const xml = await list('', { 'x-ms-version': '2020-08-04' })
  assert.deepEqual([xmlTexts(xml, 'FileId'), xmlTexts(xml, 'DirectoryId')], [[], []])
  assert.equal(xmlTexts(await list('', { 'x-ms-version': API_VERSION }), 'FileId').length, 5)
})

test('a name that XML cannot contain is percent-encoded and marked so', async () => {
  await share.createDirectory('odd')
  const name = 'a\uffffb & c'
  await share.getDirectoryClient('odd').createFile(name, 1)
  await share.createDirectory(`odd/${name}x`)
  const { text } = await box.send('GET', '/lists/odd?restype=directory&comp=list')
  assert(text.includes(`<Name Encoded="true">${encodeURIComponent(name)}</Name>`), text)
  const below = `/lists/odd/${encodeURIComponent(`${name}x`)}?restype=directory&comp=list&prefix=%EF%BF%BF`
  const inner = (await box.send('GET', below)).text
  assert(
    inner.includes(`Encoded="true" DirectoryPath="${encodeURIComponent(`odd/${name}x`)}"`),
    inner,
  )
  assert(inner.includes('<Prefix Encoded="true">%EF%BF%BF</Prefix>'), inner)
  const names: string[] = []
  for await (const item of share.getDirectoryClient('odd').listFilesAndDirectories())
    names.push(item.name)
  assert.deepEqual(names, [name, `${name}x`])
})

test('a file marked for deletion by an SMB client is hidden until the mark is removed', async () => {
  const place = await placeOf(box.server, 'lists', 'Box/gamma')
  await markForDeletion(box.server, place, true)
  assert.deepEqual(xmlTexts(await list(''), 'Name'), ['alpha', 'Beta', 'Inner', 'zoo'])
  await markForDeletion(box.server, place, false)
  assert.equal(xmlTexts(await list(''), 'Name').length, 5)
})

test('a list of a snapshot has its files', async () => {
  await share.createDirectory('then')
  const then = share.getDirectoryClient('then')
  await then.createFile('gone', 1)
  await then.createFile('changed', 1)
  const snapshot = await box.snapshotShare('lists')
  await then.deleteFile('gone')
  await then.getFileClient('changed').resize(9)
  await then.createFile('new', 1)
  const seen: (readonly [string, number | undefined])[] = []
  for await (const item of share
    .withSnapshot(snapshot)
    .getDirectoryClient('then')
    .listFilesAndDirectories()) {
    seen.push([item.name, item.kind === 'file' ? item.properties.contentLength : undefined])
  }
  assert.deepEqual(seen, [
    ['changed', 1],
    ['gone', 1],
  ])
  const query = `restype=directory&comp=list&sharesnapshot=${encodeURIComponent(snapshot)}`
  const { text } = await box.send('GET', `/lists/then?${query}`)
  assert(text.includes(`ShareSnapshot="${snapshot}"`), text)
})

describe('an invalid list:', () => {
  // prettier-ignore
  const REFUSED: readonly [path: string, status: number, code: string][] = [
    ['/lists/none?restype=directory&comp=list',               404, 'ResourceNotFound'],
    ['/lists/none/x?restype=directory&comp=list',             404, 'ParentNotFound'],
    ['/none?restype=directory&comp=list',                     404, 'ShareNotFound'],
    ['/lists/Box/Beta?restype=directory&comp=list',           409, 'ResourceTypeMismatch'],
    ['/lists/Box?restype=directory&comp=list&maxresults=0',   400, 'OutOfRangeQueryParameterValue'],
    ['/lists/Box?restype=directory&comp=list&maxresults=x',   400, 'InvalidQueryParameterValue'],
    ['/lists/Box?restype=directory&comp=list&include=Age',    400, 'InvalidQueryParameterValue'],
    ['/lists/Box?restype=directory&comp=list&marker=%21',     400, 'InvalidQueryParameterValue'],
    ['/lists/Box?restype=directory&comp=list&sharesnapshot=2024-01-01T00:00:00.0000000Z', 404, 'ShareSnapshotNotFound'],
  ]
  for (const [path, status, code] of REFUSED) {
    test(`${path}: ${status} ${code}`, () => assertRefused(box.send('GET', path), status, code))
  }
})
