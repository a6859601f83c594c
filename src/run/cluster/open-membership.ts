// Joins a cluster: opens the store in PostgreSQL, and everything that a server needs to be one of its nodes.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { hostname } from 'node:os'
import type { SmbUsers } from '../../auth/smb/smb-users.ts'
import { withMapCopies } from '../../extent/content/map-copy.ts'
import { withSmallSlices } from '../../extent/content/small.ts'
import type { SweptExtentStore } from '../../extent/extent.ts'
import { openLocalExtents } from '../../extent/file/local.ts'
import { openPostgresExtents } from '../../extent/postgres.ts'
import type { Writers } from '../../extent/writers.ts'
import { openPostgresEngine } from '../../kv/engine/postgres.ts'
import { SLOT_COUNT } from '../../kv/engine/postgres/writer.ts'
import type { EventKv, Kv } from '../../kv/kv.ts'
import { openKv, versionsOf } from '../../kv/runner/runner.ts'
import { checkBytesKind } from '../../node/bytes-kind.ts'
import { Cluster, SettingsDiffer } from '../../node/cluster.ts'
import { DatabaseClock } from '../../node/database-clock.ts'
import { openFormat } from '../../node/format.ts'
import { filesHomeOf } from '../../node/home.ts'
import { openMoments } from '../../node/moment.ts'
import { listedNodes, type ListedNode } from '../../node/node-list.ts'
import { ROLES, withRole, type RoleName } from '../../node/role.ts'
import { durabilityText, readDurability } from '../../postgres/durability.ts'
import { settingsText, type ConnectionSettings } from '../../postgres/settings.ts'
import type { Log } from '../../start/log/log.ts'
import { bytesFolder, type Options } from '../../start/options/options.ts'
import { StartError } from '../../start/start-error.ts'
import { databaseError, databaseSettings } from '../../start/store/database.ts'
import { storeOf, type Clock } from '../../start/store/store.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import type { FileEvent } from '../../storage/file/open/open.ts'
import { MIGRATIONS } from '../../storage/migrations.ts'
import type { Membership } from './membership.ts'
import { clusterGauges } from './gauges.ts'
import { rarely } from './rarely.ts'

export type JoinSettings = {
  readonly url: string
  readonly options: Options
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly accounts: Accounts
  readonly smbUsers?: SmbUsers | undefined
  /** False: this server does not offer files, so it can't be their home. */
  readonly hasFiles: boolean
  /** By default, the database's. */
  readonly clock?: Clock | undefined
  readonly log: Log
  /** Prints a line for whoever starts the server. */
  say(line: string): void
  /** Other nodes took this one for dead: it can't write any more and should be started again. */
  onExpelled(): void
}

/** A membership with the clock that all nodes share. */
export type JoinedCluster = Membership & {
  readonly cluster: Cluster
  readonly clock: Clock
  /** For people. */
  readonly location: string
  /** As of the last heartbeat. */
  listNodes(): readonly ListedNode[]
}

export async function openMembership(settings: JoinSettings): Promise<JoinedCluster> {
  const { log, options } = settings
  const database = await databaseOf(settings)
  const time = new DatabaseClock()
  const engine = await openPostgresEngine(database, {
    onTime: (...observed) => time.observe(...observed),
    onExpelled: settings.onExpelled,
  }).catch((error: unknown) => {
    throw databaseError(database, error)
  })
  try {
    const now = (): number => time.nowMs()
    const clock = settings.clock ?? now
    const nextVersion = versionsOf(engine.number)
    const openRunner = (): EventKv<FileEvent> => openKv(engine, { nextVersion, keepsEngine: true })
    const runner = openRunner()
    await openFormat(runner, MIGRATIONS)
    const announced = new Announced(options.nodeHost)
    // Before the cluster: a node counts as alive from its first heartbeat on, and writes nothing before it.
    let extents: SweptExtentStore | undefined
    const cluster = await Cluster.join({
      kv: runner,
      number: engine.number,
      clock: now,
      wallClock: Date.now,
      monotonicMs: () => performance.now(),
      roles: ROLES.filter((role): role is RoleName => role !== 'files' || settings.hasFiles),
      describe: (secret) => ({
        name: options.nodeName ?? hostname(),
        version: settings.version,
        settings: settingsDigest(settings, secret),
        ...announced.description,
      }),
      oldestReadMs: () => extents?.oldestReadMs(),
      expel: (number) => engine.expel(number),
      warn: (message) => log.warn(message),
    })
    const slot = { slot: engine.slot, slotCount: SLOT_COUNT }
    const { stamped, ...moments } = await openMoments(runner, clock, slot)
    const kv = stamped(runner)
    extents = await openExtentsOf(options, database, kv, now, writersOf(cluster))
    const store = await storeOf({
      kv,
      extents: withSmallSlices(extents, kv),
      moments,
      sweepClock: now,
      sweepKv: (each) => inRole(each, cluster, 'sweeper'),
      oldestReadMs: () => cluster.oldestReadMs(),
      close: async () => {
        await cluster.leave()
        await runner.close()
        await engine.close()
      },
    })
    const warn = rarely((message, fields) => log.warn(message, fields))
    cluster.start((error) => warn('the heartbeat of this node failed', { reason: String(error) }))
    return {
      store,
      cluster,
      clock,
      location: `${settingsText(database)}, content in ${bytesFolder(options.bytes) ?? 'the database'}`,
      listNodes: () => listedNodes(cluster.nodes, (role) => cluster.holder(role)?.node, now()),
      gauges: clusterGauges(cluster, engine, () => Date.now() - now()),
      home: filesHomeOf(cluster),
      secret: cluster.secret,
      peer: {
        what: 'the port for nodes',
        flag: '--nodePort',
        host: options.nodeHost,
        port: options.nodePort,
      },
      openFilesKv: async () => {
        const role = cluster.held('files')
        assert(role !== undefined, 'only the home opens the files')
        const files = openRunner()
        return {
          kv: withMapCopies(stamped(withRole(files, role)), now),
          close: () => files.close(),
        }
      },
      copies: () => {
        const role = cluster.held('copies')
        return role && { epoch: role.epoch, kv: withRole(store.kv, role) }
      },
      endpoints: () => cluster.nodes.flatMap(({ endpoints }) => endpoints),
      announce: async (ports) => {
        announced.add(ports)
        await cluster.beat()
      },
    }
  } catch (error) {
    await engine.close()
    throw error instanceof SettingsDiffer ? new StartError(error.message, 1, error) : error
  }
}

async function databaseOf({ url, options, env, say }: JoinSettings): Promise<ConnectionSettings> {
  const allowsAsyncCommit = options.allowAsyncCommit
  const settings = { ...databaseSettings(url, env), allowsAsyncCommit }
  const durability = await readDurability(settings).catch((error: unknown) => {
    throw databaseError(settings, error)
  })
  if (durability.synchronousCommit === 'off' && !allowsAsyncCommit) {
    throw new StartError(
      'the database has synchronous_commit=off, so a crash would lose acknowledged writes; turn it on, or accept that with --allowAsyncCommit',
    )
  }
  say(durabilityText(durability))
  return settings
}

function writersOf(cluster: Cluster): Writers {
  return {
    self: String(cluster.number),
    live: async () => new Set([...(await cluster.liveNodes())].map(String)),
  }
}

async function openExtentsOf(
  { bytes }: Options,
  settings: ConnectionSettings,
  kv: Kv,
  clock: Clock,
  writers: Writers,
): Promise<SweptExtentStore> {
  const folder = bytesFolder(bytes)
  await checkBytesKind(kv, folder === undefined ? 'postgres' : 'folder')
  const options = { kv, clock, writers }
  return folder === undefined
    ? openPostgresExtents({ ...options, settings })
    : openLocalExtents({ ...options, folder, isShared: true })
}

/** The store for whoever has the role; undefined if this node does not. */
function inRole<Event>(kv: EventKv<Event>, cluster: Cluster, name: RoleName) {
  const role = cluster.held(name)
  return role && withRole(kv, role)
}

/** Changes whenever something changes that nodes must agree on. Reveals nothing without the secret of the cluster. */
function settingsDigest({ accounts, smbUsers }: JoinSettings, secret: Buffer): string {
  const keys = accounts.names().map((name) => {
    const account = accounts.get(name)
    const isHierarchical = account?.isHierarchical === true ? ['hns'] : []
    return [name, account?.keys.map(({ text }) => text), ...isHierarchical]
  })
  const users = smbUsers?.identities().map(({ name, sid }) => [name, sid, hashOf(smbUsers, name)]) // prettier-ignore
  const text = JSON.stringify([keys.sort(), users?.sort() ?? []])
  return createHmac('sha256', secret).update(text).digest('base64')
}

function hashOf(users: SmbUsers, name: string): string {
  return Buffer.from(users.get(name)?.ntHash ?? []).toString('base64')
}

/** What this node tells the others once its ports are open. */
class Announced {
  readonly #host: string
  #ports: Parameters<Membership['announce']>[0] | undefined

  constructor(host: string) {
    this.#host = host
  }

  get description() {
    if (this.#ports === undefined) return { endpoints: [] }
    const { peerPort: port, endpoints } = this.#ports
    return { endpoints, peer: { host: this.#host, port } }
  }

  add(ports: Parameters<Membership['announce']>[0]): void {
    this.#ports = ports
  }
}
