// Queues: one record each, found by account and name. Queues have no ETags, conditions or leases: the last
// writer wins.
import { decodeKey } from '../../kv/key.ts'
import { keyAfterPrefix, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import type { SignedIdentifier } from '../shared/access-policy.ts'
import { StorageError } from '../shared/error.ts'
import { isSameMetadata, type Metadata } from '../shared/metadata.ts'
import { requireFields } from '../shared/require-fields.ts'
import { deletedQueueKey, queueKey, queueKeyPrefix } from './keys.ts'

export type QueueAddress = { readonly account: string; readonly queue: string }

export type Queue = {
  /** In the keys of its messages. Clear Messages assigns a new one. */
  readonly id: number
  readonly metadata: Metadata
  readonly policies: readonly SignedIdentifier[]
}

export function getQueue(tx: ReadTx, address: QueueAddress): Step<Queue | undefined> {
  return tx.getFields(queueKey(address.account, address.queue))
}

export function requireQueue(tx: ReadTx, address: QueueAddress): Step<Queue> {
  return requireFields(tx, queueKey(address.account, address.queue), 'QueueNotFound')
}

/** Creating a queue that exists with the same metadata succeeds. */
export function* createQueue(
  tx: Tx,
  address: QueueAddress,
  created: Pick<Queue, 'id' | 'metadata'>,
): Step<'created' | 'existed'> {
  const existing = yield* getQueue(tx, address)
  if (existing === undefined) {
    saveQueue(tx, address, { ...created, policies: [] })
    return 'created'
  }
  if (isSameMetadata(existing.metadata, created.metadata)) return 'existed'
  throw new StorageError('QueueAlreadyExists')
}

/** The messages are swept later; clients can't reach them any more. */
export function* deleteQueue(tx: Tx, address: QueueAddress): Step<void> {
  const { id } = yield* requireQueue(tx, address)
  tx.delete(queueKey(address.account, address.queue))
  tx.put(deletedQueueKey(id), encodeRecord({}))
}

export function* clearMessages(tx: Tx, address: QueueAddress, newId: number): Step<void> {
  const queue = yield* requireQueue(tx, address)
  saveQueue(tx, address, { ...queue, id: newId })
  tx.put(deletedQueueKey(queue.id), encodeRecord({}))
}

/** Set Queue Metadata and Set Queue ACL replace the named part completely. */
export function* changeQueue(
  tx: Tx,
  address: QueueAddress,
  set: Pick<Queue, 'metadata'> | Pick<Queue, 'policies'>,
): Step<void> {
  const queue = yield* requireQueue(tx, address)
  saveQueue(tx, address, { ...queue, ...set })
}

type ListQueues = {
  readonly prefix: string
  /** The page starts after this name. */
  readonly after: string | undefined
  readonly countMax: number
}

export type QueueItem = { readonly name: string; readonly queue: Queue }

type QueuePage = { readonly items: readonly QueueItem[]; readonly next: string | undefined }

export function* listQueues(
  tx: ReadTx,
  account: string,
  { prefix, after, countMax }: ListQueues,
): Step<QueuePage> {
  const start = queueKeyPrefix(account, prefix)
  const behind = after === undefined ? start : keyAfterPrefix(queueKey(account, after))
  const from = Buffer.compare(behind, start) > 0 ? behind : start
  const range = { from, to: keyAfterPrefix(start), countMax: countMax + 1 }
  const entries = yield* tx.scanFields(range)
  const found = entries.map(({ key, value }) => {
    return { name: String(decodeKey(key)[2]), queue: decodeRecord<Queue>(value) }
  })
  const items = found.slice(0, countMax)
  return { items, next: found.length > countMax ? items.at(-1)?.name : undefined }
}

function saveQueue(tx: Tx, address: QueueAddress, queue: Queue): void {
  tx.put(queueKey(address.account, address.queue), encodeRecord(queue))
}
