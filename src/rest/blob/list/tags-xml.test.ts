import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../../storage/shared/error.ts'
import type { Tags } from '../../../storage/shared/tags.ts'
import { decodeTagsXml, encodeFilterBlobsXml, encodeTagsXml } from './tags-xml.ts'

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
const tag = (name: string, value: string) => `<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`
const document = (inner: string) => `<Tags><TagSet>${inner}</TagSet></Tags>`
const decode = (text: string) => decodeTagsXml(Buffer.from(text))

test('tags that were set are returned', () => {
  const tags: Tags = [['b c', ' 1+=/: '], ['a', 'x'], ['__proto__', 'y']] // prettier-ignore
  const body = document(tag('b c', ' 1+=/: ') + tag('a', 'x') + tag('__proto__', 'y'))
  assert.deepEqual(decode(body), tags)
  assert.equal(encodeTagsXml(tags), DECLARATION + body)
})

test('no tags and an empty value are encoded as the SDKs encode them', () => {
  const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
  assert.deepEqual(decode(`${declaration}<Tags><TagSet/></Tags>`), [])
  assert.deepEqual(decode(`\ufeff${document('<Tag><Key>a</Key><Value/></Tag>')}`), [['a', '']])
  assert.deepEqual(decode('<Tags>\n  <TagSet>\n  </TagSet>\n</Tags>'), [])
  assert.equal(encodeTagsXml([]), `${DECLARATION}<Tags><TagSet /></Tags>`)
  assert.deepEqual(decode(encodeTagsXml([['a', '']])), [['a', '']])
})

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => tag(`name${i}`, '')).join('')

const REFUSED = [
  ['an empty body', '', 'InvalidXmlDocument'],
  ['another root', '<TagSet/>', 'InvalidXmlDocument'],
  ['no set', '<Tags/>', 'InvalidXmlDocument'],
  ['two sets', '<Tags><TagSet/><TagSet/></Tags>', 'InvalidXmlDocument'],
  ['an element beside the set', '<Tags><TagSet/><Tag/></Tags>', 'InvalidXmlDocument'],
  ['an unknown element in the set', document('<Label/>'), 'InvalidXmlDocument'],
  ['no key', document('<Tag><Value>a</Value></Tag>'), 'InvalidXmlDocument'],
  ['no value', document('<Tag><Key>a</Key></Tag>'), 'InvalidXmlDocument'],
  ['two keys', document('<Tag><Key>a</Key><Key>b</Key></Tag>'), 'InvalidXmlDocument'],
  ['missing end tags', '<Tags><TagSet>', 'InvalidXmlDocument'],
  ['an empty name', document(tag('', 'a')), 'EmptyTagName'],
  ['a name twice', document(tag('a', '1') + tag('a', '2')), 'DuplicateTagNames'],
  ['an invalid character', document(tag('a', '&amp;')), 'InvalidTag'],
  ['eleven tags', document(numbered(11)), 'TagsTooLarge'],
  ['a value of 257 characters', document(tag('a', 'v'.repeat(257))), 'TagsTooLarge'],
] as const

for (const [title, body, code] of REFUSED) {
  test(`${title} → ${code}`, () => assert.throws(() => decode(body), { code }))
}

test('a document with a part replaced never throws anything but a StorageError', () => {
  const parts: readonly string[] = document(tag('a', 'b')).match(/<[^>]+>|[^<]+/g) ?? []
  fc.assert(
    fc.property(fc.nat(parts.length - 1), fc.string(), (at, other) => {
      try {
        decode(parts.with(at, other).join(''))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})

const FOUND = {
  endpoint: 'http://127.0.0.1:10000/devstoreaccount1',
  where: `"a" > 'b'`,
  blobs: [{ container: '$web', name: 'x & y', tags: [['a', 'c'], ['d', '']] }],
  nextMarker: undefined,
  echo: '',
} as const // prettier-ignore

const ROOT =
  `${DECLARATION}<EnumerationResults ServiceEndpoint="http://127.0.0.1:10000/devstoreaccount1/">` +
  `<Where>"a" &gt; 'b'</Where>`
const BLOB = '<Blob><Name>x &amp; y</Name><ContainerName>$web</ContainerName>'

test('found blobs have their tags since 2020-04-08', () => {
  assert.equal(
    encodeFilterBlobsXml({ ...FOUND, version: '2020-04-08' }),
    `${ROOT}<Blobs>${BLOB}<Tags><TagSet><Tag><Key>a</Key><Value>c</Value></Tag>` +
      '<Tag><Key>d</Key><Value /></Tag></TagSet></Tags></Blob></Blobs><NextMarker />' +
      '</EnumerationResults>',
  )
})

test('found blobs have only the value of the tag before 2020-04-08', () => {
  assert.equal(
    encodeFilterBlobsXml({
      ...FOUND,
      version: '2020-02-10',
      nextMarker: 'abc',
      echo: '<MaxResults>1</MaxResults>',
    }),
    `${ROOT}<MaxResults>1</MaxResults><Blobs>${BLOB}<TagValue>c</TagValue></Blob></Blobs><NextMarker>abc</NextMarker>` +
      '</EnumerationResults>',
  )
})

test('an empty result has an empty list', () => {
  assert.equal(
    encodeFilterBlobsXml({ ...FOUND, version: '2021-12-02', blobs: [] }),
    `${ROOT}<Blobs /><NextMarker /></EnumerationResults>`,
  )
})
