// Several nodes in one process, on one engine in memory. The test decides which of them is the home of the files, or their
// heartbeats do.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { withMapCopies } from '../../src/extent/content/map-copy.ts'
import { withSmallSlices } from '../../src/extent/content/small.ts'
import type { SweptExtentStore } from '../../src/extent/extent.ts'
import { HashThreads } from '../../src/extent/hash/hash-threads.ts'
import { openMemoryExtents } from '../../src/extent/memory.ts'
import { sweepExtents } from '../../src/extent/sweep/sweep.ts'
import type { Engine } from '../../src/kv/engine/engine.ts'
import { openMemoryEngine } from '../../src/kv/engine/memory.ts'
import type { PostgresEngine } from '../../src/kv/engine/postgres.ts'
import { Gate } from '../../src/kv/gate.ts'
import type { EventKv, Kv } from '../../src/kv/kv.ts'
import { openKv, versionsOf } from '../../src/kv/runner/runner.ts'
import { Cluster } from '../../src/node/cluster.ts'
import type { NodeEndpoint, PeerAddress } from '../../src/node/cluster-node.ts'
import { filesHomeOf, type FilesHome } from '../../src/node/home.ts'
import { openIds } from '../../src/node/id.ts'
import { openMoments, type StoredMoments } from '../../src/node/moment.ts'
import { ROLE_MS, withRole } from '../../src/node/role.ts'
import { HandDrivenHome, SECRET } from '../../src/peer/harness.ts'
import type { Membership } from '../../src/run/cluster/membership.ts'
import type { Store } from '../../src/start/store/store.ts'
import type { FileEvent } from '../../src/storage/file/open/open.ts'
import {
  runTestServer,
  type RunningTestOptions,
  type RunningTestServer,
} from '../running-server.ts'

/** More than the nodes of any test. */
const SLOT_COUNT = 64

export type TestNode = RunningTestServer & { readonly peer: PeerAddress }

export type TestClusterOptions = RunningTestOptions & {
  readonly count?: number
  /** By default, an engine in memory. */
  readonly engine?: Engine
  /** Opens an engine for each node instead, all on the same database. */
  readonly openEngine?: () => Promise<PostgresEngine>
  /** By default, the bytes are in memory, and each write makes an extent. */
  readonly openExtents?: (kv: Kv) => Promise<SweptExtentStore>
  /** The clock of all nodes; by default, the machine's. */
  readonly storeClock?: () => number
  /** What is different for one node. */
  readonly own?: (node: number) => Partial<Membership>
  /** Changes each kv for the files. */
  readonly wrapFilesKv?: (kv: EventKv<FileEvent>) => EventKv<FileEvent>
  /** Expected in the logs; anything else is a failure. */
  readonly expectedLog?: RegExp
}

/** A cluster whose home the test moves. */
export type TestCluster<Node = TestNode> = {
  readonly nodes: readonly (Node & { readonly home: HandDrivenHome })[]
  /** Makes a node the home; undefined: none is. */
  move(to: number | undefined): void
}

/** The first node is the home. */
export async function startCluster(
  t: Pick<TestContext, 'after'>,
  options: TestClusterOptions = {},
): Promise<TestCluster> {
  const { count = 2 } = options
  const world = openWorld(t, options)
  const nodes: (TestNode & { readonly home: HandDrivenHome })[] = []
  for (let at = 0; at < count; at += 1) {
    const home = new HandDrivenHome()
    const { moments, store } = await world.openNode(at)
    const announced = world.newAnnouncement(at)
    const server = await world.run(at, {
      store,
      home,
      secret: SECRET,
      openFilesKv: async () => world.filesKv(at, (opened) => moments.stamped(opened)),
      copies: () => (at === 0 ? { epoch: 1, kv: store.kv } : undefined),
      endpoints: () => world.endpoints,
      announce: announced.announce,
    })
    nodes.push(withProperties(server, { home, peer: announced.peer() }))
  }
  const move = (to: number | undefined): void => {
    const address = to === undefined ? undefined : nodes[to]?.peer
    nodes.forEach(({ home }, at) => home.move(at === to ? 'here' : address))
  }
  move(0)
  return { nodes, move }
}

/** A cluster whose nodes claim the role when the test lets their hearts beat. */
export type BeatingCluster = {
  readonly nodes: readonly (TestNode & { readonly home: FilesHome; readonly cluster: Cluster })[]
  /** Lets the term of every role end, unless its holder beats first. */
  pass(): void
}

export async function startBeatingCluster(
  t: TestContext,
  options: TestClusterOptions = {},
): Promise<BeatingCluster> {
  const { count = 2 } = options
  const world = openWorld(t, options)
  let nowMs = Date.now()
  const nodes: BeatingCluster['nodes'][number][] = []
  for (let at = 0; at < count; at += 1) {
    const { kv, moments, store } = await world.openNode(at)
    const announced = world.newAnnouncement(at)
    const cluster = await Cluster.join({
      kv,
      number: at + 1,
      clock: () => nowMs,
      wallClock: () => nowMs,
      monotonicMs: () => nowMs,
      roles: ['files'],
      describe: () => {
        const { host, port } = announced.peer()
        const isOpen = port !== 0
        const self = { name: `n${at}`, version: '1', settings: '', endpoints: [] }
        return { ...self, ...(isOpen && { peer: { host, port } }) }
      },
      oldestReadMs: () => undefined,
      expel: async () => undefined,
      warn: (message) => assert.fail(message),
    })
    const home = filesHomeOf(cluster)
    const openFilesKv: Membership['openFilesKv'] = async () => {
      const role = cluster.held('files')
      assert(role !== undefined)
      return world.filesKv(at, (opened) => moments.stamped(withRole(opened, role)))
    }
    const server = await world.run(at, {
      store,
      home,
      secret: cluster.secret,
      openFilesKv,
      copies: () => undefined,
      endpoints: () => world.endpoints,
      announce: announced.announce,
    })
    nodes.push(withProperties(server, { home, cluster, peer: announced.peer() }))
  }
  // Once more, so that everybody knows where the others are.
  for (let round = 0; round < 2; round += 1) for (const { cluster } of nodes) await cluster.beat()
  return { nodes, pass: () => void (nowMs += ROLE_MS) }
}

/** A node's own access to the store. */
type Seat = { openRunner(): EventKv<FileEvent>; close(): Promise<void> }

function openWorld(t: Pick<TestContext, 'after'>, options: TestClusterOptions) {
  const {
    count: _count,
    engine = openMemoryEngine({ isShared: true }),
    openEngine,
    openExtents = async (kv) => openMemoryExtents({ kv, clock: Date.now }),
    storeClock = Date.now,
    own = () => ({}),
    expectedLog,
    wrapFilesKv,
    ...serverOptions
  } = options
  const seats: Seat[] = []
  const sit = async (at: number): Promise<Seat> => {
    const opened = await openEngine?.()
    const nextVersion = versionsOf(opened?.number ?? at + 1)
    const openRunner = () => openKv<FileEvent>(opened ?? engine, { nextVersion, keepsEngine: true })
    const seat = { openRunner, close: async () => opened?.close() }
    seats[at] = seat
    return seat
  }
  let extents: SweptExtentStore | undefined
  const endpoints: NodeEndpoint[] = []
  const servers: RunningTestServer[] = []
  let filesKvCount = 0
  t.after(async () => {
    for (const server of servers) await server.close()
    for (const seat of seats) await seat.close()
    assert.equal(filesKvCount, 0, 'every kv for files is closed')
    const lines = servers.flatMap((server) => server.logged().split('\n'))
    const isExpected = (line: string): boolean =>
      line === '' || /event loop blocked/.test(line) || expectedLog?.test(line) === true
    assert.deepEqual(
      lines.filter((line) => !isExpected(line)),
      [],
    )
  })
  return {
    endpoints,
    openNode: async (at: number) => {
      const { openRunner } = await sit(at)
      const kv = openRunner()
      // The nodes of a test share their bytes, as those of a cluster do.
      extents ??= await openExtents(openRunner())
      const slot = { slot: at, slotCount: SLOT_COUNT }
      const moments = await openMoments(kv, storeClock, slot)
      return { kv, moments, store: await storeOf(extents, kv, moments) }
    },
    filesKv: (at: number, wrap: (kv: EventKv<FileEvent>) => EventKv<FileEvent>) => {
      filesKvCount += 1
      const kv = (seats[at] ?? assert.fail('there is no such node')).openRunner()
      return {
        kv: withMapCopies(wrap(wrapFilesKv?.(kv) ?? kv), Date.now),
        close: async () => {
          filesKvCount -= 1
          await kv.close()
        },
      }
    },
    newAnnouncement: (node: number) => {
      let port = 0
      return {
        announce: (ports: Parameters<Membership['announce']>[0]) => {
          port = ports.peerPort
          endpoints.push(...ports.endpoints)
        },
        peer: (): PeerAddress => ({ host: '127.0.0.1', port, node }),
      }
    },
    run: async (at: number, membership: Omit<Membership, 'peer'>) => {
      const peer = { what: 'the port for nodes', flag: '--nodePort', host: '127.0.0.1', port: 0 }
      const server = await runTestServer({
        silent: false,
        logLevel: 'warn',
        ...serverOptions,
        membership: { ...membership, peer, ...own(at) },
      })
      servers.push(server)
      return server
    },
  }
}

async function storeOf(
  shared: SweptExtentStore,
  runner: EventKv<FileEvent>,
  { stamped, moment }: StoredMoments,
): Promise<Store> {
  const kv = withMapCopies(stamped(runner), Date.now)
  const extents = withSmallSlices(shared, kv)
  const hashThreads = new HashThreads(1)
  return {
    kv,
    gate: new Gate(),
    kvBehindGate: kv,
    extents,
    hashThreads,
    newId: await openIds(kv),
    moment,
    sizeBytes: () => kv.sizeBytes(),
    sweep: async () => {
      await sweepExtents(kv, extents, { clock: Date.now })
    },
    close: async () => {
      await hashThreads.close()
      await kv.close()
    },
  }
}

/** A spread would read the server's accessors. */
function withProperties<Server extends object, More extends object>(
  server: Server,
  more: More,
): Server & More {
  return Object.defineProperties(more, Object.getOwnPropertyDescriptors(server)) as Server & More
}
