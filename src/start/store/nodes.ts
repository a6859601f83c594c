// `lazuli nodes`: lists the nodes of a running cluster, as their records in the database show them.
import { getClusterState, listedNodes, type ListedNode } from '../../node/node-list.ts'
import type { Environment } from '../../postgres/settings.ts'
import { tableLines, type TextColumn } from '../text-table.ts'
import { openDatabaseReader } from './database.ts'

export async function listNodes(url: string, env: Environment): Promise<readonly ListedNode[]> {
  const { kv, nowMs, close } = await openDatabaseReader(url, env)
  try {
    const { nodes, holders } = await kv.read((tx) => getClusterState(tx, nowMs()))
    return listedNodes(nodes, (role) => holders.get(role), nowMs())
  } finally {
    await close()
  }
}

const COLUMNS: readonly TextColumn<ListedNode>[] = [
  ['NODE', ({ name }) => name],
  ['NUMBER', ({ number }) => String(number)],
  ['HEARTBEAT', heartbeatText],
  ['ROLES', ({ roles }) => roles.join(',') || '-'],
  ['VERSION', ({ version }) => version],
  ['STARTED', ({ startedAt }) => startedAt.replace(/\.\d+Z$/, 'Z')],
  ['CLOCK', ({ clockAheadMs }) => clockText(clockAheadMs)],
  ['BEAT TAKES', ({ heartbeatMs }) => `${heartbeatMs} ms`],
  ['PEER', ({ peer }) => (peer === undefined ? '-' : addressText(peer))],
  ['SERVICES', ({ endpoints }) => endpoints.map(serviceText).join(' ') || '-'],
]

/** A table with a line for each node. */
export function nodeLines(nodes: readonly ListedNode[]): readonly string[] {
  if (nodes.length === 0) return ['no node is running']
  return tableLines(COLUMNS, nodes)
}

function heartbeatText({ heartbeatAgeMs, isSilent }: ListedNode): string {
  const ago = `${(heartbeatAgeMs / 1_000).toFixed(1)} s ago`
  return isSilent ? `${ago}, SILENT` : ago
}

/** How far the machine's clock is off. */
function clockText(aheadMs: number): string {
  if (aheadMs === 0) return 'exact'
  const direction = aheadMs > 0 ? 'ahead' : 'behind'
  return `${(Math.abs(aheadMs) / 1_000).toFixed(3)} s ${direction}`
}

function serviceText({ service, ...address }: ListedNode['endpoints'][number]): string {
  return `${service}=${addressText(address)}`
}

function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
