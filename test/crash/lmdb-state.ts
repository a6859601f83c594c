// The states of a store that lmdb-writer.ts goes through, and which of them a store is in.
import assert from 'node:assert/strict'
import type { Engine, Write } from '../../src/kv/engine/engine.ts'
import { encodeKey } from '../../src/kv/key.ts'
import { encodeRecord } from '../../src/kv/record.ts'

const RECORD_COUNT = 24
/** Longer than a page every fifth time, which LMDB stores in pages of its own. */
const LENGTHS = [40, 700, 2_000, 90, 20_000]

function valueOf(state: number, record: number): Uint8Array | undefined {
  // Some are deleted and come back, so that pages are freed and used again.
  if ((state + record) % 7 === 0) return undefined
  const lengthBytes = LENGTHS[(state * 3 + record) % LENGTHS.length] ?? 0
  return encodeRecord({ state, record }, Buffer.alloc(lengthBytes, `${state} ${record}`)).value
}

const keyOf = (record: number) => encodeKey('state', record)

/** Every record changes with every state. */
export function stateWrites(state: number): readonly Write[] {
  return Array.from({ length: RECORD_COUNT }, (_, record) => {
    return { key: keyOf(record), value: valueOf(state, record), version: state + 1 }
  })
}

/** Fails unless all records are those of one of the states. */
export async function stateOf(
  engine: Engine,
  allowed: readonly number[],
  where: string,
): Promise<number> {
  const wanted = Array.from({ length: RECORD_COUNT }, (_, record) => ({ key: keyOf(record) }))
  const { keys } = await engine.read({ keys: wanted, ranges: [] })
  const found = keys.map((each) => (typeof each === 'object' ? Buffer.from(each.value) : undefined))
  const state = allowed.find((state) =>
    found.every((value, record) => {
      const expected = state === 0 ? undefined : valueOf(state, record)
      return expected === undefined ? value === undefined : value?.equals(expected) === true
    }),
  )
  assert(
    state !== undefined,
    `${where}: the records are not those of state ${allowed.join(' or ')}`,
  )
  return state
}
