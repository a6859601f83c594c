// Checks a whole store, also while any number of nodes work on it: the content of every record against the references, the
// references against their owners and the bytes, the extents against the files.
//
// The store is read page by page, so records change and move between two pages. A problem is reported only if one read
// transaction shows it, or if one shows afterwards that what was missing must have been there: bytes are durable before
// anything refers to them, stay as long as something does, and are removed only after their extent was retired.
import { crc32 } from 'node:zlib'
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { decodeKey } from '../../kv/key.ts'
import {
  KEY_END,
  keyAfter,
  type Entry,
  type Key,
  type Kv,
  type ReadTx,
  type Step,
} from '../../kv/kv.ts'
import { decodeRecord, recordBytes } from '../../kv/record.ts'
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
  referencedSlices,
  type Reference,
} from '../content/reference.ts'
import { scanSteps } from '../scan.ts'
import { isSameSlice, wholeSlice } from '../content/slice-list.ts'
import { SMALL_EXTENT, type Content, type Slice } from '../content/slice.ts'
import { hasSmallSlice } from '../content/small.ts'

export type Problem = {
  readonly kind:
    | 'recordUnreadable'
    | 'inlineLength'
    | 'pieceOutsideSlice'
    | 'referenceMissing'
    | 'referenceWithoutOwner'
    | 'extentMissing'
    | 'sliceOutsideExtent'
    | 'sliceDamaged'
    | 'fileMissing'
    | 'fileWithoutRecord'
  /** The parts of the record's key as JSON; empty for a file. */
  readonly key: string
  readonly detail: string
}

export type StoreCheck = {
  recordCount: number
  contentCount: number
  referenceCount: number
  extentCount: number
  checkedBytes: number
  problemCount: number
  /** The first `problemsMax` of them. */
  readonly problems: Problem[]
}

export type CheckOptions = { readonly problemsMax?: number }

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
    problems: [],
  }
  const report = (problem: Problem): void => {
    check.problemCount += 1
    if (check.problems.length < (options.problemsMax ?? PROBLEMS_MAX)) check.problems.push(problem)
  }
  await checkRecords(kv, check, report)
  await checkReferences(kv, store, check, report)
  await checkExtents(kv, store, check, report)
  return check
}

type Report = (problem: Problem) => void

async function checkRecords(kv: Kv, check: StoreCheck, report: Report): Promise<void> {
  let from: Key | undefined = EVERYTHING.from
  while (from !== undefined) {
    const start: Key = from
    const step = await kv.read((tx) => checkRecordStep(tx, start))
    check.recordCount += step.recordCount
    check.contentCount += step.contentCount
    for (const problem of step.problems) report(problem)
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
      step.problems.push(problem('referenceMissing', entry.key, sliceName(slice)))
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
): Promise<void> {
  let last: Slice | undefined
  for await (const entry of scanSteps(kv, REFERENCE_RANGE)) {
    check.referenceCount += 1
    const reference = decodeReference(entry)
    const ownerProblem = await kv.read((tx) => checkOwner(tx, entry.key, reference))
    if (ownerProblem !== undefined) report(ownerProblem)
    if (last !== undefined && isSameSlice(last, reference.slice)) continue
    last = reference.slice
    check.checkedBytes += last.lengthBytes
    const damage = await checkBytes(store, last)
    if (damage === undefined) continue
    const slice = last
    const still = await kv.read((tx) => referenceTo(tx, slice))
    const detail = `${damage} (extent ${slice.extent}, offset ${slice.offset})`
    if (still !== undefined) report(problem('sliceDamaged', still.ownerKey, detail))
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
  return problem('referenceWithoutOwner', key, keyName(ownerKey))
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
    if (isStill?.state === 'sealed') report(problem('fileMissing', key, `extent ${extent}`))
  }
  // The record exists before the file is created, and until after it is removed.
  for (const extent of await store.list()) {
    if ((await kv.read((tx) => getExtent(tx, extent))) !== undefined) continue
    if ((await store.storedBytes(extent)) === undefined) continue
    report({ kind: 'fileWithoutRecord', key: '', detail: `extent ${extent}` })
  }
}

function problem(kind: Problem['kind'], key: Key, detail: string): Problem {
  return { kind, key: keyName(key), detail }
}

function keyName(key: Key): string {
  try {
    return JSON.stringify(decodeKey(key))
  } catch {
    return Buffer.from(key).toString('hex')
  }
}

function sliceName(slice: Slice): string {
  return `${slice.lengthBytes} bytes at ${slice.offset} of extent ${slice.extent}`
}
