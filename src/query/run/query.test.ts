// Whole queries, from Azure's reference and from the service's answers recorded by the tests of its SDKs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CSV, CSV_WITH_HEADERS, JSON_LINES } from './example.ts'
import type { Formats } from './example.ts'

const ROWS = '100,200,300,400\n150,250,350,450\n'
const PEOPLE = 'Name,Age,City\nAnn,31,Oslo\nBob,27,"Paris, France"\nCid,45,Rome\n'
const PRODUCT =
  '{"id":1,"name":"mouse","price":12.5,"tags":["wireless","accessory"],"dimensions":{"length":3,"width":2,"height":2},"weight":0.2,"warehouses":[{"latitude":41.8,"longitude":-87.6}]}'

type Case = readonly [query: string, blob: string, formats: Formats, text: string]

const BOTH_JSON: Formats = { input: JSON_LINES, output: JSON_LINES }
const FROM_JSON: Formats = { input: JSON_LINES }
const TO_JSON: Formats = { output: JSON_LINES }
const HEADED: Formats = { input: CSV_WITH_HEADERS }

// prettier-ignore
const CASES: readonly Case[] = [
  // Azure's SDK for JavaScript
  ['select * from BlobStorage', ROWS, {}, ROWS],
  ['select _2 from BlobStorage where _1 > 100', ROWS, {}, '250\n'],
  ['select _2 from BlobStorage where _1 > 200', ROWS, {}, ''],
  ['select _1 from BlobStorage', '100.200!150.250!180.280!', { input: { ...CSV_WITH_HEADERS, recordSeparator: '!', columnSeparator: '.' }, output: { ...CSV, recordSeparator: '!', columnSeparator: '.' } }, '150!180!'],
  ['select * from BlobStorage', '{"_1":"100"}\n{"_1":"150"}\n', BOTH_JSON, '{"_1":"100"}\n{"_1":"150"}\n'],
  // for .NET and Java
  ['SELECT _2 from BlobStorage WHERE _1 > 250;', '100,200\n300,400\n', {}, '400\n'],
  ['SELECT * from BlobStorage', '100,200\n', TO_JSON, '{"_1":"100","_2":"200"}\n'],
  ['SELECT * from BlobStorage', '{\n\t"name0": "owner0",\n\t"name1": "owner1",\n}', FROM_JSON, 'owner0,owner1\n'],
  ['SELECT * from BlobStorage', '{\n\t"name0": "owner0",\n}', BOTH_JSON, '{\n\t"name0": "owner0",\n}\n'],
  ['select * from blobstorage', '1\\2\\', { input: { ...CSV, recordSeparator: '\\', fieldQuote: '' } }, '1\n2\n'],
  // for Python
  ['SELECT * from BlobStorage', 'a,b\r\nEvent Hubs\r\nc,d\r\n', {}, 'a,b\nEvent Hubs\nc,d\n'],
  ['SELECT * from BlobStorage', 'x,1\r\ny,1.0.1\r\n', { output: { ...CSV, columnSeparator: ';', recordSeparator: '.', fieldQuote: "'", escapeChar: '\\' } }, "x;1.y;'1.0.1'."],
  ['SELECT * from BlobStorage', PEOPLE, { input: CSV_WITH_HEADERS, output: CSV_WITH_HEADERS }, PEOPLE],
  ['SELECT name from BlobStorage', '{"name": "owner", "id": 1}\n{"name2": "owner2"}\n{"name": "owner", "id": 1}', { input: JSON_LINES, output: { ...JSON_LINES, recordSeparator: ';' } }, '{"name":"owner"};{};{"name":"owner"};'],
  ['SELECT name from BlobStorage', '{"name": "owner", "id": 1}{"name2": "owner2"}{"name": "owner", "id": 1}', BOTH_JSON, '{"name":"owner"}\n{}\n{"name":"owner"}\n'],
  // The reference: table descriptors
  ['SELECT latitude FROM BlobStorage[*].warehouses[*]', PRODUCT, BOTH_JSON, '{"latitude":41.8}\n'],
  ['SELECT length FROM BlobStorage[*].dimensions', PRODUCT, BOTH_JSON, '{"length":3}\n'],
  ['SELECT weight,warehouses[0].longitude,id,tags[1] FROM BlobStorage[*]', PRODUCT, BOTH_JSON, '{"weight":0.2,"longitude":-87.6,"id":1,"_4":"accessory"}\n'],
  ['SELECT * FROM BlobStorage[*].dimensions', PRODUCT, BOTH_JSON, '{"length":3,"width":2,"height":2}\n'],
  ['SELECT tags FROM BlobStorage', PRODUCT, FROM_JSON, '"[""wireless"",""accessory""]"\n'],
  ['SELECT id FROM BlobStorage[*].missing[*]', PRODUCT, BOTH_JSON, ''],
  // Names
  ['SELECT NAME, "City" FROM BlobStorage WHERE age > 30', PEOPLE, HEADED, 'Ann,Oslo\nCid,Rome\n'],
  ['SELECT p.Name AS who FROM BlobStorage AS p WHERE p._2 = 27', PEOPLE, { input: CSV_WITH_HEADERS, output: CSV_WITH_HEADERS }, 'who\nBob\n'],
  ['SELECT _3, Age + 1 FROM BlobStorage b WHERE Name = \'Bob\'', PEOPLE, { ...HEADED, ...TO_JSON }, '{"_3":"Paris, France","_2":28}\n'],
  ['SELECT b."Id", ID FROM BlobStorage b', '{"id":1}', BOTH_JSON, '{"ID":1}\n'],
  ['SELECT * FROM BlobStorage LIMIT 0', PEOPLE, { input: CSV_WITH_HEADERS, output: CSV_WITH_HEADERS }, 'Name,Age,City\n'],
  // Aggregates
  ['SELECT COUNT(*) FROM BlobStorage', ROWS, {}, '2\n'],
  ['SELECT COUNT(*) FROM BlobStorage', '', {}, '0\n'],
  ['SELECT COUNT(a) AS n FROM BlobStorage', '{"a":1}{"a":null}{}', BOTH_JSON, '{"n":1}\n'],
  ['SELECT SUM(_1) FROM BlobStorage', ROWS, TO_JSON, '{"_1":250}\n'],
  ['SELECT SUM(a) FROM BlobStorage', '{"a":1}{"a":0.5}', FROM_JSON, '1.5\n'],
  ['SELECT SUM(_1) FROM BlobStorage WHERE _1 > 999', ROWS, {}, '\n'],
  ['SELECT AVG(_1) FROM BlobStorage', '1\n2\n', {}, '1.5\n'],
  ['SELECT AVERAGE(_1) FROM BlobStorage', ROWS, {}, '125\n'],
  ['SELECT MIN(_1) FROM BlobStorage', '9\n10\n', {}, '10\n'],
  ['SELECT MAX(CAST(_1 AS INT)) FROM BlobStorage', '9\n10\n', {}, '10\n'],
  ['SELECT COUNT(*) FROM BlobStorage LIMIT 0', ROWS, {}, ''],
  // LIMIT
  ['SELECT _1 FROM BlobStorage WHERE _1 > 0 LIMIT 1', ROWS, {}, '100\n'],
]

for (const [query, blob, formats, text] of CASES) {
  test(`${query} over ${JSON.stringify(blob.slice(0, 60))}`, async () => {
    const reply = await ask(query, blob, formats)
    assert.deepEqual(reply.errors, [])
    assert.equal(reply.text, text)
    // The same if the bytes arrive one by one.
    assert.equal((await ask(query, blob, formats, 1)).text, text)
  })
}

type Failing = readonly [...Case, error: Readonly<Record<string, unknown>>]

// prettier-ignore
const FAILING: readonly Failing[] = [
  ['select _2 from BlobStorage where _2 > 100', '100,hello,300,400\n150,250,350,450\n', {}, '250\n',
    { fatal: false, name: 'InvalidTypeConversion', description: 'Invalid type conversion.', position: 0 }],
  ['select _2 from BlobStorage where _2 > 100', 'é,250,350,450\n100,hello,300,400\n', {}, '250\n',
    { fatal: false, name: 'InvalidTypeConversion', description: 'Invalid type conversion.', position: 15 }],
  ['SELECT Package from BlobStorage', 'Service,Package\r\nA,a\r\nEvent Hubs\r\nB,b\r\n', HEADED, 'a\nb\n',
    { fatal: false, name: 'InvalidColumnOrdinal', description: 'Invalid column ordinal.', position: 22 }],
  ['select * from BlobStorage', ROWS, FROM_JSON, '\n',
    { fatal: true, name: 'ParseError', description: "Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['. ", position: 0 }],
  ['SELECT * from BlobStorage', '{"a":1}\n{name: owner}\n{"a":2}', FROM_JSON, '1\n',
    { fatal: true, name: 'ParseError', description: "Unexpected token 'n' at [byte: 1]. Expecting tokens '\"', or '}'. ", position: 8 }],
  ['SELECT * from BlobStorage', '{"a":1}\n{"a":', FROM_JSON, '1\n',
    { fatal: true, name: 'ParseError', description: "Unexpected end at [byte: 5]. Expecting tokens '{', '[', or a value. ", position: 8 }],
  ['SELECT * from BlobStorage', 'a,b\n"c,d\n', {}, 'a,b\n',
    { fatal: true, name: 'ParseError', description: 'A quoted field has no closing quote.', position: 4 }],
  ['SELECT Nowhere from BlobStorage', PEOPLE, HEADED, '',
    { fatal: true, name: 'InvalidColumnName', description: "There is no column 'Nowhere'.", position: 14 }],
]

for (const [query, blob, formats, text, error] of FAILING) {
  test(`${query} over ${JSON.stringify(blob.slice(0, 40))}: ${String(error['name'])}`, async () => {
    const reply = await ask(query, blob, formats)
    assert.deepEqual(reply.errors, [error])
    assert.equal(reply.text, text)
    // Azure's SDK for JavaScript waits for the end record, even after an error.
    assert.equal(reply.messages.at(-1)?.kind, 'end')
  })
}

test('the answer reports progress every 4 MiB and before the end record', async () => {
  const blob = 'abcdefg\n'.repeat(1_200_000)
  const { messages } = await ask('SELECT COUNT(*) FROM BlobStorage', blob)
  const progress = messages.filter(({ kind }) => kind === 'progress').map(({ fields }) => fields)
  assert.deepEqual(
    progress.map((fields) => fields['bytesScanned']),
    [4_194_304, 8_388_608, 9_600_000],
  )
  assert.deepEqual(messages.at(-1), { kind: 'end', fields: { totalBytes: 9_600_000 } })
})

test('LIMIT stops reading the blob', async () => {
  const { text, messages } = await ask('SELECT * FROM BlobStorage LIMIT 1', 'a\n'.repeat(1_000_000))
  assert.equal(text, 'a\n')
  assert.deepEqual(messages.at(-2)?.fields, { bytesScanned: 65_536, totalBytes: 2_000_000 })
})

test('sys.split returns the sizes of batches of whole records that add up to the blob', async () => {
  const blob = `head\n${`${'x'.repeat(999)}\n`.repeat(25_000)}`
  const reply = await ask('SELECT sys.split(10485760)FROM BlobStorage', blob, HEADED)
  assert.equal(reply.text, '10486005\n10486000\n4028000\n')
})

test('a record above the size limit is an error and is not buffered', async () => {
  const blob = Buffer.alloc(9 * 1024 * 1024, 'x')
  const reply = await ask('SELECT COUNT(*) FROM BlobStorage', blob)
  assert.deepEqual(
    reply.errors.map(({ name, fatal }) => [name, fatal]),
    [['RecordTooLarge', true]],
  )
})

test('short rows with long results are sent in pieces', async () => {
  const long = 'y'.repeat(100_000)
  const reply = await ask(`SELECT '${long}' FROM BlobStorage`, '\n'.repeat(100))
  assert.equal(reply.text, `${long}\n`.repeat(100))
  assert(reply.messages.filter(({ kind }) => kind === 'resultData').length >= 50)
})
