// Measures whether a queue on PostgreSQL that has seen a million messages is as fast as a new one: each message is put, got
// and deleted while a few are waiting, by the rules of the store without HTTP. Each put, get and delete leaves dead rows
// behind in the table and its index, which autovacuum has to remove as fast.
import { randomUUID } from 'node:crypto'
import { openPostgresEngine } from '../src/kv/engine/postgres.ts'
import type { Kv } from '../src/kv/kv.ts'
import { openKv, versionsOf } from '../src/kv/runner/runner.ts'
import type { Connection } from '../src/postgres/client.ts'
import { callDeadlineMs } from '../src/postgres/pool.ts'
import type { TestServer } from '../src/postgres/private-server.ts'
import { connectionSettings } from '../src/postgres/settings.ts'
import { deleteMessage, putMessage } from '../src/storage/queue/message.ts'
import { createQueue } from '../src/storage/queue/queue.ts'
import { getMessages } from '../src/storage/queue/visible.ts'
import { startDatabase } from './nodes.ts'
import { median, number, table } from './report.ts'

export type MessagesOptions = { readonly folder: string; readonly messageCount: number }

const ADDRESS = { account: 'account', queue: 'queue' }
const TEXT = Buffer.alloc(512, 'x')
const WAITING_COUNT = 1_000
const CLIENT_COUNT = 32
const SLICE_COUNT = 10
const ROUND_COUNT = 9
const ROUND_MESSAGES = 3_000
const TIME_TO_LIVE_MS = 7 * 86_400_000
const HIDDEN_MS = 60_000

export async function measureMessages({ folder, messageCount }: MessagesOptions): Promise<string> {
  const database = await startDatabase(folder)
  const stores: Store[] = []
  const newStore = async (): Promise<Store> => {
    const store = await openStore(database)
    stores.push(store)
    return store
  }
  try {
    const used = await newStore()
    const rows: string[][] = []
    const perSlice = Math.ceil(messageCount / SLICE_COUNT)
    for (let seen = 0; seen < messageCount; seen += perSlice) {
      const perSecond = await rate(used, perSlice)
      rows.push([number(seen + perSlice), number(perSecond), ...(await sizes(used.connection))])
      console.error(rows.at(-1)?.join('  '))
    }
    const sizesTable = table(['messages', 'put, got and deleted/s', 'table KiB', 'index KiB', 'live rows', 'dead rows', 'autovacuums'], rows) // prettier-ignore
    return `${sizesTable}\n\n${await compare(used, await newStore())}`
  } finally {
    for (const { kv, connection } of stores) {
      await connection.close()
      await kv.close()
    }
    await database.stop()
  }
}

/** A database of its own with one queue. */
type Store = { readonly kv: Kv; readonly connection: Connection }

async function openStore(database: TestServer): Promise<Store> {
  const name = await database.newDatabase()
  const engine = await openPostgresEngine(connectionSettings(database.url(name), {}))
  const kv = openKv(engine, { nextVersion: versionsOf(engine.number) })
  await kv.write((tx) => createQueue(tx, ADDRESS, { id: 1, metadata: [] }))
  for (let count = 0; count < WAITING_COUNT; count += 1) await put(kv)
  return { kv, connection: await database.connectTo(name) }
}

/** In turns, so that both see the same machine. */
async function compare(used: Store, fresh: Store): Promise<string> {
  const ratios: number[] = []
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    ratios.push((await rate(used, ROUND_MESSAGES)) / (await rate(fresh, ROUND_MESSAGES)))
  }
  const all = ratios.map((each) => each.toFixed(2)).join(' ')
  return `this queue ÷ a new one, in turns: ${median(ratios).toFixed(2)} (${all})`
}

/** Messages that are put, got and deleted per second. */
async function rate({ kv }: Store, count: number): Promise<number> {
  const beganMs = performance.now()
  await pass(kv, count)
  return (count * 1_000) / (performance.now() - beganMs)
}

async function pass(kv: Kv, count: number): Promise<void> {
  let left = count
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await put(kv)
      await take(kv)
    }
  }
  await Promise.all(Array.from({ length: CLIENT_COUNT }, client))
}

async function put(kv: Kv): Promise<void> {
  const message = {
    randomGuid: randomUUID(),
    text: TEXT,
    visibilityTimeoutMs: 0,
    timeToLiveMs: TIME_TO_LIVE_MS,
  }
  const nowMs = Date.now()
  await kv.write((tx) => putMessage(tx, ADDRESS, message, nowMs))
}

async function take(kv: Kv): Promise<void> {
  const nowMs = Date.now()
  const get = { countMax: 1, visibilityTimeoutMs: HIDDEN_MS }
  const { messages } = await kv.write((tx) => getMessages(tx, ADDRESS, get, nowMs))
  const [message] = messages
  if (message === undefined) throw new Error('the queue is empty')
  const { id: messageId, sequence } = message
  const claim = { messageId, receipt: { messageId, sequence } }
  await kv.write((tx) => deleteMessage(tx, ADDRESS, claim, nowMs))
}

async function sizes(connection: Connection): Promise<readonly string[]> {
  const rows = await connection.run(SIZES, [], callDeadlineMs())
  return (rows[0] ?? []).map((each) => number(Number(each)))
}

const SIZES = {
  name: 'sizes',
  text: `SELECT pg_table_size('lazuli.kv') / 1024, pg_indexes_size('lazuli.kv') / 1024,
    n_live_tup, n_dead_tup, autovacuum_count FROM pg_stat_user_tables WHERE relid = 'lazuli.kv'::regclass`,
}
