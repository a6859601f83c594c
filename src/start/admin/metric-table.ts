// The table of all metrics: docs/metrics.md, the dashboard and the alert rules in examples/ can name no other.

export type MetricGroup = 'Requests' | 'What clients hold' | 'The server' | 'Several nodes'

export type Metric = {
  readonly group: MetricGroup
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** One sentence without its full stop. */
  readonly help: string
  /** Who does not have it. */
  readonly only?: string
}

const NODES = 'nodes with `--store`'
const SMB_HOME = 'servers with SMB; of several nodes, the one that serves the files'

// prettier-ignore
export const METRICS = {
  lazuli_requests_total: { group: 'Requests', type: 'counter', labels: ['service', 'operation', 'status'], help: 'Requests answered, by operation and HTTP status' },
  lazuli_request_duration_seconds: { group: 'Requests', type: 'histogram', labels: ['service', 'operation', 'le'], help: 'Time from the start of a request to the end of its response' },
  lazuli_request_bytes_total: { group: 'Requests', type: 'counter', labels: ['service', 'operation'], help: 'Bytes of request bodies' },
  lazuli_response_bytes_total: { group: 'Requests', type: 'counter', labels: ['service', 'operation'], help: 'Bytes of response bodies' },
  lazuli_conflicts_total: { group: 'Requests', type: 'counter', labels: ['service', 'operation', 'code'], help: 'Requests, parts of batches and SMB commands that were refused because of what another client did or holds, by error code' },
  lazuli_authentication_failures_total: { group: 'Requests', type: 'counter', labels: ['service', 'code'], help: 'REST requests whose sender could not be authenticated' },
  lazuli_smb_logins_total: { group: 'Requests', type: 'counter', labels: ['outcome'], help: 'SMB logins, by outcome', only: SMB_HOME },
  lazuli_queries_running: { group: 'Requests', type: 'gauge', labels: [], help: 'Query Blob Contents requests in progress' },

  lazuli_leases_active: { group: 'What clients hold', type: 'gauge', labels: [], help: 'Active and breaking leases of containers, blobs, shares and files' },
  lazuli_messages_invisible: { group: 'What clients hold', type: 'gauge', labels: [], help: 'Messages that a client has received and not yet deleted, or that begin in the future' },
  lazuli_smb_sessions: { group: 'What clients hold', type: 'gauge', labels: [], help: 'SMB sessions', only: SMB_HOME },
  lazuli_smb_opens: { group: 'What clients hold', type: 'gauge', labels: [], help: 'Files and directories that SMB clients have open', only: SMB_HOME },
  lazuli_count_is_lower_bound: { group: 'What clients hold', type: 'gauge', labels: ['count'], help: 'Whether there are more leases, messages or opens than one scrape counts: 1 or 0' },

  lazuli_build_info: { group: 'The server', type: 'gauge', labels: ['version', 'node'], help: 'Versions of Lazuli and Node.js; always 1' },
  process_start_time_seconds: { group: 'The server', type: 'gauge', labels: [], help: 'When the process was started, in seconds since 1970' },
  process_resident_memory_bytes: { group: 'The server', type: 'gauge', labels: [], help: 'Memory of the process' },
  process_cpu_seconds_total: { group: 'The server', type: 'counter', labels: [], help: 'CPU time that the process has used' },
  lazuli_event_loop_lag_max_seconds: { group: 'The server', type: 'gauge', labels: [], help: 'The longest time since the last scrape in which the server could not react, because it was busy' },
  lazuli_unauthenticated_bytes: { group: 'The server', type: 'gauge', labels: [], help: 'Memory of connections that have not authenticated; the oldest are closed at 64 MiB' },
  lazuli_store_bytes: { group: 'The server', type: 'gauge', labels: [], help: 'Size of the data' },
  lazuli_disk_free_bytes: { group: 'The server', type: 'gauge', labels: [], help: 'Free space of the disk with the content; without any, writes are refused', only: 'servers whose content is in a folder' },
  lazuli_backup_completed_timestamp_seconds: { group: 'The server', type: 'gauge', labels: [], help: 'When the last backup of this process was complete, in seconds since 1970', only: 'servers with a data folder, after a backup' },

  lazuli_nodes: { group: 'Several nodes', type: 'gauge', labels: [], help: 'Nodes of the cluster, as this node sees them', only: NODES },
  lazuli_role: { group: 'Several nodes', type: 'gauge', labels: ['role'], help: 'Whether this node has the role: 1 or 0', only: NODES },
  lazuli_heartbeat_age_seconds: { group: 'Several nodes', type: 'gauge', labels: [], help: 'Time since the last heartbeat of this node; from 5 seconds on, it is not ready', only: NODES },
  lazuli_heartbeat_duration_seconds: { group: 'Several nodes', type: 'gauge', labels: [], help: 'How long the last heartbeat took: a read and a commit', only: NODES },
  lazuli_clock_ahead_seconds: { group: 'Several nodes', type: 'gauge', labels: [], help: "How far the machine's clock is ahead of the database's", only: NODES },
  lazuli_relayed_connections: { group: 'Several nodes', type: 'gauge', labels: [], help: 'Connections for files that this node passes on to another', only: NODES },
  lazuli_database_round_trips_total: { group: 'Several nodes', type: 'counter', labels: [], help: 'Statements that this node has sent to the database for records', only: NODES },
  lazuli_database_commits_total: { group: 'Several nodes', type: 'counter', labels: [], help: 'Commits of this node; each has all transactions that were waiting', only: NODES },
  lazuli_database_transactions_total: { group: 'Several nodes', type: 'counter', labels: [], help: 'Transactions in these commits; divided by the commits, the size of a group', only: NODES },
  lazuli_database_overtaken_total: { group: 'Several nodes', type: 'counter', labels: [], help: 'Transactions that ran again, because another one had changed what they had read', only: NODES },
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof METRICS
