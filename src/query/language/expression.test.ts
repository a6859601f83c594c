// The value of each expression, as the reference of the query language defines it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, JSON_LINES } from '../run/example.ts'

const ROW = '5,ten,2.5,,true,2017-01-02T03:04:05.006Z\n'

// prettier-ignore
const VALUES: readonly (readonly [expression: string, value: string])[] = [
  // Examples of the reference.
  ["CHARACTER_LENGTH('abcdefg')", '7'],
  ['CHAR_LENGTH(_1)', '1'],
  ["LOWER('AbCdEfG')", 'abcdefg'],
  ["UPPER('AbCdEfG')", 'ABCDEFG'],
  ["SUBSTRING('123456789', 1, 5)", '23456'],
  ["TRIM(BOTH '123' FROM '1112211Microsoft22211122')", 'Microsoft'],
  ["DATE_ADD('minute', 1, CAST('2017-01-02T03:04:05.006Z' AS TIMESTAMP))", '2017-01-02T03:05:05.006Z'],
  ["DATE_DIFF('hour','2018-11-09T00:00+05:30','2018-11-09T01:00:23-08:00')", '14'],
  ["EXTRACT(YEAR FROM '2010-01-01T')", '2010'],
  ["TO_STRING(CAST('1969-07-20T20:18Z' AS TIMESTAMP), 'MMMM d, y')", '"July 20, 1969"'],
  ["TO_TIMESTAMP('2007T')", '2007-01-01T00:00:00.000Z'],
  ['UTCNOW()', '2026-01-15T12:00:00.000Z'],
  // Strings
  ["SUBSTRING('abc' FROM 1)", 'bc'],
  ["SUBSTRING('abc' FROM 0 FOR 2)", 'ab'],
  ["SUBSTRING('abc', -1, 2)", 'a'],
  ["TRIM('  a ')", 'a'],
  ["TRIM(LEADING FROM '  a ')", 'a '],
  ["TRIM(TRAILING 'x' FROM 'xax')", 'xa'],
  ["TRIM('x' FROM 'xax')", 'a'],
  ["'it''s'", "it's"],
  ["CHAR_LENGTH('a😀')", '2'],
  // Dates
  ["DATE_ADD(month, 1, '2024-01-31')", '2024-02-29T00:00:00.000Z'],
  ["DATE_ADD('year', -1, '2024-02-29T00:00Z')", '2023-02-28T00:00:00.000Z'],
  ["DATE_DIFF('day', '2010-01-01T23:00Z', '2010-01-02T01:00Z')", '0'],
  ["DATE_DIFF('month', '2010-01-31', '2010-03-30')", '1'],
  ["DATE_DIFF('year', '2011-01-01', '2010-01-01')", '-1'],
  ["EXTRACT(timezone_hour FROM '2010-01-01T00:00-07:30')", '-7'],
  ["EXTRACT(timezone_minute FROM '2010-01-01T00:00-07:30')", '-30'],
  ["EXTRACT(HOUR FROM '2010-01-01T05:00-07:00')", '5'],
  ["TO_STRING('2010-01-02T15:04:05.678-07:30', 'yy M MMM dd h hh H a m s SSS X XX XXX')", '10 1 Jan 02 3 03 15 PM 4 5 678 -0730 -0730 -07:30'],
  ["TO_STRING('2010-01-02', 'X x xx xxx T')", 'Z +00 +0000 +00:00 T'],
  ["CAST('2017-01-01' AS TIMESTAMP) + 1.5", '2017-01-02T12:00:00.000Z'],
  // Numbers and casts
  ['1 + 2 * 3 - 4', '3'],
  ['(1 + 2) * 3', '9'],
  ['7 / 2', '3'],
  ['7 / 2.0', '3.5'],
  ['-7 % 3', '-1'],
  ['- - 1', '1'],
  ['_1 + 1', '6'],
  ['_3 * 2', '5'],
  ['9223372036854775807', '9223372036854775807'],
  ["CAST('12' AS INT) + 1", '13'],
  ['CAST(2.9 AS INT)', '2'],
  ['CAST(TRUE AS INT)', '1'],
  ["CAST('1e3' AS FLOAT)", '1000'],
  ['CAST(1 AS STRING)', '1'],
  ["CAST('True' AS BOOL)", 'true'],
  ["CAST('1.50' AS DECIMAL(10, 2))", '1.5'],
  ['CAST(NULL AS INT)', ''],
  // Predicates, with their three values
  ['1 = 1.0', 'true'],
  ["'10' > 9", 'true'],
  ["'10' > '9'", 'false'],
  ["TRUE = 'true'", 'true'],
  ["CAST('2017-01-01' AS TIMESTAMP) < '2017-01-01T00:00-01:00'", 'true'],
  ['1 <> 2 AND 1 != 2', 'true'],
  ['1 <= 1 AND 2 >= 3', 'false'],
  ['NULL = NULL', ''],
  ['NULL AND FALSE', 'false'],
  ['NULL OR TRUE', 'true'],
  ['NULL AND TRUE', ''],
  ['NOT NULL', ''],
  ['NOT NOT TRUE', 'true'],
  ['NULL IS NULL', 'true'],
  ["_4 IS NOT NULL", 'true'],
  ['5 BETWEEN 1 AND 5', 'true'],
  ['5 NOT BETWEEN 1 AND 5', 'false'],
  ["_1 IN (1, 5)", 'true'],
  ["_2 NOT IN ('ten', 'two')", 'false'],
  ['1 IN (2, NULL)', ''],
  // Conditions
  ["CASE WHEN _1 > 9 THEN 'many' WHEN _1 > 4 THEN 'some' ELSE 'few' END", 'some'],
  ["CASE _2 WHEN 'ten' THEN 10 END", '10'],
  ["CASE _2 WHEN 'two' THEN 2 END", ''],
  ['COALESCE(NULL, 2, 1 / 0)', '2'],
  ['NULLIF(1, 1)', ''],
  ['NULLIF(1, NULL)', '1'],
]

for (const [expression, value] of VALUES) {
  test(`${expression} is ${value === '' ? 'NULL' : value}`, async () => {
    const reply = await ask(`SELECT ${expression} FROM BlobStorage`, ROW)
    assert.deepEqual(reply.errors, [])
    assert.equal(reply.text, `${value}\n`)
  })
}

const FAILURES: readonly (readonly [expression: string, name: string])[] = [
  ['_2 + 1', 'InvalidTypeConversion'],
  ['_2 > 1', 'InvalidTypeConversion'],
  ["CAST('2.5' AS INT)", 'InvalidTypeConversion'],
  ["CAST('' AS INT)", 'InvalidTypeConversion'],
  ["CAST('2017-02-30' AS TIMESTAMP)", 'InvalidTypeConversion'],
  ["CAST('maybe' AS BOOLEAN)", 'InvalidTypeConversion'],
  ["SUBSTRING('abc', 0, -1)", 'InvalidTypeConversion'],
  ['_7', 'InvalidColumnOrdinal'],
  ['1 / 0', 'DivideByZero'],
  ['1.5 % 0', 'DivideByZero'],
  ['9223372036854775807 + 1', 'ArithmeticOverflow'],
  ['1e308 * 10', 'ArithmeticOverflow'],
  ["DATE_ADD('year', 9999, '2017')", 'ArithmeticOverflow'],
]

for (const [expression, name] of FAILURES) {
  test(`${expression} drops its row: ${name}`, async () => {
    const reply = await ask(`SELECT ${expression} FROM BlobStorage`, ROW)
    assert.equal(reply.text, '')
    assert.deepEqual(
      reply.errors.map((error) => [error['name'], error['fatal']]),
      [[name, false]],
    )
  })
}

// The examples of the reference, corrected where its own table is wrong ('a_' does not match 'abc').
const LIKE_BLOB = 'abc,abd,cd\ntest,test2,test3\na_bc,xc%d^e,gh[i\n'
const LIKES: readonly (readonly [query: string, text: string])[] = [
  ["SELECT _1, _2, _3 from BlobStorage where _2 LIKE 'a%'", 'abc,abd,cd\n'],
  ["SELECT * from BlobStorage where _1 LIKE 'a[bcd]c'", 'abc,abd,cd\n'],
  ["SELECT _1 from BlobStorage where _2 LIKE '[^xyz]%'", 'abc\ntest\n'],
  ["SELECT * from BlobStorage where _1 LIKE 'a__'", 'abc,abd,cd\n'],
  ["SELECT _2,_3 from BlobStorage where _3 LIKE '[g-h]_![[a-j]' Escape '!'", 'xc%d^e,gh[i\n'],
  ["SELECT _1 from BlobStorage where _2 LIKE '%!%%' ESCAPE '!'", 'a_bc\n'],
  ["SELECT _1 from BlobStorage where _3 LIKE '%[[]%'", 'a_bc\n'],
  ["SELECT _1 from BlobStorage where _1 NOT LIKE '%b%c%'", 'test\n'],
  ["SELECT _1 from BlobStorage where _1 LIKE ''", ''],
]

for (const [query, text] of LIKES) {
  test(query, async () => assert.equal((await ask(query, LIKE_BLOB)).text, text))
}

test('a pattern with many runs is matched in reasonable time', async () => {
  const blob = `${'a'.repeat(50_000)}\n`
  const pattern = `${'%a'.repeat(1000)}b`
  const reply = await ask(`SELECT 1 FROM BlobStorage WHERE _1 LIKE '${pattern}'`, blob)
  assert.equal(reply.text, '')
})

test('IS MISSING distinguishes a missing field from a null one', async () => {
  const blob = '{"a":null}\n{"b":1}\n'
  const query = 'SELECT a IS MISSING AS missing, a IS NULL AS empty FROM BlobStorage'
  const reply = await ask(query, blob, { input: JSON_LINES })
  assert.equal(reply.text, 'false,true\ntrue,true\n')
})
