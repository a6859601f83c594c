// The same requests, one after the other, get the same answers from every server: in memory and on disk, with the cache and without, path
// style and host style, one node and three on PostgreSQL.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { NO_CACHE, LIMITS, setDefaultCacheLimits } from '../../src/kv/cache.ts'
import { SKIP_REASON, startServer as startPostgres } from '../../src/postgres/harness.ts'
import { startServer, type ServerOptions } from '../../src/server.ts'
import type { Endpoints } from '../../src/torture/drive/connection.ts'
import { SERVICES } from '../../src/torture/drive/kind.ts'
import { LAKE } from '../datalake/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { startLocalNode } from '../nodes/rig.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { endpointsOf, type Ports } from './rig.ts'
import { play, type Transcript } from './transcript.ts'

const STEPS = 250
const SEEDS = [3, randomInt(2 ** 31)]
/** All servers begin at the same time. */
const START_MS = Date.now()

type Clock = { nowMs: number }

type World = { readonly servers: readonly Endpoints[]; close(): Promise<void> }

after(cleanUp)

async function one(
  options: ServerOptions,
  style: (ports: Ports) => Endpoints = endpointsOf,
): Promise<World> {
  // prettier-ignore
  const server = await startServer(options)
  return { servers: [style(server)], close: () => server.close() }
}

async function withoutCache(clock: Clock): Promise<World> {
  setDefaultCacheLimits(NO_CACHE)
  try {
    return await one({ clock: () => clock.nowMs })
  } finally {
    setDefaultCacheLimits(LIMITS)
  }
}

function hostStyle(ports: Ports): Endpoints {
  const urls = SERVICES.map((service) => {
    if (service === 'smb') return [service, `smb://127.0.0.1:${ports.smbPort}`] as const
    const account = service === 'dfs' ? LAKE : ACCOUNT
    return [service, `http://${account}.${service}.localhost:${ports[`${service}Port`]}`] as const
  })
  return { account: ACCOUNT, lakeAccount: LAKE, key: ACCOUNT_KEY, urls: Object.fromEntries(urls) }
}

async function nodes(clock: Clock, count: number): Promise<World> {
  const postgres = await startPostgres()
  const url = postgres.url(await postgres.newDatabase())
  const started: Awaited<ReturnType<typeof startLocalNode>>[] = []
  for (let at = 0; at < count; at += 1) {
    started.push(await startLocalNode({ url, name: `n${at}`, clock: () => clock.nowMs }))
  }
  const servers = started.map(({ ports: { blob, queue, table, file, dfs, smb } }) =>
    endpointsOf({
      blobPort: blob,
      queuePort: queue,
      tablePort: table,
      filePort: file,
      dfsPort: dfs,
      smbPort: smb,
    }),
  )
  const close = async (): Promise<void> => {
    for (const node of started) await node.close()
    await postgres.stop()
  }
  return { servers, close }
}

async function transcriptOf(
  open: (clock: Clock) => Promise<World>,
  seed: number,
): Promise<Transcript> {
  // prettier-ignore
  const clock = { nowMs: START_MS }
  const { servers, close } = await open(clock)
  try {
    const advance = (byMs: number): void => void (clock.nowMs += byMs)
    return await play({ servers, seed, steps: STEPS, nowMs: () => clock.nowMs, advance })
  } finally {
    await close()
  }
}

const OTHERS: readonly [string, (clock: Clock) => Promise<World>, string | undefined][] = [
  ['on disk', (clock) => one({ clock: () => clock.nowMs, location: tempFolder('same') }), undefined], // prettier-ignore
  ['without the cache', withoutCache, undefined],
  ['in host style', (clock) => one({ clock: () => clock.nowMs }, hostStyle), undefined],
  ['one node on PostgreSQL', (clock) => nodes(clock, 1), SKIP_REASON],
  ['three nodes on PostgreSQL', (clock) => nodes(clock, 3), SKIP_REASON],
]

for (const seed of SEEDS) {
  const inMemory = transcriptOf((clock) => one({ clock: () => clock.nowMs }), seed)
  for (const [name, open, skip] of OTHERS) {
    test(`seed ${seed}, ${name}: the same as in memory`, { skip: skip ?? false }, async () => {
      const [expected, actual] = [await inMemory, await transcriptOf(open, seed)]
      assert(expected.lines.length > STEPS)
      const at = expected.lines.findIndex((line, number) => line !== actual.lines[number])
      assert.equal(actual.lines[at], expected.lines[at], `answer ${at}`)
      assert.equal(actual.lines.length, expected.lines.length)
    })
  }
}
