import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { heaviest } from './profile.ts'

const url = pathToFileURL(import.meta.filename).href
const frame = (functionName: string, url: string, lineNumber: number) => ({
  functionName,
  url,
  lineNumber,
})

const ALWAYS = { fromUs: 0, toUs: Infinity }

const PROFILE = {
  nodes: [
    { id: 1, callFrame: frame('(idle)', '', -1) },
    { id: 2, callFrame: frame('putBlob', url, 9) },
    { id: 3, callFrame: frame('', 'node:http', 4) },
    { id: 4, callFrame: frame('putBlob', url, 9) },
  ],
  // A sample lasts until the next one: the first delta precedes all samples, the last sample has none.
  startTime: 1_000_000,
  samples: [1, 2, 3, 4, 1],
  timeDeltas: [7, 50_000, 2000, 1000, 4000],
}

test('self time is summed by function without idle time', () => {
  assert.deepEqual(heaviest([PROFILE], ALWAYS, 9), [
    { function: 'putBlob bench/profile.test.ts:10', selfMs: 6, share: 6 / 7 },
    { function: '(anonymous) node:http:5', selfMs: 1, share: 1 / 7 },
  ])
})

test('several threads are summed, and only the hottest functions are listed', () => {
  const [first, ...rest] = heaviest([PROFILE, PROFILE], ALWAYS, 1)
  assert.equal(first?.selfMs, 12)
  assert.deepEqual(rest, [])
})

test('only the time under load counts', () => {
  const span = { fromUs: 1_050_007, toUs: 1_052_008 }
  const names = heaviest([PROFILE], span, 9).map(({ function: name, selfMs }) => [name, selfMs])
  assert.deepEqual(names, [
    ['putBlob bench/profile.test.ts:10', 2],
    ['(anonymous) node:http:5', 1],
  ])
})
