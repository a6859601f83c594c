// Finds garbage that no sweep would ever look at: extents and small slices without references and without a mark.
import { decodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { encodeKey } from '../../kv/key.ts'
import { encodeRecord } from '../../kv/record.ts'
import { markDirty } from '../content/reference.ts'
import { SMALL_EXTENT } from '../content/slice.ts'
import { smallDroppedKey } from '../content/small.ts'
import {
  dirtyKey,
  extentDueKey,
  EXTENT_RANGE,
  getExtent,
  keyNumbers,
  markDue,
  referencesOf,
  referencesOfSlice,
} from '../keys.ts'
import { scanSteps } from '../scan.ts'
import { problem, repairBy, type Problem, type Report } from './problem.ts'

const SMALL_SLICES = prefixRange(encodeKey('small-slice'))

export async function checkGarbage(kv: Kv, report: Report): Promise<void> {
  for await (const { key } of scanSteps(kv, EXTENT_RANGE)) {
    const found = await kv.read((tx) => lookAtExtent(tx, key))
    if (found !== undefined) await report(found)
  }
  for await (const { key } of scanSteps(kv, SMALL_SLICES)) {
    const found = await kv.read((tx) => lookAtSmallSlice(tx, key))
    if (found !== undefined) await report(found)
  }
}

function* lookAtExtent(tx: ReadTx, key: Key): Step<Problem | undefined> {
  const [extent = 0] = keyNumbers(key)
  const record = yield* getExtent(tx, extent)
  if (record === undefined || record.state === 'open') return undefined
  const sinceMs = record.retiredAtMs ?? record.sealedAtMs ?? 0
  if ((yield* tx.get(extentDueKey(sinceMs, extent))) !== undefined) return undefined
  const found = problem('garbageNotMarked', key, `${record.sizeBytes} bytes`)
  if (record.state === 'retired') {
    return { ...found, repair: repairBy('marked it', (into) => due(into, sinceMs, extent)) }
  }
  if ((yield* tx.get(dirtyKey(extent))) !== undefined) return undefined
  const references = yield* tx.scanKeys({ ...referencesOf(extent), countMax: 1 })
  if (references.length > 0) return undefined
  return { ...found, repair: repairBy('marked it', (into) => dirty(into, extent)) }
}

function* lookAtSmallSlice(tx: ReadTx, key: Key): Step<Problem | undefined> {
  const id = Number(decodeKey(key)[1])
  if ((yield* tx.get(smallDroppedKey(id))) !== undefined) return undefined
  const range = { ...referencesOfSlice(SMALL_EXTENT, id), countMax: 1 }
  if ((yield* tx.scanKeys(range)).length > 0) return undefined
  const repair = repairBy('marked it', (into) => dropped(into, id))
  return { ...problem('garbageNotMarked', key, 'nothing refers to it'), repair }
}

function* due(tx: Tx, atMs: number, extent: number): Step<void> {
  markDue(tx, atMs, extent)
}

function* dirty(tx: Tx, extent: number): Step<void> {
  markDirty(tx, extent)
}

function* dropped(tx: Tx, id: number): Step<void> {
  tx.put(smallDroppedKey(id), encodeRecord({}))
}
