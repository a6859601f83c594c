// All keys of the Queue service. The keys of messages contain the id of their queue, and Clear Messages gives
// the queue a new id, so clearing or deleting a queue changes one record. Messages are ordered by the time at
// which they become visible: the next ones to get are the first in the range, however many there are.
import { decodeKey, encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'
import { firstIdAt } from './message-id.ts'

/** → Queue */
export function queueKey(account: string, name: string): Key {
  return encodeKey('queue', account, name)
}

/** The queues of an account, or of all; or the one with this name. */
export function queuesRange(...names: readonly string[]): KeyRange {
  return prefixRange(encodeKey('queue', ...names))
}

export function queueKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['queue', account], namePrefix)
}

/** Of all accounts. */
export const ALL_QUEUES = prefixRange(encodeKey('queue'))

/** → Tally: the number of messages, and the last sequence number */
export function tallyKey(queueId: number): Key {
  return encodeKey('queue-tally', queueId)
}

/** The place of a message in its queue. Sequence numbers are unique in a queue, and every move assigns a new one. */
export type Position = { readonly visibleAtMs: number; readonly sequence: number }

/** → MessageRecord, followed by the text */
export function messageKey(queueId: number, { visibleAtMs, sequence }: Position): Key {
  return encodeKey('message', queueId, visibleAtMs, sequence)
}

/** The position in a message's key. */
export function decodePosition(key: Key): Position {
  const [, , visibleAtMs, sequence] = decodeKey(key)
  return { visibleAtMs: Number(visibleAtMs), sequence: Number(sequence) }
}

/** The messages that are visible at `nowMs`, starting at a position. */
export function visibleRange(queueId: number, from: Position, nowMs: number) {
  return {
    from: messageKey(queueId, from),
    to: encodeKey('message', queueId, nowMs + 1),
  }
}

/** The messages that become visible after `nowMs`. */
export function invisibleRange(queueId: number, nowMs: number): KeyRange {
  const { to } = prefixRange(encodeKey('message', queueId))
  return { from: encodeKey('message', queueId, nowMs + 1), to }
}

/** → Position. Ordered by the time at which messages expire (message-id.ts). */
export function messageIdKey(queueId: number, messageId: string): Key {
  return encodeKey('message-id', queueId, messageId)
}

export function expiredRange(queueId: number, nowMs: number) {
  return {
    from: encodeKey('message-id', queueId),
    to: messageIdKey(queueId, firstIdAt(nowMs + 1)),
  }
}

/** The message ids of all queues from this one on. */
export function messageIdsFrom(queueId: number) {
  return { from: encodeKey('message-id', queueId), to: prefixRange(encodeKey('message-id')).to }
}

/** → {}: the former id of a queue, whose messages are still to be swept */
export function deletedQueueKey(queueId: number): Key {
  return encodeKey('deleted-queue', queueId)
}

export const DELETED_QUEUES = prefixRange(encodeKey('deleted-queue'))

/** All records of a queue's messages. The tally is separate. */
export function messageRanges(queueId: number) {
  return ['message', 'message-id'].map((kind) => prefixRange(encodeKey(kind, queueId)))
}
