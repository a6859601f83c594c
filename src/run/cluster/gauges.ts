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
      type: 'counter',
      name: 'lazuli_database_round_trips_total',
      help: 'Statements that this node has sent to the database for records',
      read: statementCount,
    },
    {
      type: 'counter',
      name: 'lazuli_database_commits_total',
      help: 'Commits of this node; each has all transactions that were waiting',
      read: () => commitCounts.groups,
    },
    {
      type: 'counter',
      name: 'lazuli_database_transactions_total',
      help: 'Transactions in these commits; divided by the commits, the size of a group',
      read: () => commitCounts.transactions,
    },
    {
      type: 'counter',
      name: 'lazuli_database_overtaken_total',
      help: 'Transactions that had to run again, because another one changed what they had read',
      read: () => commitCounts.overtaken,
    },
    {
      name: 'lazuli_nodes',
      help: 'Nodes of the cluster, as this node sees them',
      read: () => cluster.nodes.length,
    },
    {
      name: 'lazuli_heartbeat_age_seconds',
      help: 'Time since the last heartbeat of this node; from 5 seconds on it is not ready',
      read: () => cluster.heartbeatAgeMs() / 1_000,
    },
    {
      name: 'lazuli_heartbeat_duration_seconds',
      help: 'How long the last heartbeat took: a read and a commit',
      read: () => cluster.heartbeatMs / 1_000,
    },
    {
      name: 'lazuli_clock_ahead_seconds',
      help: "How far the machine's clock is ahead of the database's",
      read: () => clockAheadMs() / 1_000,
    },
    ...ROLES.map((role) => ({
      name: 'lazuli_role',
      help: 'Whether this node has a role: 1 or 0',
      labels: { role },
      read: () => (cluster.held(role) === undefined ? 0 : 1),
    })),
  ]
}
