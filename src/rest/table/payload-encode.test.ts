// Entities and tables in the three levels of metadata, character by character.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EdmProperties } from '../../storage/table/edm.ts'
import { entityETag } from '../../storage/table/entity.ts'
import {
  encodeEntities,
  encodeEntity,
  encodeCachedEntity,
  encodeTable,
  encodeTables,
} from './payload-encode.ts'
import type { MetadataLevel } from './payload-format.ts'

const ENDPOINT = 'http://127.0.0.1:10002/devstoreaccount1'
const STAMP = Date.parse('2026-11-15T19:46:33.165Z') * 1024 + 7

const properties: EdmProperties = {
  text: { type: 'Edm.String', value: 'a "b"' },
  flag: { type: 'Edm.Boolean', value: true },
  int32: { type: 'Edm.Int32', value: 5 },
  int64: { type: 'Edm.Int64', value: '5' },
  whole: { type: 'Edm.Double', value: 5 },
  nan: { type: 'Edm.Double', value: 'NaN' },
  time: { type: 'Edm.DateTime', value: '2026-01-01T00:00:00.0000000Z' },
  guid: { type: 'Edm.Guid', value: '11111111-2222-3333-4444-555555555555' },
  bytes: { type: 'Edm.Binary', value: 'AQID' },
}
const ENTITY = { partitionKey: "o'p", rowKey: 'ä', stamp: STAMP, properties }

const TIME = '2026-11-15T19:46:33.1650007Z'
const ETAG = String.raw`"odata.etag":"W/\"datetime'2026-11-15T19%3A46%3A33.1650007Z'\""`
const PATH = "T(PartitionKey='o''p',RowKey='%C3%A4')"
const KEYS = `"PartitionKey":"o'p","RowKey":"ä"`
const TYPED =
  String.raw`"text":"a \"b\"","flag":true,"int32":5,` +
  '"int64@odata.type":"Edm.Int64","int64":"5","whole":5.0,' +
  '"nan@odata.type":"Edm.Double","nan":"NaN",' +
  '"time@odata.type":"Edm.DateTime","time":"2026-01-01T00:00:00Z",' +
  '"guid@odata.type":"Edm.Guid","guid":"11111111-2222-3333-4444-555555555555",' +
  '"bytes@odata.type":"Edm.Binary","bytes":"AQID"'
const BARE = TYPED.replaceAll(/"\w+@odata\.type":"[\w.]+",/g, '')

const contextOf = (level: MetadataLevel, select?: readonly string[]) => ({
  endpoint: ENDPOINT,
  account: 'devstoreaccount1',
  table: 'T',
  level,
  select,
})

const FULL =
  `"odata.type":"devstoreaccount1.T","odata.id":"${ENDPOINT}/${PATH}",${ETAG},` +
  `"odata.editLink":"${PATH}",${KEYS},"Timestamp@odata.type":"Edm.DateTime",` +
  `"Timestamp":"${TIME}",${TYPED}`

const LEVELS = [
  ['nometadata', '', '', `${KEYS},"Timestamp":"${TIME}",${BARE}`],
  [
    'minimalmetadata',
    `"odata.metadata":"${ENDPOINT}/$metadata#T/@Element",`,
    `"odata.metadata":"${ENDPOINT}/$metadata#T",`,
    `${ETAG},${KEYS},"Timestamp":"${TIME}",${TYPED}`,
  ],
  [
    'fullmetadata',
    `"odata.metadata":"${ENDPOINT}/$metadata#T/@Element",`,
    `"odata.metadata":"${ENDPOINT}/$metadata#T",`,
    FULL,
  ],
] as const

for (const [level, single, set, members] of LEVELS) {
  test(`an entity is encoded with ${level}`, () => {
    assert.equal(encodeEntity(contextOf(level), ENTITY), `{${single}${members}}`)
  })
  test(`entities are encoded with ${level}`, () => {
    const json = encodeEntities(contextOf(level), [ENTITY, ENTITY])
    assert.equal(json, `{${set}"value":[{${members}},{${members}}]}`)
    assert.equal(encodeEntities(contextOf(level), []), `{${set}"value":[]}`)
  })
}

test('$select returns the selected properties, system properties first, and null for missing ones', () => {
  const select = ['int64', 'none', 'RowKey']
  assert.equal(
    encodeEntity(contextOf('minimalmetadata', select), ENTITY),
    `{"odata.metadata":"${ENDPOINT}/$metadata#T/@Element&$select=int64,none,RowKey",${ETAG},` +
      '"RowKey":"ä","int64@odata.type":"Edm.Int64","int64":"5","none":null}',
  )
  assert.equal(
    encodeEntities(contextOf('nometadata', ['__proto__', 'flag']), [ENTITY]),
    '{"value":[{"__proto__":null,"flag":true}]}',
  )
})

test('tables are encoded in all levels', () => {
  assert.equal(encodeTable(contextOf('nometadata'), 'T'), '{"TableName":"T"}')
  assert.equal(
    encodeTable(contextOf('minimalmetadata'), 'T'),
    `{"odata.metadata":"${ENDPOINT}/$metadata#Tables/@Element","TableName":"T"}`,
  )
  assert.equal(
    encodeTables(contextOf('fullmetadata'), ['T']),
    `{"odata.metadata":"${ENDPOINT}/$metadata#Tables","value":[` +
      `{"odata.type":"devstoreaccount1.Tables","odata.id":"${ENDPOINT}/Tables('T')",` +
      `"odata.editLink":"Tables('T')","TableName":"T"}]}`,
  )
  assert.equal(encodeTables(contextOf('nometadata'), []), '{"value":[]}')
})

test('an entity is encoded the same with and without the cache', () => {
  const contexts = [
    ...(['minimalmetadata', 'nometadata', 'fullmetadata', 'minimalmetadata'] as const).map(
      (level) => contextOf(level),
    ),
    contextOf('minimalmetadata', ['int32']),
    { ...contextOf('minimalmetadata'), endpoint: 'http://elsewhere' },
    { ...contextOf('minimalmetadata'), table: 't' },
    { ...contextOf('fullmetadata'), table: 't' },
  ]
  for (const entity of [ENTITY, { ...ENTITY, stamp: STAMP + 1 }, ENTITY]) {
    for (const context of [...contexts, ...contexts]) {
      const expected = { etag: entityETag(entity.stamp), text: encodeEntity(context, entity) }
      const { etag, text } = encodeCachedEntity(context, entity)
      assert.deepEqual({ etag, text }, expected)
      const copy = { ...entity, properties: { ...entity.properties } }
      assert.equal(encodeEntities(context, [entity]), encodeEntities(context, [copy]))
    }
  }
})
