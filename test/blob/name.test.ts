// Names of blobs that clients have trouble with: what is put under one is read, listed and deleted under it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { rawRequest, startTestServer, xmlTexts, type TestServer } from '../harness.ts'

let server: TestServer
let container: ContainerClient

before(async () => {
  server = await startTestServer({ onDisk: true })
  const service = BlobServiceClient.fromConnectionString(server.connectionString)
  container = service.getContainerClient('names')
  await container.create()
  await service.getContainerClient('$root').create()
})

after(() => server.close())

const NAMES: Readonly<Record<string, string>> = {
  plain: 'a',
  'a path': 'a/b/c.txt',
  spaces: ' a  b ',
  'a plus': 'a+b',
  percent: '100% %41 %2F %zz',
  'reserved characters': 'a?b#c&d=e;f:g@h!$\'()*,[]"<>|^`{}~',
  umlauts: 'äöü/ß',
  'other scripts': '日本語/العربية/עברית',
  emoji: '👩‍👩‍👧 🇪🇺',
  'combining marks': 'e\u0301 and \u00e9',
  'a doubled slash': 'a//b',
  'a first slash': '/a',
  'a last slash': 'a/',
  'dots inside': 'a.b..c/.hidden',
  'markup of XML': '<a>&amp;</a>',
  'beyond XML': 'a\uffffb',
  'beyond XML too': 'x\ufffe',
  '1,024 characters': 'n'.repeat(1024),
  '1,024 characters of three bytes': '漢'.repeat(1024),
  '254 segments': Array.from({ length: 254 }, () => 's').join('/'),
}

describe('a name with', () => {
  for (const [what, name] of Object.entries(NAMES)) {
    test(what, async () => {
      const blob = container.getBlockBlobClient(name)
      await blob.upload(name, Buffer.byteLength(name))
      assert.equal((await blob.downloadToBuffer()).toString(), name)
      const listed: string[] = []
      for await (const item of container.listBlobsFlat({ prefix: name })) listed.push(item.name)
      assert.deepEqual(listed, [name])
      const path = `/names/${encodeURIComponent(name)}`
      assert.equal((await rawRequest(server, { method: 'GET', path })).text, name)
      await blob.delete()
      assert.equal(await blob.exists(), false)
    })
  }

  test('what XML can’t hold is listed percent-encoded, and says so', async () => {
    await container.uploadBlockBlob('dir\uffff/a\ufffe', 'x', 1)
    const flat = '/names?restype=container&comp=list&prefix=dir'
    const { text } = await rawRequest(server, { method: 'GET', path: flat })
    assert.match(text, /<Name Encoded="true">dir%EF%BF%BF%2Fa%EF%BF%BE<\/Name>/)
    const path = `${flat}&delimiter=%2F`
    const folded = await rawRequest(server, { method: 'GET', path })
    assert.match(folded.text, /<BlobPrefix><Name Encoded="true">dir%EF%BF%BF%2F<\/Name>/)
  })
})

// path as sent → name, or the code it is refused with
const PATHS: readonly (readonly [string, string])[] = [
  ['a+b', 'a+b'],
  ['a%2Bb', 'a+b'],
  ['a%20b', 'a b'],
  ['a%2Fb', 'a/b'],
  ['a%5Cb', 'a/b'],
  ['a%2525', 'a%25'],
  ['a.', 'a'],
  ['a./b', 'a/b'],
  ['a/%2E%2E/b', 'b'],
  ['a/./b', 'a/b'],
  ['%2E%2E/b', '400 InvalidUri'],
  ['..', '400 InvalidUri'],
  ['a%', '400 InvalidUri'],
  ['a%FF', '400 InvalidUri'],
  ['a%00b', '400 InvalidResourceName'],
  ['a%1Fb', '400 InvalidResourceName'],
  ['a%7Fb', '400 InvalidResourceName'],
  [`${'n'.repeat(1025)}`, '400 OutOfRangeInput'],
  [Array.from({ length: 255 }, () => 's').join('/'), '400 InvalidUri'],
]

describe('a path', () => {
  for (const [sent, said] of PATHS) {
    test(`${sent.slice(0, 30)} → ${said.slice(0, 30)}`, async () => {
      const answer = await rawRequest(server, {
        method: 'PUT',
        path: `/names/${sent}`,
        headers: { 'x-ms-blob-type': 'BlockBlob' },
        body: said,
      })
      if (said.startsWith('400 ')) {
        assert.equal(`${answer.status} ${String(answer.headers['x-ms-error-code'])}`, said)
        return
      }
      assert.equal(answer.status, 201)
      const path = `/names?restype=container&comp=list&prefix=${encodeURIComponent(said)}`
      const { text } = await rawRequest(server, { method: 'GET', path })
      assert.ok(xmlTexts(text, 'Name').includes(said))
      await rawRequest(server, { method: 'DELETE', path: `/names/${encodeURIComponent(said)}` })
    })
  }
})

describe('$root', () => {
  test('may be left out of the path', async () => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    const put = await rawRequest(server, { method: 'PUT', path: '/bare.txt', headers, body: 'x' })
    assert.equal(put.status, 201)
    for (const path of ['/bare.txt', '/$root/bare.txt']) {
      assert.equal((await rawRequest(server, { method: 'GET', path })).text, 'x')
    }
    const deleted = await rawRequest(server, { method: 'DELETE', path: '/$root/bare.txt' })
    assert.equal(deleted.status, 202)
    const gone = await rawRequest(server, { method: 'HEAD', path: '/bare.txt' })
    assert.equal(gone.headers['x-ms-error-code'], 'BlobNotFound')
  })

  test('a name that is left with a slash is no blob of it', async () => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    const put = await rawRequest(server, { method: 'PUT', path: '/bare/', headers, body: 'x' })
    assert.deepEqual([put.status, put.headers['x-ms-error-code']], [400, 'InvalidUri'])
  })
})
