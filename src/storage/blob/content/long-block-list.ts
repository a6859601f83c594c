// Put Block List with more blocks than one transaction should touch. Small transactions build the new map from
// a consistent view of the blocks. The last transaction puts the map in place if nothing has changed since;
// otherwise the map is built again. After a few attempts, one big transaction does it all.
import { setImmediate } from 'node:timers/promises'
import { ExtentRetired } from '../../../extent/error.ts'
import type { Kv, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { adoptMap, beginMap, discardCopy } from '../../../extent/content/map-copy.ts'
import type { Moment } from '../../../node/moment.ts'
import type { BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import {
  checkPutBlockList,
  namedBlocks,
  putBlockList,
  type BlockList,
  type BlockListEntry,
} from './block.ts'
import { MAP_BLOCKS, putBlockRecords, type BlobContent, type BlockPieces } from './content.ts'
import { replaceBlob, type PutBlob, type PutTarget } from '../put.ts'
import { discardStaging } from './staging.ts'

/** The longest list that one transaction commits. */
const ONE_TRANSACTION_BLOCKS_MAX = 1_000
/** Blocks per step, in whole map records. */
const STEP_BLOCKS = 2 * MAP_BLOCKS
const ATTEMPTS_MAX = 3

type LongBlockList = Omit<BlockList, 'newId'> & {
  newId(): number
  /** The machine's clock: the sweep uses it to find maps that a crash has left behind. */
  readonly wallNowMs: number
}

/** Put Block List of any length. */
export async function putAnyBlockList(
  kv: Pick<Kv, 'read' | 'write'>,
  address: BlobAddress,
  put: PutBlob,
  list: LongBlockList,
  moment: Moment,
): Promise<Blob> {
  const { entries, newId, wallNowMs } = list
  const attempts = entries.length > ONE_TRANSACTION_BLOCKS_MAX ? ATTEMPTS_MAX : 0
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    // Decoding the list has already taken a while.
    await setImmediate()
    const found = await kv.read((tx) => findBlocks(tx, address, put, entries, moment.nowMs))
    await setImmediate()
    const mapId = newId()
    const content = await buildMap(kv, mapId, found.blocks, wallNowMs)
    const built = content && { content, state: found.state }
    const blob = built && (await kv.write((tx) => commitMap(tx, address, put, built, moment)))
    if (blob !== undefined) return blob
    await kv.write((tx) => discardCopy(tx, mapId))
  }
  const whole = { entries, newId: newId() }
  return kv.write((tx) => putBlockList(tx, address, put, whole, moment))
}

type Found = { readonly blocks: readonly BlockPieces[]; readonly state: readonly unknown[] }

function* findBlocks(
  tx: ReadTx,
  address: BlobAddress,
  put: PutBlob,
  entries: readonly BlockListEntry[],
  nowMs: number,
): Step<Found> {
  const { target } = yield* checkPutBlockList(tx, address, put, nowMs)
  const blocks = yield* namedBlocks(tx, target, put.guard, { entries })
  return { blocks, state: stateOf(target) }
}

/** Everything that determines which blocks a list names: the container, the blob and its uncommitted blocks. */
function stateOf({ container, stored, staging }: PutTarget): readonly unknown[] {
  return [container.id, container.stamp, stored?.blob.stamp, staging?.id, staging?.latest]
}

/** Undefined if the bytes of a block have been removed meanwhile. */
async function buildMap(
  kv: Pick<Kv, 'read' | 'write'>,
  mapId: number,
  blocks: readonly BlockPieces[],
  wallNowMs: number,
): Promise<BlobContent | undefined> {
  await kv.write((tx) => beginMap(tx, mapId, wallNowMs))
  let lengthBytes = 0
  for (let at = 0; at < blocks.length; at += STEP_BLOCKS) {
    const step = blocks.slice(at, at + STEP_BLOCKS)
    const from = lengthBytes
    try {
      lengthBytes = await kv.write((tx) => putBlockRecords(tx, mapId, from, step))
    } catch (error) {
      if (error instanceof ExtentRetired) return undefined
      throw error
    }
    // The memory engine doesn't wait for anything.
    await setImmediate()
  }
  return { lengthBytes, map: mapId }
}

/** Undefined if the blocks have changed since they were found. */
function* commitMap(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  { content, state }: { readonly content: BlobContent; readonly state: readonly unknown[] },
  moment: Moment,
): Step<Blob | undefined> {
  const { target, encrypted } = yield* checkPutBlockList(tx, address, put, moment.nowMs)
  const isSame = stateOf(target).every((part, at) => part === state[at])
  if (!isSame || content.map === undefined) return undefined
  yield* adoptMap(tx, content.map)
  const { containerId, name, staging } = target
  if (staging !== undefined) yield* discardStaging(tx, containerId, name)
  const replacement = { type: 'BlockBlob', content } as const
  const before = { ...target, staging: undefined }
  return yield* replaceBlob(tx, address, before, encrypted, replacement, moment)
}
