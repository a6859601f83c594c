// Messages. Hiding a message moves it to the time at which it becomes visible again, and every move assigns a
// new sequence number: messages of one millisecond are ordered by it, and a pop receipt with an older number is
// stale. A message disappears in the millisecond in which it expires, even if its record is still to be swept
// (sweep.ts).
import assert from 'node:assert/strict'
import type { Entry, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes } from '../../kv/record.ts'
import { StorageError } from '../shared/error.ts'
import { decodePosition, messageIdKey, messageKey, type Position } from './keys.ts'
import { messageIdAt } from './message-id.ts'
import type { PopReceipt } from './pop-receipt.ts'
import { requireQueue, type QueueAddress } from './queue.ts'
import { getTally, saveTally, tallyAfterMove } from './tally.ts'

/** The record under a message's position, followed by the text. */
export type MessageRecord = {
  /** A GUID in lower case. */
  readonly id: string
  readonly insertedMs: number
  /** Without it, the message never expires. */
  readonly expiresMs?: number
  readonly dequeueCount: number
}

export type Message = MessageRecord &
  Position & {
    /** UTF-8. */
    readonly text: Uint8Array
  }

type PutMessage = {
  readonly randomGuid: string
  readonly text: Uint8Array
  readonly visibilityTimeoutMs: number
  /** Undefined: the message never expires. */
  readonly timeToLiveMs: number | undefined
}

export function* putMessage(
  tx: Tx,
  address: QueueAddress,
  put: PutMessage,
  nowMs: number,
): Step<Message> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queueId)
  const expiresMs = put.timeToLiveMs === undefined ? undefined : nowMs + put.timeToLiveMs
  const message: Message = {
    id: messageIdAt({ nowMs, expiresMs }, put.randomGuid),
    insertedMs: nowMs,
    ...(expiresMs !== undefined && { expiresMs }),
    dequeueCount: 0,
    visibleAtMs: nowMs + put.visibilityTimeoutMs,
    sequence: tally.lastSequence + 1,
    text: put.text,
  }
  saveMessage(tx, queueId, message)
  const messageCount = tally.messageCount + 1
  saveTally(tx, queueId, { ...tallyAfterMove(tally, message), messageCount })
  return message
}

/** A message, and the receipt that must be its latest. */
export type MessageClaim = { readonly messageId: string; readonly receipt: PopReceipt }

type UpdateMessage = {
  readonly visibilityTimeoutMs: number
  /** Without it, the text stays. */
  readonly text?: Uint8Array
}

/**
 * The documentation forbids hiding a message beyond its expiry, but the service allows it
 * (azure-sdk-for-java#105). The message then expires while it is invisible.
 */
export function* updateMessage(
  tx: Tx,
  address: QueueAddress,
  claim: MessageClaim,
  update: UpdateMessage,
  nowMs: number,
): Step<Message> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const current = yield* claimMessage(tx, queueId, claim, nowMs)
  const tally = yield* getTally(tx, queueId)
  const message = {
    ...current,
    text: update.text ?? current.text,
    visibleAtMs: nowMs + update.visibilityTimeoutMs,
    sequence: tally.lastSequence + 1,
  }
  tx.delete(messageKey(queueId, current))
  saveMessage(tx, queueId, message)
  saveTally(tx, queueId, tallyAfterMove(tally, message))
  return message
}

export function* deleteMessage(
  tx: Tx,
  address: QueueAddress,
  claim: MessageClaim,
  nowMs: number,
): Step<void> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const message = yield* claimMessage(tx, queueId, claim, nowMs)
  removeMessage(tx, queueId, message.id, message)
  const tally = yield* getTally(tx, queueId)
  saveTally(tx, queueId, { ...tally, messageCount: tally.messageCount - 1 })
}

export function* messagePosition(
  tx: ReadTx,
  queueId: number,
  messageId: string,
): Step<Position | undefined> {
  const value = yield* tx.get(messageIdKey(queueId, messageId))
  return value === undefined ? undefined : decodeRecord<Position>(value)
}

export function removeMessage(
  tx: Tx,
  queueId: number,
  messageId: string,
  position: Position,
): void {
  tx.delete(messageKey(queueId, position))
  tx.delete(messageIdKey(queueId, messageId))
}

/** A receipt stays valid after the visibility timeout. Another get or an update makes it stale. */
function* claimMessage(
  tx: ReadTx,
  queueId: number,
  { messageId, receipt }: MessageClaim,
  nowMs: number,
): Step<Message> {
  const position = yield* messagePosition(tx, queueId, messageId)
  if (position === undefined) throw new StorageError('MessageNotFound')
  if (receipt.messageId !== messageId) throw new StorageError('PopReceiptMismatch')
  // A stale receipt is no mismatch: azure-storage-net#285, azure-storage-python#300.
  if (receipt.sequence !== position.sequence) throw new StorageError('MessageNotFound')
  const key = messageKey(queueId, position)
  const value = yield* tx.get(key)
  assert(value !== undefined, 'a message is where its id says')
  const message = decodeMessage({ key, value })
  if (isMessageExpired(message, nowMs)) throw new StorageError('MessageNotFound')
  return message
}

export function isMessageExpired({ expiresMs }: MessageRecord, nowMs: number): boolean {
  return expiresMs !== undefined && expiresMs <= nowMs
}

export function saveMessage(tx: Tx, queueId: number, message: Message): void {
  const { text, visibleAtMs, sequence, ...record } = message
  const position: Position = { visibleAtMs, sequence }
  tx.put(messageKey(queueId, position), encodeRecord(record, text))
  tx.put(messageIdKey(queueId, message.id), encodeRecord(position))
}

export function decodeMessage({ key, value }: Entry): Message {
  return {
    ...decodeRecord<MessageRecord>(value),
    ...decodePosition(key),
    text: recordBytes(value),
  }
}
