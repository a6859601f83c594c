// The tests of a group of decoders: every input that once broke one, the corpus, and about a hundred inputs that are the same in every run;
// then, for a share of a second, inputs that no run has tried. A minute of each decoder is `npm run fuzz`.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { Coverage } from './coverage.ts'
import { fuzz, type Finding } from './fuzzer.ts'
import { readInputs } from './input-file.ts'
import { loadGroup } from './targets.ts'

/** FUZZ_SEED=n sets another seed. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
/** Counted, not timed: the same on every machine. */
const INPUT_COUNT = 96

/** FUZZ_NEW_SEED=n repeats the second run of another time, as far as its machine got. */
const NEW_SEED = Number(process.env['FUZZ_NEW_SEED'] ?? randomInt(2 ** 31))
/** Of each decoder, so that all of them take about half a minute. FUZZ_SHARE_MS sets another. */
const SHARE_MS = Number(process.env['FUZZ_SHARE_MS'] ?? 300)

export async function testGroup(group: string): Promise<void> {
  const coverage = new Coverage()
  coverage.start()
  after(() => coverage.stop())
  for (const target of await loadGroup(group)) {
    const { name } = target
    test(`${name}: what it can't decode, it refuses (seed ${SEED})`, async () => {
      const kept = [...readInputs('crashers', name), ...readInputs('corpus', name)]
      const end = target.seeds.length + kept.length + INPUT_COUNT
      const goesOn = (_input: Buffer, count: number) => count < end
      const result = await fuzz({ target, coverage, seed: SEED, corpus: kept, goesOn })
      assert.deepEqual(result.findings.map(textOf), [])
      assert.equal(result.count, end)
      assert(result.blockCount > 0, 'no code was reached')
    })
    test(`${name}: so it does with new inputs (seed ${NEW_SEED})`, async () => {
      const corpus = readInputs('corpus', name)
      const untilMs = performance.now() + SHARE_MS
      const goesOn = () => performance.now() < untilMs
      const { findings } = await fuzz({ target, coverage, seed: NEW_SEED, corpus, goesOn })
      assert.deepEqual(findings.map(textOf), [])
    })
  }
}

function textOf({ input, problem }: Finding): string {
  return `${problem}\n  input: ${JSON.stringify(input.toString('latin1'))}`
}
