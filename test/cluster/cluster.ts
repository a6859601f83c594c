// Several nodes in one process, on one engine in memory. The test decides which of them is the home of the files.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openMemoryExtents } from '../../src/extent/memory.ts'
import { sweepExtents } from '../../src/extent/sweep/sweep.ts'
import { withMapCopies } from '../../src/extent/content/map-copy.ts'
import { withSmallSlices } from '../../src/extent/content/small.ts'
import { HashThreads } from '../../src/extent/hash/hash-threads.ts'
import type { Engine } from '../../src/kv/engine/engine.ts'
import { openMemoryEngine } from '../../src/kv/engine/memory.ts'
import type { EventKv } from '../../src/kv/kv.ts'
import { openKv, versionsOf } from '../../src/kv/runner/runner.ts'
import { openIds } from '../../src/node/id.ts'
import { openMoments } from '../../src/node/moment.ts'
import type { PeerAddress } from '../../src/node/home.ts'
import { HandDrivenHome, SECRET } from '../../src/peer/harness.ts'
import type { ClusterNode, NodeEndpoint } from '../../src/run/cluster-node.ts'
import type { FileEvent } from '../../src/storage/file/open/open.ts'
import type { Store } from '../../src/start/store/store.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'

export type TestNode = RunningTestServer & {
  readonly home: HandDrivenHome
  readonly peer: PeerAddress
}

export type TestCluster = {
  readonly nodes: readonly TestNode[]
  /** Makes a node the home; undefined: none is. */
  move(to: number | undefined): void
  /** Opens of files must be opened by the home only: how many kvs for files are open now. */
  filesKvCount(): number
}

export type TestClusterOptions = RunningTestOptions & {
  readonly count?: number
  readonly engine?: Engine
  /** Each node is given its own options, too. */
  readonly own?: (node: number) => Partial<ClusterNode>
  /** Expected in the logs; anything else is a failure. */
  readonly expectedLog?: RegExp
}

type Shared = {
  readonly engine: Engine
  readonly extents: ReturnType<typeof openMemoryExtents>
  runnerNumber: number
}

/** The first node is the home. */
export async function startCluster(
  t: TestContext,
  options: TestClusterOptions = {},
): Promise<TestCluster> {
  const {
    count = 2,
    engine = openMemoryEngine({ isShared: true }),
    own = () => ({}),
    expectedLog,
    ...serverOptions
  } = options
  const extents = openMemoryExtents({ kv: openKv(engine), clock: Date.now })
  const shared: Shared = { engine, extents, runnerNumber: 1 }
  const endpoints: NodeEndpoint[] = []
  const nodes: TestNode[] = []
  let filesKvCount = 0
  const openFilesKv: ClusterNode['openFilesKv'] = async () => {
    filesKvCount += 1
    const kv = openRunner(shared)
    return {
      kv: withMapCopies(kv, Date.now),
      close: async () => {
        filesKvCount -= 1
      },
    }
  }
  for (let at = 0; at < count; at += 1) {
    const home = new HandDrivenHome()
    let peerPort = 0
    const node: ClusterNode = {
      store: await openStore(shared),
      home,
      secret: SECRET,
      peer: { what: 'the port for nodes', flag: '--peerPort', host: '127.0.0.1', port: 0 },
      openFilesKv,
      endpoints: () => endpoints,
      announce: (ports) => {
        peerPort = ports.peerPort
        endpoints.push(...ports.endpoints)
      },
      ...own(at),
    }
    const server = await runTestServer({
      silent: true,
      logLevel: 'warn',
      ...serverOptions,
      node,
    })
    nodes.push(
      Object.defineProperties(
        { home, peer: { host: '127.0.0.1', port: peerPort, node: at } },
        Object.getOwnPropertyDescriptors(server),
      ) as TestNode,
    )
  }
  const move = (to: number | undefined): void => {
    const address = to === undefined ? undefined : nodes[to]?.peer
    nodes.forEach(({ home }, at) => home.move(at === to ? 'here' : address))
  }
  t.after(async () => {
    for (const node of nodes) await node.close()
    assert.equal(filesKvCount, 0, 'every kv for files is closed')
    const lines = nodes.flatMap((node) => node.logged().split('\n')).filter((line) => line !== '')
    assert.deepEqual(
      lines.filter((line) => !/event loop blocked/.test(line) && expectedLog?.test(line) !== true),
      [],
    )
  })
  move(0)
  return { nodes, move, filesKvCount: () => filesKvCount }
}

/** Closing it leaves the engine open. */
function openRunner(shared: Shared): EventKv<FileEvent> {
  shared.runnerNumber += 1
  return openKv<FileEvent>(shared.engine, {
    nextVersion: versionsOf(shared.runnerNumber),
    keepsEngine: true,
  })
}

async function openStore(shared: Shared): Promise<Store> {
  const runner = openRunner(shared)
  const { stamped, moment } = await openMoments(runner, Date.now)
  const kv = withMapCopies(stamped(runner), Date.now)
  const extents = withSmallSlices(shared.extents, kv)
  const hashThreads = new HashThreads(1)
  return {
    kv,
    extents,
    hashThreads,
    newId: await openIds(kv),
    moment,
    sizeBytes: () => kv.sizeBytes(),
    sweep: async () => {
      await sweepExtents(kv, extents, { clock: Date.now })
    },
    close: () => hashThreads.close(),
  }
}
