// Fixture for tests of queues below HTTP: a store in memory, one queue, a clock that the test moves, and the
// operations as the front end calls them.
import { countingTx, TxCounts, recordCounts } from '../../kv/counting.ts'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { readQueueCount } from './count.ts'
import { deleteMessage, putMessage, updateMessage, type Message } from './message.ts'
import { createQueue } from './queue.ts'
import { getFirstMessages, peekFirstMessages } from './visible.ts'

export const QUEUE = { account: 'account', queue: 'box' }
export const SECOND_MS = 1_000

export type QueueWorld = Awaited<ReturnType<typeof queueWorld>>

export async function queueWorld(options: { readonly waits?: boolean } = {}) {
  const kv = openMemoryKv(options)
  const now = { ms: Date.UTC(2024, 0) }
  let lastId = 0
  const newId = (): number => (lastId += 1)
  const newGuid = (): string => `00000000-0000-4000-8000-${String(newId()).padStart(12, '0')}`
  const create = async (): Promise<void> => {
    const id = newId()
    await kv.write((tx) => createQueue(tx, QUEUE, { id, metadata: [] }))
  }
  await create()
  return {
    kv,
    now,
    newId,
    create,
    advance: (byMs: number) => {
      now.ms += byMs
    },
    put: (text: string, times: { readonly delayMs?: number; readonly liveMs?: number } = {}) => {
      const put = {
        randomGuid: newGuid(),
        text: Buffer.from(text),
        visibilityTimeoutMs: times.delayMs ?? 0,
        timeToLiveMs: times.liveMs,
      }
      return kv.write((tx) => putMessage(tx, QUEUE, put, now.ms))
    },
    get: (countMax = 1, visibilityTimeoutMs = 30 * SECOND_MS) =>
      getFirstMessages(kv, QUEUE, { countMax, visibilityTimeoutMs }, now.ms),
    peek: (countMax = 1) => peekFirstMessages(kv, QUEUE, countMax, now.ms),
    update: (message: Message, visibilityTimeoutMs: number) =>
      kv.write((tx) => updateMessage(tx, QUEUE, claimOf(message), { visibilityTimeoutMs }, now.ms)),
    delete: (message: Message) =>
      kv.write((tx) => deleteMessage(tx, QUEUE, claimOf(message), now.ms)),
    count: async () => (await kv.read((tx) => readQueueCount(tx, QUEUE, now.ms))).messageCount,
    /** The number of records of each kind. */
    records: () => recordCounts(kv),
  }
}

function claimOf({ id, sequence }: Message) {
  return { messageId: id, receipt: { messageId: id, sequence } }
}

export function messageText({ text }: Message): string {
  return Buffer.from(text).toString()
}

/** The store, and the number of records that its write transactions have read. */
export function countingWrites(kv: Kv): { readonly kv: Kv; count(): number } {
  let total = 0
  const write: Kv['write'] = async (body) => {
    let counts = new TxCounts()
    const value = await kv.write((tx) => {
      // The body may run again.
      counts = new TxCounts()
      return body(countingTx(tx, counts))
    })
    total += counts.records
    return value
  }
  return { kv: { ...kv, write }, count: () => total }
}
