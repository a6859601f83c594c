// The fuzzer itself: it finds what it is there to find.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Coverage } from './coverage.ts'
import { fuzz, type FuzzResult } from './fuzzer.ts'
import { target, type Target } from './target.ts'

const coverage = new Coverage((url) => url.endsWith('/faulty-decoders.ts'))
coverage.start()
const {
  Refused,
  throwsBehindFourLetters,
  neverReturnsEnough,
  returnsTooMuch,
  worksTooMuch,
  forgets,
} = await import('./faulty-decoders.ts')

function find(faulty: Target, inputCount: number): Promise<FuzzResult> {
  return fuzz({
    target: faulty,
    coverage,
    seed: 1,
    corpus: [],
    goesOn: (_, count) => count < inputCount,
  })
}

const base: Pick<Target, 'seeds' | 'refuses'> = { seeds: ['a'], refuses: [Refused] }

test('it works its way to an error behind four letters, each of which is checked on its own', async () => {
  const { findings, corpus } = await find(
    { name: 'letters', ...base, words: ['u', 'z'], lengthMax: 5, decode: throwsBehindFourLetters },
    20_000,
  )
  assert.match(findings[0]?.problem ?? 'nothing was found', /throws TypeError: found/)
  assert(corpus.length >= 4)
})

test('an error that is declared is no problem', async () => {
  const { findings } = await find(
    target({ name: 'refused', ...base, decode: neverReturnsEnough }),
    500,
  )
  assert.deepEqual(findings, [])
})

for (const [what, decode, problem] of [
  ['a result far longer than the input', returnsTooMuch, /returns more than/],
  ['work that grows with the cube of the input', worksTooMuch, /runs \d+ blocks for/],
] satisfies readonly [string, Target['decode'], RegExp][]) {
  test(`${what} is found`, async () => {
    const { findings } = await find({ name: 'costly', ...base, lengthMax: 80, decode }, 300)
    assert.match(findings[0]?.problem ?? 'nothing was found', problem)
  })
}

test('what is not the same after it was encoded and decoded again is found', async () => {
  const { findings } = await find(
    target({
      name: 'forgetful',
      ...base,
      decode: (input) => ({ text: input.toString('latin1') }),
      again: forgets,
    }),
    2_000,
  )
  assert.match(findings[0]?.problem ?? 'nothing was found', /encoded and decoded again/)
})

test('the same seed finds the same inputs', async () => {
  const run = () =>
    find(target({ name: 'letters', ...base, decode: throwsBehindFourLetters }), 2_000)
  const [first, second] = [await run(), await run()]
  assert.deepEqual(second.corpus, first.corpus)
})
