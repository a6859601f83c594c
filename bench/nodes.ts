// One, two and three nodes on one PostgreSQL, beside a server on LMDB and Azurite, under the same load. PostgreSQL, the nodes
// and the load share the machine, so more nodes are not faster here: the table shows what sharing costs.
import { chmod, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { startServer, type TestServer } from '../src/postgres/private-server.ts'
import type { Disk } from './disk.ts'
import { median, rateCell, ratioText, table, type Measured } from './report.ts'
import { measureRounds, type RoundsOptions } from './rounds.ts'
import { NODE_TARGETS, start, TARGETS, type Running, type Target } from './target.ts'

export type NodesOptions = Omit<RoundsOptions, 'servers'> & { readonly disk: Disk }

/** Minimal ratios of one node to Azurite. */
const GOALS: Readonly<Record<string, number>> = {
  'put-4k': 5,
  'get-4k': 8,
  'insert-entity': 4,
  'put-message': 4,
  'get-1m': 1,
}
/** Minimal ratio of Put Blob 1 MiB, with bytes in PostgreSQL, to what the disk takes. */
const DISK_GOAL = 0.4

const COMPARED = ['lazuli', 'azurite']

export async function measureNodes(options: NodesOptions): Promise<string> {
  const folder = await openFolder(options.folder)
  const database = await startDatabase(options.folder)
  const targets = [...TARGETS.filter(({ name }) => COMPARED.includes(name)), ...NODE_TARGETS]
  const servers: Running[] = []
  try {
    for (const target of targets) {
      const store = database.tcpUrl(await database.newDatabase())
      servers.push(await start(target, { location: join(folder, target.name), store }))
    }
    const results = await measureRounds({ ...options, servers })
    return resultTable(results, targets, options.disk)
  } finally {
    for (const server of servers) server.resume()
    await Promise.all(servers.map((server) => server.stop()))
    await database.stop()
  }
}

/** With the usual settings of a machine that is only a database; everything else is PostgreSQL's default. */
export async function startDatabase(folder: string): Promise<TestServer> {
  const settings = ['-c', 'shared_buffers=1GB', '-c', 'max_wal_size=8GB']
  return startServer(settings, await openFolder(folder))
}

/** PostgreSQL runs as another user, which must be able to enter the folder. */
async function openFolder(folder: string): Promise<string> {
  const nodes = join(process.cwd(), folder, 'nodes')
  await mkdir(nodes, { recursive: true })
  for (const each of [nodes, dirname(nodes)]) await chmod(each, 0o711)
  return nodes
}

function resultTable(
  results: readonly Measured[],
  targets: readonly Target[],
  { mibPerSecond }: Disk,
): string {
  const header = ['work', ...targets.map(({ title }) => `${title}/s`), '1 node ÷ Azurite (goal)', '1 node ÷ LMDB', '1 node ÷ disk (goal)'] // prettier-ignore
  const rows = results.map(({ row, rates }) => {
    const rate = (name: (typeof targets)[number]['name']): number =>
      median(rates.get(name)?.perSecond ?? [])
    const one = rate('node-1')
    return [
      row.work,
      ...targets.map(({ name }) => rateCell(rates.get(name))),
      ratioText(one / rate('azurite'), GOALS[row.name]),
      ratioText(one / rate('lazuli'), undefined),
      row.name === 'put-1m' ? ratioText(one / mibPerSecond, DISK_GOAL) : '–',
    ]
  })
  return table(header, rows)
}
