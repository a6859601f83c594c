// npm run simulate: simulated runs, one seed after the other, for some seconds; or one seed, also with some of its steps only.
import { parseArgs } from 'node:util'
import { randomInt } from 'node:crypto'
import { linesOf, shrunk, Simulation } from './simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '60' },
  },
})

const simulation = new Simulation()
await simulation.open()
const given = values.seed === undefined ? undefined : Number(values.seed)
if (given !== undefined) {
  const only = values.only === undefined ? undefined : new Set(values.only.split(','))
  const simulated = await simulation.run(given, only)
  console.log(linesOf(simulated).join('\n'))
  process.exitCode = simulated.isExplained ? 0 : 1
} else {
  process.exitCode = await runMany(randomInt(2 ** 31), Number(values.seconds) * 1_000)
}
await simulation.close()

async function runMany(first: number, forMs: number): Promise<number> {
  const endMs = performance.now() + forMs
  let [count, callCount] = [0, 0]
  for (let seed = first; performance.now() < endMs; seed += 1) {
    const { history, isExplained } = await simulation.run(seed)
    count += 1
    callCount += history.calls.length
    if (isExplained) continue
    const steps = [...(await shrunk(simulation, seed))].join(',')
    console.log(`seed ${seed} fails: npm run simulate -- --seed ${seed} --only ${steps}`)
    return 1
  }
  console.log(`${count} seeds from ${first}, ${callCount} calls: all explained`)
  return 0
}
