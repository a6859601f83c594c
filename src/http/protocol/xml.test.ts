import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import {
  parseXml,
  XML_DECLARATION,
  XML_LIMITS,
  xmlChild,
  xmlElement,
  xmlEscape,
  xmlEscapeAttribute,
  xmlNameElement,
  xmlOptional,
} from './xml.ts'

test('a document becomes a tree', () => {
  const root = parseXml(
    `${XML_DECLARATION}<!-- c --><List a="1"><Item>x &amp; y</Item><Item><![CDATA[<z>]]>!</Item></List>`,
  )
  assert.equal(root.name, 'List')
  assert.equal(root.attributes['a'], '1')
  assert.deepEqual(
    root.children.map((child) => child.text),
    ['x & y', '<z>!'],
  )
})

test('a byte order mark is allowed, in bytes and in text', () => {
  assert.equal(parseXml(Buffer.from('\ufeff<a/>')).name, 'a')
  assert.equal(parseXml('\ufeff<a/>').name, 'a')
})

const REFUSED: readonly (readonly [string, string | Uint8Array])[] = [
  ['nothing', ''],
  ['text', 'hello'],
  ['an open element', '<a><b></b>'],
  ['two roots', '<a/><b/>'],
  ['wrong nesting', '<a><b></a></b>'],
  ['a DOCTYPE', '<!DOCTYPE a><a/>'],
  ['an entity that it declares', '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'],
  ['an unknown entity', '<a>&nbsp;</a>'],
  ['another encoding', '<?xml version="1.0" encoding="utf-16"?><a/>'],
  ['bytes that are not UTF-8', Uint8Array.of(0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e)],
  ['UTF-16', Buffer.from('<a/>', 'utf16le')],
  ['a control character', '<a>\u0001</a>'],
  ['a control character by number', '<a>&#1;</a>'],
  ['17 levels', '<a>'.repeat(17) + '</a>'.repeat(17)],
  ['60,001 nodes', `<a>${'<b/>'.repeat(60_000)}</a>`],
]

for (const [title, body] of REFUSED) {
  test(`${title} → InvalidXmlDocument`, () => {
    assert.throws(() => parseXml(body), { code: 'InvalidXmlDocument', status: 400 })
  })
}

test('a body over the limit is not parsed', () => {
  assert.throws(() => parseXml('<a/>', { ...XML_LIMITS, lengthMax: 3 }), {
    code: 'InvalidXmlDocument',
  })
})

test('a child occurs at most once', () => {
  const root = parseXml('<a><b>1</b><c/><c/></a>')
  assert.equal(xmlChild(root, 'b')?.text, '1')
  assert.equal(xmlChild(root, 'd'), undefined)
  assert.throws(() => xmlChild(root, 'c'), { code: 'InvalidXmlDocument' })
})

test('any body is a document or InvalidXmlDocument', () => {
  const part = fc.constantFrom(
    '<a>',
    '</a>',
    '<',
    '>',
    '&',
    '<![CDATA[',
    ']]>',
    '<?',
    '<!',
    'x',
    '"',
  )
  const body = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.uint8Array(),
    fc.array(part).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(body, (bytes) => {
      try {
        parseXml(bytes)
      } catch (error) {
        assert(error instanceof StorageError)
        assert.equal(error.code, 'InvalidXmlDocument')
      }
    }),
  )
})

const ESCAPED = [
  ['plain ä 😊 "quoted"', 'plain ä 😊 "quoted"'],
  ['a & b < c > d', 'a &amp; b &lt; c &gt; d'],
  ['tab\tline\n', 'tab\tline\n'],
  ['\r\n', '&#xD;\n'],
  ['\u0000\u001f\ufffe\uffff\ud800', '\ufffd'.repeat(5)],
  ['\u0085', '\u0085'],
] as const

for (const [text, escaped] of ESCAPED) {
  test(`${JSON.stringify(text)} is escaped as ${JSON.stringify(escaped)}`, () => {
    assert.equal(xmlEscape(text), escaped)
  })
}

test('escaped text parses back', () => {
  const text = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(text, text, (inner, value) => {
      if (xmlEscape(inner + value).includes('\ufffd')) return
      const root = parseXml(`<a b="${xmlEscapeAttribute(value)}">${xmlEscape(inner)}</a>`)
      assert.equal(root.text, inner)
      assert.equal(root.attributes['b'], value)
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      parseXml(xmlElement('Name', name))
      const node = parseXml(xmlNameElement('Name', name))
      const read = node.attributes['Encoded'] === 'true' ? decodeURIComponent(node.text) : node.text
      assert.equal(read, name.replace(/\p{Cs}/gu, '\ufffd'))
    }),
  )
})

test('elements are escaped, and empty ones are self-closing', () => {
  assert.equal(xmlElement('A', ''), '<A />')
  assert.equal(xmlElement('A', 'x<y'), '<A>x&lt;y</A>')
  assert.equal(xmlOptional('A', undefined), '')
  assert.equal(xmlOptional('A', false), '<A>false</A>')
  assert.equal(xmlNameElement('Name', 'a&b'), '<Name>a&amp;b</Name>')
  assert.equal(xmlNameElement('Name', 'dir/\uffff'), '<Name Encoded="true">dir%2F%EF%BF%BF</Name>')
})
