import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atMost, loadTable, median, number, pairTable, spread, type Rates } from './report.ts'
import { ROWS } from './rows.ts'
import type { TargetName } from './target.ts'

const MEDIANS: readonly [values: readonly number[], expected: number][] = [
  [[3], 3],
  [[9, 1, 5], 5],
  [[4, 1, 3, 2], 2.5],
  [[], Number.NaN],
]
for (const [values, expected] of MEDIANS)
  test(`the median of ${JSON.stringify(values)} is ${expected}`, () =>
    assert.equal(median(values), expected))

const NUMBERS: readonly [value: number, expected: string][] = [
  [41234.5, '41,235'],
  [22.46, '22.5'],
  [0.317, '0.32'],
  [Number.NaN, '–'],
]
for (const [value, expected] of NUMBERS)
  test(`${value} is written ${expected}`, () => assert.equal(number(value), expected))

test('a spread is the median with its range, or a single value', () => {
  assert.equal(spread([100, 300, 200]), '200 (100–300)')
  assert.equal(spread([200]), '200')
})

test('a value meets its goal up to the goal itself', () => {
  assert.equal(atMost(0.4, 0.4, ' s'), '0.4 s (0.4 s) ✓')
  assert.equal(atMost(0.41, 0.4, ' s'), '0.41 s (0.4 s) ✗')
})

/** The cells of the only row of a table. */
function cells(rates: readonly (readonly [TargetName, Rates])[]): readonly string[] {
  const row = ROWS.find((row) => row.name === 'get-4k')
  assert(row)
  const line = loadTable([{ row, rates: new Map(rates) }]).split('\n')[2]
  assert(line)
  return line.split('|').map((cell) => cell.trim()).slice(2, -1) // prettier-ignore
}

test('Get Blob 4 KiB is compared with both servers and its goals', () => {
  const rates = [
    ['lazuli', { cpuUs: [], perSecond: [18_000] }],
    ['azurite', { cpuUs: [], perSecond: [1000] }],
    ['bare', { cpuUs: [], perSecond: [40_000] }],
  ] as const
  const expected = ['18,000', '1,000', '40,000', '18× (18×) ✓', '0.45× (0.5×) ✗']
  assert.deepEqual(cells(rates), expected)
})

test('a rate with errors has no ratio', () => {
  const rates = [
    ['lazuli', { cpuUs: [], perSecond: [18_000], failure: '3 of 9 answers were errors' }],
    ['azurite', { cpuUs: [], perSecond: [1000] }],
  ] as const
  const expected = ['failed: 3 of 9 answers were errors', '1,000', '–', '–', '–']
  assert.deepEqual(cells(rates), expected)
})

test('Get File is compared with Get Blob of the same run', () => {
  const measured = (name: string, perSecond: readonly number[]) => {
    const row = ROWS.find((each) => each.name === name)
    assert(row)
    return { row, rates: new Map([['lazuli', { perSecond, cpuUs: [] }] as const]) }
  }
  const results = [measured('get-4k', [1_000]), measured('get-file-4k', [900])]
  const [, , blob = '', file = ''] = loadTable(results).split('\n')
  assert.match(blob, /–\s+\|$/)
  assert.match(file, /0\.9× \(0\.8×\) ✓ of Get Blob 4 KiB\s+\|$/)
})

test('a pair is compared round by round', () => {
  const [now, before] = [
    { perSecond: [100, 300], cpuUs: [20, 20] },
    { perSecond: [100, 200], cpuUs: [10, 30] },
  ]
  const [row] = ROWS
  assert(row)
  const rates = new Map<TargetName, Rates>([['lazuli', now], ['before', before]]) // prettier-ignore
  const [, , line = ''] = pairTable([{ row, rates }]).split('\n')
  const cells = line.split('|').map((cell) => cell.trim())
  assert.deepEqual(cells.slice(4, 8), ['1.25 (1–1.5)', '20', '20', '1 (0.5–1.5)'])
})
