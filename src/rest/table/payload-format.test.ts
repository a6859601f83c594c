// The level of metadata that a request gets, and unsupported formats.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../http/protocol/query.ts'
import { checkJsonBody, decodeFormat, decodePrefer } from './payload-format.ts'

const FORMATS = [
  [undefined, '', 'minimalmetadata'],
  ['application/json', '', 'minimalmetadata'],
  ['*/*', '', 'minimalmetadata'],
  ['application/json;odata=nometadata', '', 'nometadata'],
  ['application/json; odata=minimalmetadata', '', 'minimalmetadata'],
  ['Application/JSON;OData=FullMetadata', '', 'fullmetadata'],
  ['application/json;charset=utf-8;odata=fullmetadata', '', 'fullmetadata'],
  ['application/atom+xml,application/json;odata=nometadata', '', 'nometadata'],
  [
    'application/json;odata=nometadata',
    '$format=application/json;odata=fullmetadata',
    'fullmetadata',
  ],
  ['application/atom+xml', '$format=json', 'minimalmetadata'],
] as const

for (const [accept, query, level] of FORMATS) {
  test(`Accept ${accept} and ?${query} → ${level}`, () => {
    const headers = accept === undefined ? {} : { accept }
    assert.equal(decodeFormat({ headers, query: parseQuery(query) }), level)
  })
}

const REFUSED = [
  ['application/atom+xml', '', 'AtomFormatNotSupported'],
  ['application/xml', '', 'AtomFormatNotSupported'],
  ['application/json', '$format=atom', 'AtomFormatNotSupported'],
  ['text/plain', '', 'MediaTypeNotSupported'],
  ['application/json;odata=verbose', '', 'JsonVerboseFormatNotSupported'],
  ['application/json;odata=constructor', '', 'MediaTypeNotSupported'],
] as const

for (const [accept, query, code] of REFUSED) {
  test(`Accept ${accept} and ?${query} → ${code}`, () => {
    const request = { headers: { accept }, query: parseQuery(query) }
    assert.throws(() => decodeFormat(request), { code, status: 415 })
  })
}

test('a body has to be JSON', () => {
  checkJsonBody({ headers: {} })
  checkJsonBody({ headers: { 'content-type': 'application/json' } })
  checkJsonBody({ headers: { 'content-type': 'application/json; charset=utf-8' } })
  const atom = { headers: { 'content-type': 'application/atom+xml' } }
  assert.throws(() => checkJsonBody(atom), { code: 'AtomFormatNotSupported' })
  const text = { headers: { 'content-type': 'text/plain' } }
  assert.throws(() => checkJsonBody(text), { code: 'MediaTypeNotSupported' })
})

test('Prefer is decoded; unknown preferences are ignored', () => {
  assert.equal(decodePrefer({ headers: {} }), undefined)
  assert.equal(decodePrefer({ headers: { prefer: 'return-content' } }), 'return-content')
  assert.equal(decodePrefer({ headers: { prefer: 'a, Return-No-Content' } }), 'return-no-content')
  assert.equal(decodePrefer({ headers: { prefer: 'odata.continue-on-error' } }), undefined)
})
