// Many clients at once against three nodes on PostgreSQL, of which one dies: one order of all calls explains all answers.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SKIP_REASON, startServer, type TestServer } from '../../src/postgres/harness.ts'
import { cleanUp } from '../server-process.ts'
import { startFront, startNodeProcesses, type Front, type NodeProcess, type Ports } from '../nodes/rig.ts' // prettier-ignore
import type { Send } from '../../src/torture/drive/kind.ts'
import { assertExplained, endpointsOf, SEEDS, torture } from './rig.ts'

const OPERATIONS = 1_300

describe('three nodes', { skip: SKIP_REASON ?? false }, () => {
  let postgres: TestServer
  let nodes: NodeProcess[]
  let front: Front

  before(async () => {
    postgres = await startServer()
    nodes = await startNodeProcesses(postgres.url(await postgres.newDatabase()), 3)
    front = await startFront(() => nodes)
  })

  after(async () => {
    await cleanUp()
    await front.close()
    await postgres.stop()
  })

  for (const seed of SEEDS) {
    test(`each request goes to another node, seed ${seed}`, async () => {
      const servers = nodes.map(({ ports }) => endpointsOf(named(ports)))
      const history = await torture({ servers, seed, operations: OPERATIONS })
      assertExplained(history, seed)
    })
  }

  test('a node dies in the middle', async () => {
    const seed = 7
    const killed = nodes[1]
    assert(killed !== undefined)
    let count = 0
    const killing =
      (send: Send): Send =>
      (request) => {
        count += 1
        if (count === OPERATIONS / 2) {
          killed.child.kill('SIGKILL')
          nodes = nodes.filter((node) => node !== killed)
        }
        return send(request)
      }
    const servers = [endpointsOf(named(front.ports))]
    const history = await torture({ servers, seed, operations: OPERATIONS, through: killing })
    assertExplained(history, seed)
  })
})

function named({ blob, queue, table, file, dfs, smb }: Ports) {
  return {
    blobPort: blob,
    queuePort: queue,
    tablePort: table,
    filePort: file,
    dfsPort: dfs,
    smbPort: smb,
  }
}
