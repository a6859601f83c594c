// The verdict finds servers that leak, and is content with those that only make noise.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../random.ts'
import { p99, verdictOf, type Ending, type Sample } from './verdict.ts'

const MIB = 2 ** 20
const COUNT = 60
const GOOD: Ending = { liveBytes: 100 * MIB, diskBytes: 120 * MIB, fsckExitCode: 0, errors: [] }

/** A healthy server: everything wavers by a tenth, and the first samples are lower. */
function healthy(seed = 1): readonly Sample[] {
  const random = randomFrom(seed)
  const noise = (): number => 0.9 + random.below(200) / 1_000
  return Array.from({ length: COUNT }, (_, at) => {
    const warmth = Math.min(1, 0.5 + at / 10)
    return {
      rssBytes: 200 * MIB * warmth * noise(),
      heapBytes: 40 * MIB * warmth * noise(),
      externalBytes: 20 * MIB * warmth * noise(),
      descriptorCount: Math.round(60 * noise()),
      loopLagMs: 20 * noise(),
      p99Ms: { 'Put Blob': 30 * noise(), 'Get Blob': 10 * noise() },
      operationCount: 1_000,
    }
  })
}

const grown = (change: (sample: Sample, at: number) => Partial<Sample>): readonly Sample[] =>
  healthy().map((sample, at) => ({ ...sample, ...change(sample, at) }))

test('a server that only warms up and wavers is flat', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    assert.deepEqual(verdictOf(healthy(seed), GOOD).reasons, [])
    assert.equal(verdictOf(healthy(seed), GOOD).outcome, 'flat')
  }
})

const SICK: readonly [what: string, RegExp, readonly Sample[]][] = [
  ['a heap that grows by 1 MiB with each sample', /^heap/, grown(({ heapBytes }, at) => ({ heapBytes: heapBytes + at * MIB }))],
  ['buffers that are kept', /^buffers/, grown(({ externalBytes }, at) => ({ externalBytes: externalBytes + at * 2 * MIB }))],
  ['memory outside of both', /^resident/, grown(({ rssBytes }, at) => ({ rssBytes: rssBytes + at * 5 * MIB }))],
  ['one descriptor more with each sample', /^descriptors/, grown(({ descriptorCount }, at) => ({ descriptorCount: descriptorCount + at }))],
  ['a loop that gets slower', /^event-loop lag/, grown(({ loopLagMs }, at) => ({ loopLagMs: loopLagMs + at * 10 }))],
  ['one operation that gets slower', /^Get Blob p99/, grown(({ p99Ms }, at) => ({ p99Ms: { ...p99Ms, 'Get Blob': 10 + at * at } }))],
] // prettier-ignore

for (const [what, reason, samples] of SICK) {
  test(`${what}: not flat`, () => {
    const { outcome, reasons } = verdictOf(samples, GOOD)
    assert.equal(outcome, 'not flat')
    assert.equal(reasons.length, 1, reasons.join('\n'))
    assert.match(reasons[0] ?? '', reason)
  })
}

test('the end counts: the disk, fsck and unexpected answers', () => {
  const outcomeOf = (ending: Partial<Ending>) => verdictOf(healthy(), { ...GOOD, ...ending }).outcome
  assert.equal(outcomeOf({ diskBytes: 131 * MIB }), 'not flat')
  assert.equal(outcomeOf({ liveBytes: 0 }), 'not flat')
  assert.equal(outcomeOf({ fsckExitCode: 1 }), 'not flat')
  assert.equal(outcomeOf({ errors: ['Put Blob: 500'] }), 'not flat')
}) // prettier-ignore

test('a run that is too short, or without load, says nothing', () => {
  assert.equal(verdictOf(healthy().slice(0, 9), GOOD).outcome, 'says nothing')
  assert.equal(verdictOf([], GOOD).outcome, 'says nothing')
  const idle = grown((_, at) => ({ operationCount: at % 3 === 0 ? 0 : 1_000 }))
  assert.equal(verdictOf(idle, GOOD).outcome, 'says nothing')
})

test('p99 is the value below which 99 of 100 are', () => {
  assert.equal(p99(Array.from({ length: 1_000 }, (_, at) => at)), 990)
  assert.equal(p99([5]), 5)
  assert.equal(p99([]), 0)
})
