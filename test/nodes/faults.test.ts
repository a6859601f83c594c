// Three nodes keep every acknowledged write, and show nothing half, while a node dies, PostgreSQL dies, or the network
// between them fails. They go on by themselves afterwards.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SKIP_REASON, startServer, type TestServer } from '../../src/postgres/harness.ts'
import { cleanUp } from '../server-process.ts'
import { DatabaseProxy } from './database-proxy.ts'
import {
  startFront,
  startNodeProcess,
  startNodeProcesses,
  until,
  type Front,
  type NodeProcess,
} from './rig.ts'
import { createPlaces, Writers } from './writers.ts'

describe('three nodes', { skip: SKIP_REASON ?? false }, () => {
  let postgres: TestServer
  let proxy: DatabaseProxy
  let nodes: readonly NodeProcess[]
  let front: Front

  before(async () => {
    postgres = await startServer()
    proxy = await DatabaseProxy.start(postgres.port)
    const url = proxy.url(await postgres.newDatabase())
    nodes = await startNodeProcesses(url, 3)
    front = await startFront(() => nodes)
    await createPlaces(front.ports)
  })

  after(async () => {
    await cleanUp()
    await front.close()
    await proxy.close()
    await postgres.stop()
  })

  const startWriters = (prefix: string): Promise<Writers> =>
    Writers.start({ ports: front.ports, clientsPerKind: 3, prefix })

  const isReady = async ({ adminUrl }: NodeProcess): Promise<boolean> =>
    (await fetch(`${adminUrl}/health/ready`)).ok

  test('without PostgreSQL, requests get 503 and a time to retry, and all goes on with it', async (t) => {
    const writers = await startWriters('cut')
    await writers.acknowledge(2)
    proxy.cut()
    await writers.fail(2)
    await until(async () => !(await Promise.all(nodes.map(isReady))).some(Boolean))
    for (const node of nodes)
      assert.equal((await fetch(`${node.adminUrl}/health/live`)).status, 200)
    proxy.heal()
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(
      `longest request ${Math.round(writers.longestMs)} ms; ${describeFailures(writers)}`,
    )
    assert.equal(writers.withoutRetryAfter, 0)
    assert.deepEqual([...writers.failures.keys()], ['503 ServerBusy'])
    await until(async () => (await Promise.all(nodes.map(isReady))).every(Boolean))
    await writers.check()
  })

  test('PostgreSQL may be killed and started again', async (t) => {
    const writers = await startWriters('crash')
    await writers.acknowledge(3)
    await postgres.kill()
    await writers.fail(1)
    await postgres.restart()
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(
      `longest request ${Math.round(writers.longestMs)} ms; ${describeFailures(writers)}`,
    )
    assert.deepEqual([...writers.failures.keys()], ['503 ServerBusy'])
    await writers.check()
  })

  test('a node may be killed in the middle of requests', async (t) => {
    const writers = await startWriters('kill')
    await writers.acknowledge(3)
    const [killed, ...rest] = nodes
    assert(killed !== undefined)
    nodes = rest
    killed.child.kill('SIGKILL')
    await killed.ended
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(
      `longest request ${Math.round(writers.longestMs)} ms; ${describeFailures(writers)}`,
    )
    await writers.check()
    void startNodeProcess
  })
})

function describeFailures({ acknowledgedCount, failures }: Writers): string {
  return `${acknowledgedCount} acknowledged, ${JSON.stringify([...failures])}`
}
