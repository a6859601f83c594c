// Uncommitted blocks of all blobs, for people.
import { decodeKey } from '../../../kv/key.ts'
import { keyAfter, type Key, type Kv, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { nameOfBlob } from '../path/path-of.ts'
import {
  decodeStaging,
  isStagingExpired,
  scanStagedBlocks,
  stagingExpiresMs,
  type StagedBlock,
  type Staging,
} from '../content/staging.ts'
import { ALL_STAGINGS } from '../keys.ts'

export type HeldBlocks = {
  readonly account: string
  readonly container: string
  readonly blob: string
  readonly staging: Staging
  readonly expiresMs: number
  /** Left out if counting them would take too long. */
  readonly bytes?: number
}

const STAGINGS_PER_STEP = 50
/** Blocks that one list reads to add up their lengths. */
const BLOCKS_MAX = 100_000

type ListBlocks = { readonly countMax: number; readonly nowMs: number }

/** Each page is a transaction of its own, so the list is not of one moment. */
export async function listHeldBlocks(
  kv: Pick<Kv, 'read'>,
  { countMax, nowMs }: ListBlocks,
): Promise<readonly HeldBlocks[]> {
  const held: HeldBlocks[] = []
  let from: Key | undefined = ALL_STAGINGS.from
  let blocksLeft = BLOCKS_MAX
  while (from !== undefined && held.length < countMax) {
    const start: Key = from
    const budget: number = blocksLeft
    const page: StagingPage = await kv.read((tx) => stagingPage(tx, start, budget, nowMs))
    held.push(...page.held)
    blocksLeft = page.blocksLeft
    from = page.next
  }
  return held.slice(0, countMax)
}

type StagingPage = {
  readonly held: readonly HeldBlocks[]
  readonly blocksLeft: number
  readonly next: Key | undefined
}

function* stagingPage(tx: ReadTx, from: Key, budget: number, nowMs: number): Step<StagingPage> {
  const range = { from, to: ALL_STAGINGS.to, countMax: STAGINGS_PER_STEP }
  const entries = yield* tx.scanFields(range)
  const held: HeldBlocks[] = []
  let blocksLeft = budget
  for (const { key, value } of entries) {
    const [, id, name] = decodeKey(key)
    const place = { containerId: Number(id), name: String(name) }
    const staging = decodeStaging(value)
    const found = yield* nameOfBlob(tx, place.containerId, place.name)
    if (found === undefined || isStagingExpired(staging, nowMs)) continue
    const isCounted = staging.blockCount <= blocksLeft
    if (isCounted) blocksLeft -= staging.blockCount
    held.push({
      ...found,
      staging,
      expiresMs: stagingExpiresMs(staging),
      ...(isCounted && { bytes: yield* stagedBytes(tx, place, staging) }),
    })
  }
  const last = entries.at(-1)
  const isEnd = last === undefined || entries.length < STAGINGS_PER_STEP
  return { held, blocksLeft, next: isEnd ? undefined : keyAfter(last.key) }
}

function* stagedBytes(
  tx: ReadTx,
  place: { readonly containerId: number; readonly name: string },
  { id, blockCount }: Staging,
): Step<number> {
  const blocks = yield* scanStagedBlocks(tx, { ...place, id }, blockCount)
  return blocks.reduce((sum, { value }) => sum + decodeRecord<StagedBlock>(value).lengthBytes, 0)
}
