// Ids that are never used twice, for containers, contents and others. They are reserved in blocks, so taking one needs
// no disk access; a crash only skips the rest of a block.
import assert from 'node:assert/strict'
import { encodeKey } from '../kv/key.ts'
import type { Kv, ReadTx, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export type Ids = () => number

const BLOCK = 100_000
const NEXT_ID_KEY = encodeKey('next-id')

export async function openIds(kv: Kv, block: number = BLOCK): Promise<Ids> {
  let next = await kv.write((tx) => reserve(tx, block))
  let end = next + block
  let following: number | undefined
  let reserving = false
  const reserveNext = async (): Promise<void> => {
    reserving = true
    try {
      following = await kv.write((tx) => reserve(tx, block))
    } finally {
      reserving = false
    }
  }
  return () => {
    if (next === end && following !== undefined) {
      next = following
      end = next + block
      following = undefined
    }
    assert(next < end, 'the next block of ids was not reserved in time')
    // A failed reservation is retried at the next id.
    if (following === undefined && !reserving && end - next <= block / 2) {
      reserveNext().catch(() => {})
    }
    next += 1
    return next - 1
  }
}

function* reserve(tx: Tx, block: number): Step<number> {
  const next = yield* getNextId(tx)
  yield* putNextId(tx, next + block)
  return next
}

/** Above every id that was ever taken. */
export function* getNextId(tx: ReadTx): Step<number> {
  return (yield* tx.getFields<{ next: number }>(NEXT_ID_KEY))?.next ?? 1
}

export function* putNextId(tx: Tx, next: number): Step<void> {
  tx.put(NEXT_ID_KEY, encodeRecord({ next }))
}
