// Checks a whole store, also while any number of nodes work on it: the content of every record against the references, the
// references against their owners and the bytes, the extents against the files.
//
// The store is read page by page, so records change and move between two pages. A problem is reported only if one read
// transaction shows it, or if one shows afterwards that what was missing must have been there: bytes are durable before
// anything refers to them, stay as long as something does, and are removed only after their extent was retired.
import { crc32 } from 'node:zlib'
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import {
  KEY_END,
  keyAfter,
  type Entry,
  type Key,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes } from '../../kv/record.ts'
import type { SweptExtentStore } from '../extent.ts'
import {
  EXTENT_RANGE,
  getExtent,
  keyNumbers,
  REFERENCE_RANGE,
  referenceKey,
  referencesOfSlice,
} from '../keys.ts'
import type { ExtentRecord } from '../keys.ts'
import {
  decodeReference,
  isSameContent,
  markDirty,
  putReference,
  referencedSlices,
  type Reference,
} from '../content/reference.ts'
import { scanSteps } from '../scan.ts'
import { isSameSlice, wholeSlice } from '../content/slice-list.ts'
import { SMALL_EXTENT, type Content, type Slice } from '../content/slice.ts'
import { hasSmallSlice, smallDroppedKey } from '../content/small.ts'
import {
  keyText,
  problem,
  repairBy,
  type Check,
  type Problem,
  type Repair,
  type Report,
} from './problem.ts'

export type { Problem }

export type StoreCheck = {
  recordCount: number
  contentCount: number
  referenceCount: number
  extentCount: number
  checkedBytes: number
  /** Without those that were repaired. */
  problemCount: number
  repairedCount: number
  /** Some records can't be read, so indexes and totals were not checked. */
  isPartial: boolean
  /** The first `problemsMax` of them. */
  readonly problems: Problem[]
}

export type CheckOptions = {
  readonly problemsMax?: number
  /** If it is there, problems are repaired, and it is called for each. Nobody else may use the store then. */
  readonly repaired?: (problem: Problem, how: string) => void
  /** More checks, after those of records and extents. */
  readonly also?: readonly Check[]
  /** Called for every few records, or bytes of content. */
  readonly progress?: (what: 'records' | 'content', done: number) => void
}

const STEP_COUNT = 128
const PROBLEMS_MAX = 100
const EVERYTHING = { from: new Uint8Array(0), to: KEY_END }

export async function checkStore(
  kv: Kv,
  store: SweptExtentStore,
  options: CheckOptions = {},
): Promise<StoreCheck> {
  const check: StoreCheck = {
    recordCount: 0,
    contentCount: 0,
    referenceCount: 0,
    extentCount: 0,
    checkedBytes: 0,
    problemCount: 0,
    repairedCount: 0,
    isPartial: false,
    problems: [],
  }
  const { repaired, progress = () => undefined } = options
  let hasUnreadable = false
  const report = async (problem: Problem): Promise<void> => {
    if (repaired !== undefined && problem.repair !== undefined) {
      await problem.repair.run(kv, store)
      check.repairedCount += 1
      return repaired(problem, problem.repair.text)
    }
    check.problemCount += 1
    hasUnreadable ||= problem.kind === 'recordUnreadable'
    if (check.problems.length < (options.problemsMax ?? PROBLEMS_MAX)) check.problems.push(problem)
  }
  await checkRecords(kv, check, report, progress)
  await checkReferences(kv, store, check, report, progress)
  await checkExtents(kv, store, check, report)
  // The other checks could not read such a record, either.
  check.isPartial = options.also !== undefined && hasUnreadable
  if (!hasUnreadable) for (const each of options.also ?? []) await each(kv, report)
  return check
}

type OnProgress = NonNullable<CheckOptions['progress']>

async function checkRecords(
  kv: Kv,
  check: StoreCheck,
  report: Report,
  progress: OnProgress,
): Promise<void> {
  let from: Key | undefined = EVERYTHING.from
  while (from !== undefined) {
    const start: Key = from
    const step = await kv.read((tx) => checkRecordStep(tx, start))
    check.recordCount += step.recordCount
    check.contentCount += step.contentCount
    for (const each of step.problems) await report(each)
    progress('records', check.recordCount)
    from = step.next
  }
}

type RecordStep = {
  recordCount: number
  contentCount: number
  problems: Problem[]
  next: Key | undefined
}

/** Checks records and their references in one snapshot. */
function* checkRecordStep(tx: ReadTx, from: Key): Step<RecordStep> {
  const entries = yield* tx.scan({ from, to: EVERYTHING.to, countMax: STEP_COUNT })
  const step: RecordStep = { recordCount: 0, contentCount: 0, problems: [], next: undefined }
  for (const entry of entries) {
    step.recordCount += 1
    const record = readRecord(entry)
    if (record === undefined) {
      step.problems.push(problem('recordUnreadable', entry.key, 'it is not a JSON object'))
      continue
    }
    step.problems.push(...checkInline(entry, record))
    if (!isContent(record.content)) continue
    step.contentCount += 1
    step.problems.push(...checkPieces(entry.key, record.content))
    if (record.inline === true) {
      step.problems.push(...checkInlineContent(entry, record.content))
      continue
    }
    for (const slice of referencedSlices(record.content)) {
      const key = referenceKey(slice.extent, slice.offset, record.content)
      if (yield* hasReference(tx, key, entry.key)) continue
      step.problems.push(yield* referenceMissing(tx, entry.key, record.content, slice))
    }
  }
  const last = entries.at(-1)
  if (last !== undefined && entries.length === STEP_COUNT) step.next = keyAfter(last.key)
  return step
}

type AnyRecord = { content?: unknown; inline?: unknown; lengthBytes?: unknown }

function readRecord({ value }: Entry): AnyRecord | undefined {
  try {
    const record = decodeRecord<unknown>(value)
    return typeof record === 'object' && record !== null ? record : undefined
  } catch {
    return undefined
  }
}

function checkInline({ key, value }: Entry, record: AnyRecord): Problem[] {
  if (record.inline !== true || typeof record.lengthBytes !== 'number') return []
  const { length } = recordBytes(value)
  if (length === record.lengthBytes) return []
  return [problem('inlineLength', key, `${length} bytes instead of ${record.lengthBytes}`)]
}

/** Checks a record that contains the bytes of its slice (extent/content/map.ts). */
function checkInlineContent({ key, value }: Entry, { pieces }: Content): Problem[] {
  const crc = crc32(recordBytes(value))
  return pieces
    .filter(({ slice }) => slice.crc32 !== crc)
    .map(({ slice }) => problem('sliceDamaged', key, `CRC-32 ${crc} instead of ${slice.crc32}`))
}

function isContent(content: unknown): content is Content {
  if (typeof content !== 'object' || content === null) return false
  return 'id' in content && 'pieces' in content && Array.isArray(content.pieces)
}

function checkPieces(key: Key, content: Content): Problem[] {
  return content.pieces
    .filter((piece) => piece.from < 0 || piece.from + piece.lengthBytes > piece.slice.lengthBytes)
    .map((piece) => problem('pieceOutsideSlice', key, sliceName(piece.slice)))
}

function* hasReference(tx: ReadTx, key: Key, ownerKey: Key): Step<boolean> {
  const value = yield* tx.get(key)
  return value !== undefined && Buffer.compare(recordBytes(value), ownerKey) === 0
}

/** References are sorted by place: each slice is read once, however many owners it has. */
async function checkReferences(
  kv: Kv,
  store: SweptExtentStore,
  check: StoreCheck,
  report: Report,
  progress: OnProgress,
): Promise<void> {
  let last: Slice | undefined
  for await (const entry of scanSteps(kv, REFERENCE_RANGE)) {
    check.referenceCount += 1
    const reference = decodeReference(entry)
    const ownerProblem = await kv.read((tx) => checkOwner(tx, entry.key, reference))
    if (ownerProblem !== undefined) await report(ownerProblem)
    if (last !== undefined && isSameSlice(last, reference.slice)) continue
    last = reference.slice
    check.checkedBytes += last.lengthBytes
    progress('content', check.checkedBytes)
    const damage = await checkBytes(store, last)
    if (damage === undefined) continue
    const slice = last
    const still = await kv.read((tx) => referenceTo(tx, slice))
    const detail = `${damage} (extent ${slice.extent}, offset ${slice.offset})`
    if (still !== undefined) await report(problem('sliceDamaged', still.ownerKey, detail))
  }
}

/** A reference to the slice that exists now. If there is none, it was moved or deleted since the scan. */
function* referenceTo(tx: ReadTx, { extent, offset }: Slice): Step<Reference | undefined> {
  const [entry] = yield* tx.scan({ ...referencesOfSlice(extent, offset), countMax: 1 })
  return entry === undefined ? undefined : decodeReference(entry)
}

function* checkOwner(tx: ReadTx, key: Key, reference: Reference): Step<Problem | undefined> {
  if ((yield* tx.get(key)) === undefined) return undefined
  const { slice, content: owned, ownerKey } = reference
  const missing = yield* checkPlace(tx, key, slice)
  if (missing !== undefined) return missing
  const value = yield* tx.get(ownerKey)
  const content = value === undefined ? undefined : readRecord({ key, value })?.content
  const holds = isContent(content) && isSameContent(content, owned)
  if (holds && content.pieces.some((piece) => isSameSlice(piece.slice, slice))) return undefined
  const repair = repairBy('removed the reference', (into) => removeReference(into, key, slice))
  return { ...problem('referenceWithoutOwner', key, keyText(ownerKey)), repair }
}

/** The slice is then looked for again, and its bytes are checked, like those of any reference. */
function* referenceMissing(
  tx: ReadTx,
  ownerKey: Key,
  content: Content,
  slice: Slice,
): Step<Problem> {
  const found = problem('referenceMissing', ownerKey, sliceName(slice))
  if ((yield* checkPlace(tx, ownerKey, slice)) !== undefined) return found
  const repair = repairBy('added the reference', (into) =>
    addReference(into, { slice, content, ownerKey }),
  )
  return { ...found, repair }
}

function* addReference(tx: Tx, reference: Reference): Step<void> {
  putReference(tx, reference)
}

function* removeReference(tx: Tx, key: Key, { extent, offset }: Slice): Step<void> {
  tx.delete(key)
  if (extent === SMALL_EXTENT) tx.put(smallDroppedKey(offset), encodeRecord({}))
  else markDirty(tx, extent)
}

/** No record refers to bytes in an extent without a record: the next sweep would remove it, too. */
function removeFile(extent: number): Repair {
  return { text: 'removed the file', run: (_, store) => store.remove([extent]) }
}

/** Checks that the extent of the slice exists and reaches its end. */
function* checkPlace(tx: ReadTx, key: Key, slice: Slice): Step<Problem | undefined> {
  if (slice.extent === SMALL_EXTENT) {
    if (yield* hasSmallSlice(tx, slice.offset)) return undefined
    return problem('extentMissing', key, `small slice ${slice.offset}`)
  }
  const extent = yield* getExtent(tx, slice.extent)
  if (extent === undefined || extent.state === 'retired') {
    return problem('extentMissing', key, `extent ${slice.extent}`)
  }
  const end = slice.offset + slice.lengthBytes
  if (extent.state !== 'sealed' || end <= extent.sizeBytes) return undefined
  return problem('sliceOutsideExtent', key, `it ends at ${end} of ${extent.sizeBytes}`)
}

async function checkBytes(store: SweptExtentStore, slice: Slice): Promise<string | undefined> {
  let crc = 0
  try {
    for await (const chunk of store.read([wholeSlice(slice)])) {
      crc = crc32(chunk, crc)
      store.recycle(chunk)
    }
  } catch (error) {
    // Nothing is known about the bytes.
    if (error instanceof StoreUnavailable) throw error
    return String(error)
  }
  return crc === slice.crc32 ? undefined : `CRC-32 ${crc} instead of ${slice.crc32}`
}

async function checkExtents(
  kv: Kv,
  store: SweptExtentStore,
  check: StoreCheck,
  report: Report,
): Promise<void> {
  for await (const { key, value } of scanSteps(kv, EXTENT_RANGE)) {
    check.extentCount += 1
    const [extent = 0] = keyNumbers(key)
    const { state, sizeBytes } = decodeRecord<ExtentRecord>(value)
    // An empty extent may have no file: its process ended before it created one.
    if (state !== 'sealed' || sizeBytes === 0) continue
    if ((await store.storedBytes(extent)) !== undefined) continue
    const isStill = await kv.read((tx) => getExtent(tx, extent))
    if (isStill?.state === 'sealed') await report(problem('fileMissing', key, `extent ${extent}`))
  }
  // The record exists before the file is created, and until after it is removed.
  for (const extent of await store.list()) {
    if ((await kv.read((tx) => getExtent(tx, extent))) !== undefined) continue
    if ((await store.storedBytes(extent)) === undefined) continue
    await report({ kind: 'fileWithoutRecord', key: '', detail: `extent ${extent}`, repair: removeFile(extent) }) // prettier-ignore
  }
}

function sliceName(slice: Slice): string {
  return `${slice.lengthBytes} bytes at ${slice.offset} of extent ${slice.extent}`
}
