// Put Block List of more blocks than one transaction should touch. The map that shows them is made beside it, in
// small transactions, from the blocks as they were at one time. The last transaction puts it into its place, if
// nothing has changed since; otherwise the map is made again, and after a few times all is done in one.
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

/** Blocks of a list that one transaction commits. */
const ONE_TRANSACTION_BLOCKS_MAX = 1_000
/** Blocks of one step: whole records. */
const STEP_BLOCKS = 2 * MAP_BLOCKS
const ATTEMPTS_MAX = 3

export type LongBlockList = Omit<BlockList, 'newId'> & {
  newId(): number
  /** The machine's clock, by which maps that a crash has left are swept. */
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
    // Decoding the list took a while already.
    await setImmediate()
    const seen = await kv.read((tx) => findBlocks(tx, address, put, entries, moment.nowMs))
    await setImmediate()
    const mapId = newId()
    const made = await makeMap(kv, mapId, seen.blocks, wallNowMs)
    const blob =
      made && (await kv.write((tx) => commitMap(tx, address, put, { ...seen, made }, moment)))
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
  const blocks = yield* namedBlocks(tx, target, address.blob, put.guard, { entries })
  return { blocks, state: stateOf(target) }
}

/** What decides which blocks a list names: the container, the blob and its uncommitted blocks. */
function stateOf({ container, stored, staging }: PutTarget): readonly unknown[] {
  return [container.id, container.stamp, stored?.blob.stamp, staging?.id, staging?.latest]
}

/** Undefined if the bytes of a block have gone meanwhile. */
async function makeMap(
  kv: Pick<Kv, 'read' | 'write'>,
  mapId: number,
  blocks: readonly BlockPieces[],
  wallNowMs: number,
): Promise<BlobContent | undefined> {
  await kv.write((tx) => beginMap(tx, mapId, wallNowMs))
  let lengthBytes = 0
  for (let at = 0; at < blocks.length; at += STEP_BLOCKS) {
    const some = blocks.slice(at, at + STEP_BLOCKS)
    const from = lengthBytes
    try {
      lengthBytes = await kv.write((tx) => putBlockRecords(tx, mapId, from, some))
    } catch (error) {
      if (error instanceof ExtentRetired) return undefined
      throw error
    }
    // In memory nothing else would wait.
    await setImmediate()
  }
  return { lengthBytes, map: mapId }
}

/** Undefined if something has changed since the blocks were found. */
function* commitMap(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  { made, state }: { readonly made: BlobContent; readonly state: readonly unknown[] },
  moment: Moment,
): Step<Blob | undefined> {
  const { target, encrypted } = yield* checkPutBlockList(tx, address, put, moment.nowMs)
  const isSame = stateOf(target).every((part, at) => part === state[at])
  if (!isSame || made.map === undefined) return undefined
  adoptMap(tx, made.map)
  const { container, staging } = target
  if (staging !== undefined) yield* discardStaging(tx, container.id, address.blob)
  const replacement = { type: 'BlockBlob', content: made } as const
  const before = { ...target, staging: undefined }
  return yield* replaceBlob(tx, address, before, encrypted, replacement, moment)
}
