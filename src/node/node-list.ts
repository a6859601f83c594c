// The nodes of a cluster as operators see them: `lazuli nodes`, and /api/nodes of the admin port.
import type { ReadTx, Step } from '../kv/kv.ts'
import { getNodes, type ClusterNode, type NodeEndpoint } from './cluster-node.ts'
import { getTerm, getRole, ROLE_MS, ROLES, type RoleName } from './role.ts'

export type ListedNode = {
  readonly name: string
  readonly number: number
  readonly roles: readonly RoleName[]
  readonly version: string
  readonly startedAt: string
  /** The time since its last heartbeat. */
  readonly heartbeatAgeMs: number
  /** It has missed several heartbeats: it is dead, or can't reach the database. */
  readonly isSilent: boolean
  /** How long its last heartbeats took, with the database's answers. */
  readonly heartbeatMs: number
  /** How far its machine's clock is ahead of the database's. */
  readonly clockAheadMs: number
  /** Where other nodes reach it; undefined while it starts. */
  readonly peer?: { readonly host: string; readonly port: number }
  readonly endpoints: readonly NodeEndpoint[]
}

/** The number of the node that has a role. */
export type HolderOf = (role: RoleName) => number | undefined

/** `nowMs` is by the database's clock. */
export function listedNodes(
  nodes: readonly ClusterNode[],
  holderOf: HolderOf,
  nowMs: number,
): readonly ListedNode[] {
  return nodes.map((node) => {
    const { name, number, version, startedAtMs, beatMs, clockAheadMs, peer, endpoints } = node
    // A node's estimate of the database's time may be a little ahead.
    const heartbeatAgeMs = Math.max(0, Math.round(nowMs - node.seenAtMs))
    return {
      name,
      number,
      roles: ROLES.filter((role) => holderOf(role) === number),
      version,
      startedAt: new Date(startedAtMs).toISOString(),
      heartbeatAgeMs,
      isSilent: heartbeatAgeMs > ROLE_MS,
      heartbeatMs: beatMs,
      clockAheadMs,
      ...(peer !== undefined && { peer }),
      endpoints,
    }
  })
}

export type ClusterState = {
  readonly nodes: readonly ClusterNode[]
  readonly holders: ReadonlyMap<RoleName, number>
}

/** The nodes, and who has which role: not those whose time is up at `nowMs`. */
export function* getClusterState(tx: ReadTx, nowMs: number): Step<ClusterState> {
  const nodes = yield* getNodes(tx)
  const holders = new Map<RoleName, number>()
  for (const name of ROLES) {
    const holder = yield* getRole(tx, name)
    const term = yield* getTerm(tx, name)
    if (holder !== undefined && term !== undefined && term.untilMs > nowMs) {
      holders.set(name, holder.node)
    }
  }
  return { nodes, holders }
}
