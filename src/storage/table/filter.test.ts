import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFilter } from './filter-parse.ts'
import { matchesFilter, matchesTable, type FilterEntity } from './filter.ts'

const ENTITY: FilterEntity = {
  partitionKey: 'Part2',
  rowKey: `o'clock`,
  timestamp: { type: 'Edm.DateTime', value: '2026-11-15T19:46:33.1657319Z' },
  properties: {
    Name: { type: 'Edm.String', value: 'Ann' },
    Number: { type: 'Edm.String', value: '12' },
    Active: { type: 'Edm.Boolean', value: true },
    Closed: { type: 'Edm.Boolean', value: false },
    Age: { type: 'Edm.Int32', value: 30 },
    PlayIndex: { type: 'Edm.Int64', value: '120' },
    Ticks: { type: 'Edm.Int64', value: '9007199254740993' },
    Price: { type: 'Edm.Double', value: 12.5 },
    Whole: { type: 'Edm.Double', value: 5 },
    Odd: { type: 'Edm.Double', value: 'NaN' },
    Endless: { type: 'Edm.Double', value: 'Infinity' },
    Born: { type: 'Edm.DateTime', value: '1996-02-29T00:00:00.1234567Z' },
    Id: { type: 'Edm.Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
    Photo: { type: 'Edm.Binary', value: 'AQID' },
  },
}

const MATCHES: readonly (readonly [text: string, matches: boolean])[] = [
  ['', true],
  ['true', true],
  ['false', false],
  // Keys compare ordinally and are case-sensitive
  [`PartitionKey eq 'Part2'`, true],
  [`PartitionKey eq 'part2'`, false],
  [`not (PartitionKey lt 'Part2')`, true],
  [`RowKey eq 'o''clock'`, true],
  [`'Part1' lt PartitionKey and PartitionKey lt 'Part3'`, true],
  [`((PartitionKey gt 'Part') and (PartitionKey le 'Part\`'))`, true],
  [`Timestamp ge datetime'2026-11-15T19:46:33.1657319Z'`, true],
  [`Timestamp gt datetime'2026-11-15T19:46:33.1657319Z'`, false],
  // Strings
  [`Name gt 'Am' and Name lt 'Ao'`, true],
  [`Number lt '9'`, true],
  [`Name eq ''`, false],
  // Booleans
  ['Active', true],
  ['Active eq true', true],
  ['Closed', false],
  ['not Closed', true],
  ['Closed eq False', true],
  ['Name', false],
  // Numbers
  ['Age eq 30', true],
  ['Age ge 31', false],
  ['PlayIndex ge 12L and PlayIndex lt 13L', false],
  ['PlayIndex eq 120', true],
  ['Ticks eq 9007199254740993L', true],
  ['Ticks eq 9007199254740992L', false],
  ['Price gt 12', true],
  ['Price eq 12.5', true],
  ['Whole eq 5', true],
  ['Whole eq 5.0', true],
  ['Age eq 30L', false],
  ['Age eq 30.0', false],
  ['Whole eq 5L', false],
  ['Odd eq NaN', false],
  ['Odd ne NaN', true],
  ['Odd lt 1.0 or Odd ge 1.0', false],
  ['Endless eq INF', true],
  ['Endless gt 1e308', true],
  // Other types
  [`Born eq datetime'1996-02-29T00:00:00.1234567Z'`, true],
  [`Born lt datetime'1996-02-29T00:00:00.1234568Z'`, true],
  [`Born eq datetime'1996-02-29T01:00:00.1234567+01:00'`, true],
  [`Id eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'`, true],
  [`Id gt guid'00000000-0000-0000-0000-000000000000'`, true],
  [`Photo eq X'010203'`, true],
  [`Photo eq binary'010204'`, false],
  [`Photo lt X'0103'`, true],
  // A value of another type never matches, and is no error
  [`Age eq '30'`, false],
  [`Age ne '30'`, false],
  ['Name ne 5', false],
  ['Number eq 12', false],
  [`Id eq 'c9da6455-213d-42c9-9a79-3e9149a57833'`, false],
  [`not (Age eq '30')`, true],
  // Nor does a missing property
  ['Missing eq 1', false],
  ['Missing ne 1', false],
  [`Missing ne ''`, false],
  ['Missing', false],
  ['not Missing', true],
  ['not (Missing ge 1)', true],
  ['not (Missing ne 1)', true],
  ['Missing eq 1 or Age eq 30', true],
  ['Missing eq 1 and Age eq 30', false],
  ['toString ne 1', false],
  ['__proto__ ne 1', false],
]

for (const [text, matches] of MATCHES) {
  test(`${text} ${matches ? 'matches' : "doesn't match"}`, () => {
    assert.equal(matchesFilter(parseFilter(text), ENTITY), matches)
  })
}

test('a property can be named __proto__', () => {
  const properties = Object.fromEntries([['__proto__', { type: 'Edm.Int32', value: 1 } as const]])
  assert(matchesFilter(parseFilter('__proto__ eq 1'), { ...ENTITY, properties }))
})

const TABLES: readonly (readonly [text: string, matches: boolean])[] = [
  ['', true],
  ['false', false],
  [`TableName eq 'MyTable'`, true],
  [`TableName eq 'MYTABLE'`, true],
  [`TableName eq 'MyTable2'`, false],
  [`TableName ge 'My' and TableName lt 'Mz'`, true],
  [`TableName ge 'my' and TableName lt 'my{'`, true],
  [`not (TableName ge 'N')`, true],
]

for (const [text, matches] of TABLES) {
  test(`${text} ${matches ? 'finds' : "doesn't find"} MyTable`, () => {
    assert.equal(matchesTable(parseFilter(text, 'table'), 'MyTable'), matches)
  })
}
