// Three nodes in place of the server of a test: one port per service, whose requests go to the nodes in turn.
import assert from 'node:assert/strict'
import { journalApi } from '../../src/control/journal-api.ts'
import { parseAllowCopyFrom } from '../../src/http/client/copy-source.ts'
import { startServer, type TestServer } from '../../src/postgres/harness.ts'
import type { FileService } from '../../src/rest/file/service.ts'
import { createRaces } from '../../src/control/race/race.ts'
import type { LazuliServer, ServerOptions } from '../../src/server.ts'
import {
  decodeAccountsJson,
  WELL_KNOWN_LAKE_ACCOUNT,
} from '../../src/start/account/account-list.ts'
import { fixedAccounts } from '../../src/start/account/accounts.ts'
import { fixedSmbUsers } from '../../src/start/account/smb-users.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import type { RunningTestOptions, RunningTestServer } from '../running-server.ts'
import { SERVICES, startFront, startLocalNode, type Front, type LocalNode } from './rig.ts'

const NODES = 3

type Cluster = {
  readonly nodes: readonly LocalNode[]
  readonly front: Front
  readonly home: LocalNode
}

async function startCluster(
  { accounts: named, smbUsers = [], hasSmb = true, ...options }: RunningTestOptions,
  clock: () => number,
  after?: FileService['after'],
): Promise<Cluster> {
  const { onDisk: _onDisk, folder: _folder, membership: _membership, ...own } = options
  const accounts = fixedAccounts(named && decodeAccountsJson(named, 'accounts'))
  const postgres = await usePostgres()
  const settings = {
    url: postgres.url(await postgres.newDatabase()),
    clock,
    accounts,
    smbUsers: fixedSmbUsers(smbUsers, accounts),
    services: SERVICES.filter((service) => service !== 'smb' || hasSmb),
    options: own,
    ...(after !== undefined && { after }),
  }
  // The first one has all roles.
  const home = await startLocalNode(settings)
  const others = Array.from({ length: NODES - 1 }, () => startLocalNode(settings))
  const nodes = [home, ...(await Promise.all(others))]
  // Everybody knows where the files are.
  for (const { joined } of nodes) await joined.cluster.beat()
  return { nodes, home, front: await startFront(() => nodes) }
}

async function closeAll({ nodes, front }: Cluster): Promise<void> {
  await front.close()
  // The home last: it would be taken over for nothing.
  for (const node of nodes.toReversed()) await node.close()
  await releasePostgres()
}

let postgresStarting: Promise<TestServer> | undefined
let clusterCount = 0

/** Not `testServer`: that one ends before the clusters, whose tests are loaded after it. */
function usePostgres(): Promise<TestServer> {
  clusterCount += 1
  return (postgresStarting ??= startServer(['-c', 'fsync=off', '-c', 'max_connections=1000']))
}

async function releasePostgres(): Promise<void> {
  clusterCount -= 1
  if (clusterCount > 0) return
  const postgres = await postgresStarting
  postgresStarting = undefined
  await postgres?.stop()
}

/** In place of `runTestServer`. */
export async function runNodes(options: RunningTestOptions = {}): Promise<RunningTestServer> {
  let heldMs = Date.now()
  const waits = new Set<() => void>()
  const cluster = await startCluster(
    options,
    () => heldMs,
    (_delayMs, then) => {
      waits.add(then)
      return () => waits.delete(then)
    },
  )
  const { nodes, front, home } = cluster
  const { blob, queue, table, file, dfs, smb } = front.ports
  const endpoints = home.server.endpoints.map((each) => ({
    ...each,
    port: front.ports[each.service],
  }))
  return {
    ...home.server,
    endpoints,
    get file() {
      return home.server.files.service()
    },
    blobPort: blob,
    queuePort: queue,
    tablePort: table,
    filePort: file,
    dfsPort: dfs,
    smbPort: smb,
    fileEndpoint: `http://127.0.0.1:${file}/${ACCOUNT}`,
    endWaits: () => {
      const due = [...waits]
      waits.clear()
      for (const wait of due) wait()
    },
    now: () => heldMs,
    advance: (byMs) => {
      heldMs += byMs
    },
    logged: () => nodes.map((node) => node.logged()).join(''),
    flushLogs: async () => {
      for (const { server } of nodes) await server.flushLogs()
    },
    close: () => closeAll(cluster),
  }
}

/** In place of `startServer`. */
export async function startNodes(given: ServerOptions = {}): Promise<LazuliServer> {
  const {
    clock = Date.now,
    location: _location,
    memoryLimitBytes: _limit,
    host: _host,
    journal: _journal,
    adminPort,
    journal = {},
    ...rest
  } = given
  assert(clock !== 'held', 'nodes use the time of the database')
  const { accounts, smbUsers, allowCopyFrom = [], ...options } = rest
  assert(adminPort === undefined && journal !== false, 'each node has its own')
  const cluster = await startCluster(
    {
      ...options,
      allowCopyFrom: parseAllowCopyFrom(allowCopyFrom),
      ...(accounts !== undefined && { accounts }),
      ...(smbUsers !== undefined && { smbUsers }),
    } as RunningTestOptions,
    clock,
  )
  const { nodes, front, home } = cluster
  const { blob, queue, table, file, dfs, smb } = front.ports
  const endpoint = (port: number, account = ACCOUNT): string =>
    `http://127.0.0.1:${port}/${account}`
  assert.equal(accounts, undefined, 'the connection string is that of the well-known account')
  const connectionStringOf = (account: string): string =>
    `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${ACCOUNT_KEY};` +
    `BlobEndpoint=${endpoint(blob, account)};QueueEndpoint=${endpoint(queue, account)};` +
    `TableEndpoint=${endpoint(table, account)};FileEndpoint=${endpoint(file, account)};` +
    (account === WELL_KNOWN_LAKE_ACCOUNT ? `DfsEndpoint=${endpoint(dfs, account)};` : '')
  return {
    connectionString: connectionStringOf(ACCOUNT),
    connectionStringOf,
    blobEndpoint: endpoint(blob),
    blobPort: blob,
    queueEndpoint: endpoint(queue),
    queuePort: queue,
    tableEndpoint: endpoint(table),
    tablePort: table,
    fileEndpoint: endpoint(file),
    filePort: file,
    dfsEndpoint: endpoint(dfs),
    dfsPort: dfs,
    smbPort: smb,
    webPort: home.server.webPort,
    held: home.server.held,
    ...createRaces(home.server.control.journal),
    // Of one node.
    barriers: home.server.control.barriers,
    faults: home.server.control.faults,
    clock: home.server.clock,
    reset: home.server.reset,
    snapshots: {
      ...home.server.snapshots,
      // Refuses, as all of them do.
      fork: async (name) => assert.fail(String(await home.server.snapshots.forkStore(name))),
    },
    seed: home.server.seed,
    export: home.server.export,
    adminUrl: undefined,
    // That of the node which serves files.
    journal: journalApi(home.server.parts.journal, 'the journal is off'),
    sweep: async () => {
      for (const { server } of nodes) await server.flushLogs()
      await home.server.store.sweep({ graceMs: 0 })
    },
    close: () => closeAll(cluster),
    [Symbol.asyncDispose]: () => closeAll(cluster),
  }
}
