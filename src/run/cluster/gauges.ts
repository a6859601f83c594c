// The metrics of a node: how it gets on with the database and the other nodes.
import type { PostgresEngine } from '../../kv/engine/postgres.ts'
import type { Cluster } from '../../node/cluster.ts'
import { ROLES } from '../../node/role.ts'
import type { Gauge } from '../../start/admin/metrics.ts'

type Watched = Pick<PostgresEngine, 'statementCount' | 'commitCounts'>

export function clusterGauges(
  cluster: Cluster,
  { statementCount, commitCounts }: Watched,
  clockAheadMs: () => number,
): readonly Gauge[] {
  return [
    {
      name: 'lazuli_database_round_trips_total',
      read: statementCount,
    },
    {
      name: 'lazuli_database_commits_total',
      read: () => commitCounts.groups,
    },
    {
      name: 'lazuli_database_transactions_total',
      read: () => commitCounts.transactions,
    },
    {
      name: 'lazuli_database_overtaken_total',
      read: () => commitCounts.overtaken,
    },
    {
      name: 'lazuli_nodes',
      read: () => cluster.nodes.length,
    },
    {
      name: 'lazuli_heartbeat_age_seconds',
      read: () => cluster.heartbeatAgeMs() / 1_000,
    },
    {
      name: 'lazuli_heartbeat_duration_seconds',
      read: () => cluster.heartbeatMs / 1_000,
    },
    {
      name: 'lazuli_clock_ahead_seconds',
      read: () => clockAheadMs() / 1_000,
    },
    ...ROLES.map((role): Gauge => ({
      name: 'lazuli_role',
      labels: { role },
      read: () => (cluster.held(role) === undefined ? 0 : 1),
    })),
  ]
}
