// Difficult blob names: a blob is read, listed and deleted under the name with which it was put.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlTexts } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { service, container, send } = await startBlobFixture({ container: 'names', onDisk: true })

await service.getContainerClient('$root').create()

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
  'a leading slash': '/a',
  'a trailing slash': 'a/',
  'dots inside': 'a.b..c/.hidden',
  'XML markup': '<a>&amp;</a>',
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
      assert.equal((await send('GET', path)).text, name)
      await blob.delete()
      assert.equal(await blob.exists(), false)
    })
  }

  test('characters that XML cannot contain is listed percent-encoded and marked so', async () => {
    await container.uploadBlockBlob('dir\uffff/a\ufffe', 'x', 1)
    const flat = '/names?restype=container&comp=list&prefix=dir'
    const { text } = await send('GET', flat)
    assert.match(text, /<Name Encoded="true">dir%EF%BF%BF%2Fa%EF%BF%BE<\/Name>/)
    const path = `${flat}&delimiter=%2F`
    const folded = await send('GET', path)
    assert.match(folded.text, /<BlobPrefix><Name Encoded="true">dir%EF%BF%BF%2F<\/Name>/)
  })
})

// path as sent → name or error code
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
  for (const [sent, expected] of PATHS) {
    test(`${sent.slice(0, 30)} → ${expected.slice(0, 30)}`, async () => {
      const answer = await send(
        'PUT',
        `/names/${sent}`,
        { 'x-ms-blob-type': 'BlockBlob' },
        expected,
      )
      if (expected.startsWith('400 ')) {
        assert.equal(`${answer.status} ${String(answer.headers['x-ms-error-code'])}`, expected)
        return
      }
      assert.equal(answer.status, 201)
      const path = `/names?restype=container&comp=list&prefix=${encodeURIComponent(expected)}`
      const { text } = await send('GET', path)
      assert.ok(xmlTexts(text, 'Name').includes(expected))
      await send('DELETE', `/names/${encodeURIComponent(expected)}`)
    })
  }
})

describe('the container $root', () => {
  test('can be left out of the path', async () => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    const put = await send('PUT', '/bare.txt', headers, 'x')
    assert.equal(put.status, 201)
    for (const path of ['/bare.txt', '/$root/bare.txt']) {
      assert.equal((await send('GET', path)).text, 'x')
    }
    const deleted = await send('DELETE', '/$root/bare.txt')
    assert.equal(deleted.status, 202)
    const missing = await send('HEAD', '/bare.txt')
    assert.equal(missing.headers['x-ms-error-code'], 'BlobNotFound')
  })

  test('has no blob for a name that ends with a slash', async () => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    const put = await send('PUT', '/bare/', headers, 'x')
    assert.deepEqual([put.status, put.headers['x-ms-error-code']], [400, 'InvalidUri'])
  })
})
