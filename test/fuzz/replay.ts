// The tests of a group of decoders: every input that once broke one, the corpus, and about a hundred new inputs. A minute
// of each decoder is `npm run fuzz`.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Coverage } from './coverage.ts'
import { fuzz, type Finding } from './fuzzer.ts'
import { readInputs } from './input-file.ts'
import { loadGroup } from './targets.ts'

/** FUZZ_SEED=n sets another seed. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
/** Counted, not timed: the same on every machine. */
const INPUT_COUNT = 96

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
  }
}

function textOf({ input, problem }: Finding): string {
  return `${problem}\n  input: ${JSON.stringify(input.toString('latin1'))}`
}
