// Three nodes keep every acknowledged write, and show nothing half, while a node dies, PostgreSQL dies, or the network
// between them fails. They go on by themselves afterwards.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { checkStore } from '../../src/extent/sweep/fsck.ts'
import { SKIP_REASON, startServer, type TestServer } from '../../src/postgres/harness.ts'
import { cleanUp } from '../server-process.ts'
import { DatabaseProxy } from './database-proxy.ts'
import {
  startFront,
  startLocalNode,
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
  let url: string
  let nodes: NodeProcess[]
  let front: Front

  before(async () => {
    postgres = await startServer()
    proxy = await DatabaseProxy.start(postgres.port)
    url = proxy.url(await postgres.newDatabase())
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

  const readiness = (): Promise<readonly boolean[]> =>
    Promise.all(nodes.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/health/ready`)).ok))

  test('a node with all roles is killed in the middle of requests', async (t) => {
    const writers = await startWriters('node')
    await writers.acknowledge(3)
    const [killed] = nodes.splice(0, 1)
    assert(killed !== undefined)
    killed.child.kill('SIGKILL')
    // Files, too: another node has taken them over.
    await writers.acknowledge(5)
    nodes.push(await startNodeProcess({ url, name: 'n4' }))
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(writers.summary())
    await writers.check()
  })

  test('the network to PostgreSQL fails: requests get 503 and a time to retry', async (t) => {
    const writers = await startWriters('network')
    await writers.acknowledge(2)
    proxy.cut()
    await writers.fail(2)
    await until(async () => !(await readiness()).some(Boolean))
    for (const { adminUrl } of nodes) assert((await fetch(`${adminUrl}/health/live`)).ok)
    proxy.heal()
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(writers.summary())
    assertBusy(writers)
    await until(async () => (await readiness()).every(Boolean))
    await writers.check()
  })

  test('PostgreSQL is killed with all its processes and started again', async (t) => {
    const writers = await startWriters('postgres')
    await writers.acknowledge(3)
    await postgres.kill()
    await writers.fail(1)
    await postgres.restart()
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(writers.summary())
    assertBusy(writers)
    await writers.check()
  })

  test('afterwards, all content and all references are whole', async () => {
    const node = await startLocalNode({ url })
    const { kv, extents } = node.server.store
    const { problems, contentCount } = await checkStore(kv, extents)
    await node.close()
    assert.deepEqual(problems, [])
    assert(contentCount > 0)
  })
})

/** Connections to the File service end when its home moves. */
function assertBusy({ failures, withoutRetryAfter }: Writers): void {
  assert.equal(withoutRetryAfter, 0)
  for (const failure of failures.keys()) {
    assert.match(failure, /: 503 ServerBusy$|^Put Range: (ECONNRESET|EPIPE)$/)
  }
}
