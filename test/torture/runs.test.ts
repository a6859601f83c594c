// Many clients at once against one server: for each object, one order of all calls explains all answers.
import { after, describe, test } from 'node:test'
import { startServer } from '../../src/server.ts'
import { tempFolder, cleanUp } from '../server-process.ts'
import { assertExplained, endpointsOf, SEEDS, torture } from './rig.ts'

after(cleanUp)

// Each waits for messages to become visible in the end, so several run at once.
describe('one server', { concurrency: 3 }, () => {
  for (const seed of SEEDS) {
    test(`in memory, seed ${seed}`, async () => {
      const server = await startServer()
      const history = await torture({ servers: [endpointsOf(server)], seed })
      await server.close()
      assertExplained(history, seed)
    })

    test(`on disk, seed ${seed}`, async () => {
      const server = await startServer({ location: tempFolder('torture') })
      const history = await torture({ servers: [endpointsOf(server)], seed })
      await server.close()
      assertExplained(history, seed)
    })

    test(`with faults, seed ${seed}`, async (t) => {
      const server = await startServer()
      for (const effect of [{ reset: 'after' }, { reset: 'before' }, { status: 503 }] as const) {
        server.faults.add({ effect, probability: 0.02, seed, match: { path: '/torture*' } })
      }
      const history = await torture({ servers: [endpointsOf(server)], seed, faults: true })
      await server.close()
      t.diagnostic(judgedLine(history.calls))
      assertExplained(history, seed)
    })
  }
})

function judgedLine(calls: readonly { readonly answer?: unknown }[]): string {
  const unknown = calls.filter(({ answer }) => answer === undefined).length
  return `${calls.length} calls, ${unknown} with an unknown outcome`
}
