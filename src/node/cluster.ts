// The nodes that serve one store together. Each renews its record with a heartbeat and claims the roles that are free. A
// node that is silent for long is expelled: it can't commit any more, so others may clean up after it.
import { randomBytes } from 'node:crypto'
import { encodeKey } from '../kv/key.ts'
import type { Kv, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'
import {
  getNodes,
  nodeKey,
  type ClusterNode,
  type NodeDescription,
  type NodeRecord,
} from './cluster-node.ts'
import {
  claimRole,
  releaseRole,
  ROLE_MS,
  ROLES,
  type HeldRole,
  type RoleHolder,
  type RoleName,
} from './role.ts'

/** Between heartbeats. A role outlives a few that are late. */
export const BEAT_MS = 1_000
/** A node that is silent for this long, while the database was there, is expelled. */
const SILENT_MS_MAX = 30_000

export type ClusterSettings = {
  readonly kv: Kv
  /** Of this node; never reused. */
  readonly number: number
  /** The database's clock. */
  readonly clock: () => number
  /** The machine's own clocks. */
  readonly wallClock: () => number
  readonly monotonicMs: () => number
  /** The roles that this node can act in. */
  readonly roles: readonly RoleName[]
  /** `secret` makes digests that only nodes can compare. */
  describe(secret: Buffer): NodeDescription
  /** When the oldest download of this node began, by the database's clock. */
  oldestReadMs(): number | undefined
  /** Refuses all further commits of another node. */
  expel(number: number): Promise<void>
  warn(message: string): void
}

/** Nodes must agree about who may do what. */
export class SettingsDiffer extends Error {}

type Silence = { readonly seenAtMs: number; readonly sinceMs: number }

export class Cluster {
  /** With it, nodes prove to each other who they are. */
  readonly secret: Buffer
  readonly #settings: ClusterSettings
  readonly #startedAtMs: number
  readonly #listeners = new Set<() => void>()
  readonly #silences = new Map<number, Silence>()
  #holders: ReadonlyMap<RoleName, RoleHolder> = new Map()
  #nodes: readonly ClusterNode[] = []
  #beatMs = 0
  #beatenMs = 0
  #lastBeatMs = 0
  #beating: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #hasLeft = false
  #warnedOf = ''

  /** Announces this node. Throws SettingsDiffer if another one has other settings. */
  static async join(settings: ClusterSettings): Promise<Cluster> {
    const secret = await settings.kv.write((tx) => clusterSecret(tx, randomBytes(32)))
    const cluster = new Cluster(settings, secret)
    await cluster.#beat()
    const other = cluster.#differing()
    if (other === undefined) return cluster
    await cluster.leave()
    throw new SettingsDiffer(
      `the node ${other.name} serves the same store with other accounts or SMB users; give all nodes the same`,
    )
  }

  constructor(settings: ClusterSettings, secret: Buffer) {
    this.#settings = settings
    this.#startedAtMs = settings.clock()
    this.secret = secret
  }

  get number(): number {
    return this.#settings.number
  }

  /** Heartbeats until `leave`. */
  start(onFailure: (error: unknown) => void): void {
    const next = (): void => {
      if (this.#hasLeft) return
      this.#timer = setTimeout(() => void this.beat().catch(onFailure).finally(next), BEAT_MS)
      this.#timer.unref()
    }
    next()
  }

  /** One transaction: this node is there, and has these roles. */
  beat(): Promise<void> {
    this.#beating = this.#beating
      .catch(() => undefined)
      .then(() => this.#beat())
      .then(() => this.#warnOfDiffering())
    return this.#beating
  }

  /** Who has a role, as of the last heartbeat. */
  holder(name: RoleName): RoleHolder | undefined {
    return this.#holders.get(name)
  }

  /** The role, if this node has it. */
  held(name: RoleName): HeldRole | undefined {
    const holder = this.#holders.get(name)
    return holder?.node === this.number ? { name, ...holder } : undefined
  }

  /** Whether the last heartbeat arrived, not long ago. */
  isBeating(): boolean {
    return this.heartbeatAgeMs() < ROLE_MS
  }

  /** The time since a heartbeat of this node arrived. */
  heartbeatAgeMs(): number {
    return this.#settings.monotonicMs() - this.#beatenMs
  }

  /** How long that heartbeat took. */
  get heartbeatMs(): number {
    return this.#beatMs
  }

  /** The running nodes, as of the last heartbeat. */
  get nodes(): readonly ClusterNode[] {
    return this.#nodes
  }

  /** Calls `listener` after each heartbeat that changes who has which role, or where nodes are. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * A moment, by the database's clock, before which no download of any node began. Each node publishes its own with its
   * heartbeat; a download that a node has begun since then is younger than that heartbeat.
   */
  async oldestReadMs(): Promise<number> {
    const nodes = await this.#settings.kv.read(getNodes)
    const oldest = nodes.map(({ oldestReadMs, seenAtMs }) => oldestReadMs ?? seenAtMs)
    return Math.min(this.#settings.clock(), ...oldest)
  }

  /** The numbers of all nodes that may still commit. */
  async liveNodes(): Promise<ReadonlySet<number>> {
    const nodes = await this.#settings.kv.read(getNodes)
    return new Set(nodes.map(({ number }) => number))
  }

  /** Gives up all roles, so that others can take them at once. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    clearTimeout(this.#timer)
    await this.#beating.catch(() => undefined)
    await this.#settings.kv.write((tx) => removeNode(tx, this.number))
    this.#holders = new Map()
    this.#tell()
  }

  async #beat(): Promise<void> {
    const { kv, clock, wallClock, monotonicMs, describe, oldestReadMs } = this.#settings
    const beganMs = monotonicMs()
    const nowMs = clock()
    const oldest = oldestReadMs()
    const record: NodeRecord = {
      ...describe(this.secret),
      startedAtMs: this.#startedAtMs,
      seenAtMs: nowMs,
      clockAheadMs: Math.round(wallClock() - nowMs),
      beatMs: Math.round(this.#beatMs),
      ...(oldest !== undefined && { oldestReadMs: oldest }),
    }
    const holders = await kv.write((tx) => renew(tx, this.#settings, record))
    // Not in the same transaction: then the heartbeats of all nodes would overtake each other.
    const nodes = await kv.read(getNodes)
    const isChanged = this.#isChanged(nodes, holders)
    this.#nodes = nodes
    this.#holders = holders
    this.#beatenMs = monotonicMs()
    this.#beatMs = this.#beatenMs - beganMs
    if (isChanged) this.#tell()
    if (this.held('sweeper') !== undefined) await this.#expelSilent()
  }

  #isChanged(nodes: readonly ClusterNode[], holders: ReadonlyMap<RoleName, RoleHolder>): boolean {
    const placesOf = (all: readonly ClusterNode[]) =>
      JSON.stringify(all.map(({ number, peer }) => [number, peer]))
    const holdersOf = (all: ReadonlyMap<RoleName, RoleHolder>) => JSON.stringify([...all])
    return (
      placesOf(nodes) !== placesOf(this.#nodes) || holdersOf(holders) !== holdersOf(this.#holders)
    )
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #differing(): ClusterNode | undefined {
    const { settings } = this.#settings.describe(this.secret)
    const nowMs = this.#settings.clock()
    return this.#nodes.find((node) => node.settings !== settings && nowMs - node.seenAtMs < ROLE_MS)
  }

  /** Accounts may be changed while nodes run: the files that name them are read again. */
  #warnOfDiffering(): void {
    const name = this.#differing()?.name ?? ''
    if (name !== '' && name !== this.#warnedOf) {
      this.#settings.warn(`the node ${name} has other accounts or SMB users than this one`)
    }
    this.#warnedOf = name
  }

  /** Counts silence only while this node's own heartbeats arrive: while the database is away, all nodes are silent. */
  async #expelSilent(): Promise<void> {
    const { monotonicMs, expel, kv, warn } = this.#settings
    const nowMs = monotonicMs()
    if (nowMs - this.#lastBeatMs > ROLE_MS) this.#silences.clear()
    this.#lastBeatMs = nowMs
    for (const { number, seenAtMs, name } of this.#nodes) {
      const silence = this.#silences.get(number)
      if (silence?.seenAtMs !== seenAtMs) {
        this.#silences.set(number, { seenAtMs, sinceMs: nowMs })
      } else if (nowMs - silence.sinceMs >= SILENT_MS_MAX && number !== this.number) {
        await expel(number)
        await kv.write((tx) => removeNode(tx, number))
        this.#silences.delete(number)
        warn(
          `the node ${name} has been silent for ${SILENT_MS_MAX / 1_000} seconds and was expelled`,
        )
      }
    }
  }
}

function* renew(
  tx: Tx<never>,
  { number, roles }: Pick<ClusterSettings, 'number' | 'roles'>,
  record: NodeRecord,
): Step<ReadonlyMap<RoleName, RoleHolder>> {
  tx.put(nodeKey(number), encodeRecord(record))
  const holders = new Map<RoleName, RoleHolder>()
  for (const name of ROLES) {
    const claim = { node: number, nowMs: record.seenAtMs, isWanted: roles.includes(name) }
    const holder = yield* claimRole(tx, name, claim)
    if (holder !== undefined) holders.set(name, holder)
  }
  return holders
}

function* removeNode(tx: Tx<never>, number: number): Step<void> {
  tx.delete(nodeKey(number))
  for (const name of ROLES) yield* releaseRole(tx, name, number)
}

const SECRET_KEY = encodeKey('cluster-secret')

/** The first node chooses it. */
function* clusterSecret(tx: Tx<never>, chosen: Buffer): Step<Buffer> {
  const stored = yield* tx.getFields<{ secret: string }>(SECRET_KEY)
  if (stored !== undefined) return Buffer.from(stored.secret, 'base64')
  tx.put(SECRET_KEY, encodeRecord({ secret: chosen.toString('base64') }))
  return chosen
}
