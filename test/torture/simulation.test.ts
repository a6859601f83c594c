// Three nodes whose reads and commits take turns as a seed says: one order of all calls explains all answers.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, test } from 'node:test'
import { allSteps, linesOf, shrunk, Simulation } from './simulation.ts'
import { lostCondition } from './bugs.ts'

const SEEDS = 60

const simulation = new Simulation()
before(() => simulation.open())
after(() => simulation.close())

for (const [kind, first] of [['the same', 1], ['new', randomInt(2 ** 31)]] as const) {
  test(`${SEEDS} ${kind} seeds, from ${first}`, async () => {
    for (let seed = first; seed < first + SEEDS; seed += 1) {
      const simulated = await simulation.run(seed)
      if (simulated.isExplained) continue
      const steps = [...(await shrunk(simulation, seed))].join(',')
      assert.fail(`npm run simulate -- --seed ${seed} --only ${steps}\n${linesOf(simulated).join('\n')}`)
    }
  })
} // prettier-ignore

test('the same seeds make the same happen again', async () => {
  const seen = async (): Promise<unknown> => {
    const again = new Simulation()
    await again.open()
    try {
      const runs = []
      for (let seed = 1; seed <= 10; seed += 1) runs.push((await again.run(seed)).history.calls)
      return runs.flat().map(({ client, operation, answer }) => [client, operation.name, answer?.status]) // prettier-ignore
    } finally {
      await again.close()
    }
  }
  assert.deepEqual(await seen(), await seen())
})

test('a bug is found, and shrunk to a few steps that find it again', async () => {
  const wrong = new Simulation(lostCondition(1))
  await wrong.open()
  try {
    let seed = 1
    while ((await wrong.run(seed)).isExplained) seed += 1
    const steps = await shrunk(wrong, seed)
    assert(steps.size < allSteps().size)
    assert.equal((await wrong.run(seed, steps)).isExplained, false)
  } finally {
    await wrong.close()
  }
})
