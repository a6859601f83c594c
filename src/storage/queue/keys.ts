// Every key of the Queue service. A queue's messages are found by its id, and Clear Messages gives it a new
// one, so emptying or deleting a queue is one record. Messages stand in the order in which they become
// visible: the next ones to get are the first ones in the range, however many there are.
import { decodeKey, encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import { prefixRange, type Key } from '../../kv/kv.ts'
import { firstIdAt } from './message-id.ts'

/** → Queue */
export function queueKey(account: string, name: string): Key {
  return encodeKey('queue', account, name)
}

export function queueKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['queue', account], namePrefix)
}

/** → Tally: how many messages there are, and the last sequence number */
export function tallyKey(queueId: number): Key {
  return encodeKey('queue-tally', queueId)
}

/** Where a message stands. No two of a queue have the same sequence number, and a move gives a new one. */
export type Position = { readonly visibleAtMs: number; readonly sequence: number }

/** → Message, and behind it its text */
export function messageKey(queueId: number, { visibleAtMs, sequence }: Position): Key {
  return encodeKey('message', queueId, visibleAtMs, sequence)
}

/** From a message's key. */
export function decodePosition(key: Key): Position {
  const [, , visibleAtMs, sequence] = decodeKey(key)
  return { visibleAtMs: Number(visibleAtMs), sequence: Number(sequence) }
}

/** The messages that are visible at a time, from a place on. */
export function visibleRange(queueId: number, from: Position, nowMs: number) {
  return {
    from: messageKey(queueId, from),
    to: encodeKey('message', queueId, nowMs + 1),
  }
}

/** → Position. In the order in which messages expire (message-id.ts). */
export function messageIdKey(queueId: number, messageId: string): Key {
  return encodeKey('message-id', queueId, messageId)
}

export function expiredRange(queueId: number, nowMs: number) {
  return {
    from: encodeKey('message-id', queueId),
    to: messageIdKey(queueId, firstIdAt(nowMs + 1)),
  }
}

/** The ids of the messages of all queues from this one on. */
export function messageIdsFrom(queueId: number) {
  return { from: encodeKey('message-id', queueId), to: prefixRange(encodeKey('message-id')).to }
}

/** → {}: an id that no queue has any more and whose messages are still to be swept */
export function deletedQueueKey(queueId: number): Key {
  return encodeKey('deleted-queue', queueId)
}

export const DELETED_QUEUES = prefixRange(encodeKey('deleted-queue'))

/** Everything that is kept of a queue's messages, but for the tally. */
export function messageRanges(queueId: number) {
  return ['message', 'message-id'].map((kind) => prefixRange(encodeKey(kind, queueId)))
}
