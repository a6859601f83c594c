// Copies a store: the bytes of all extents, then all records, then compares and checks what is there. The target's format
// says from the first moment to the last that it is unfinished, so no server opens it (node/format.ts); the same record
// says how far the copy is, so that an interrupted one goes on from there.
import { randomUUID } from 'node:crypto'
import { copyExtent } from '../../extent/copy-extent.ts'
import { EXTENT_RANGE, keyNumbers, sealExtent, type ExtentRecord } from '../../extent/keys.ts'
import { scanSteps } from '../../extent/scan.ts'
import { checkStore } from '../../extent/sweep/fsck.ts'
import { decodeKey } from '../../kv/key.ts'
import { KEY_END, type Entry, type Key, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, StoredRecord } from '../../kv/record.ts'
import {
  checkFormat,
  getFormat,
  putFormat,
  putUnfinished,
  type Format,
  type UnfinishedCopy,
} from '../../node/format.ts'
import { getHighestFloor, putOnlyFloor } from '../../node/moment.ts'
import { MIGRATIONS } from '../../storage/migrations.ts'
import { StartError } from '../start-error.ts'
import { fsckLines, namedCheck } from '../store/fsck.ts'
import type { CopySource, CopyTarget } from './place.ts'
import type { Progress } from './progress.ts'
import { countRecords, dataRecords, firstDifference, recordKindOf } from './records.ts'

export type CopyOptions = {
  readonly progress: Progress
  readonly signal: AbortSignal
  /** Records per transaction. */
  readonly recordsMax?: number
  /** What to do if the target is not whole; by default, what helps if the source is a store. */
  readonly ifDamaged?: string
  /** Completes the copy although some of its content is damaged. */
  readonly acceptsDamage?: boolean
}

export type Copied = {
  readonly recordCount: number
  readonly contentBytes: number
  /** From the check of the target; the last one says that there are no problems. */
  readonly lines: readonly string[]
}

const RECORDS_MAX = 1_000
const BATCH_BYTES_MAX = 1_024 * 1_024

/** Throws StartError if it can't be completed. The target then stays unfinished. */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  options: CopyOptions,
): Promise<Copied> {
  const copy = new Copy(source, target, options)
  await copy.begin()
  const extents = await copy.copyExtents()
  const recordCount = await copy.compare(await copy.copyRecords())
  const lines = await copy.check()
  await copy.finish(extents)
  return { recordCount, contentBytes: extents.contentBytes, lines }
}

type OpenExtent = { readonly extent: number; readonly sizeBytes: number }

/** The extents of the source, and those of them that nobody has sealed. */
type Extents = { readonly open: readonly OpenExtent[]; readonly contentBytes: number }

class Copy {
  readonly #source: CopySource
  readonly #target: CopyTarget
  readonly #options: CopyOptions
  #format: Format = { version: 0 }
  #state: UnfinishedCopy

  constructor(source: CopySource, target: CopyTarget, options: CopyOptions) {
    this.#source = source
    this.#target = target
    this.#options = options
    this.#state = { source: source.text, sourceState: '', run: randomUUID(), extent: 0, key: '' }
  }

  /** Marks the target as unfinished, or takes over from a copy that was interrupted. */
  async begin(): Promise<void> {
    const format = await this.#source.kv.read(getFormat)
    if (format === undefined) throw new StartError(`there is no store in ${this.#source.text}`)
    checkFormat(format, MIGRATIONS)
    this.#format = format
    const sourceState = await this.#source.state()
    const hasExtents = (await this.#target.volume.list()).length > 0
    const begun = { ...this.#state, sourceState }
    const { text } = this.#target
    this.#state = await this.#target.kv.write((tx) => beginCopy(tx, begun, hasExtents, text))
    await this.#target.begin()
  }

  async copyExtents(): Promise<Extents> {
    const { kv, volume } = this.#source
    const { progress, signal } = this.#options
    const extents = await this.#listExtents()
    const totalBytes = extents.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
    let doneBytes = 0
    let chunkBytes = 0
    for (const { extent, sizeBytes, state } of extents) {
      if (extent > this.#state.extent && state !== 'retired') {
        const onBytes = (count: number): void => {
          signal.throwIfAborted()
          chunkBytes += count
          progress.show('content', doneBytes + chunkBytes, totalBytes)
        }
        await copyExtent({ from: volume, to: this.#target.volume, kv, onBytes }, extent)
        await this.#save([], { ...this.#state, extent })
      }
      doneBytes += sizeBytes
      chunkBytes = 0
      signal.throwIfAborted()
    }
    progress.show('content', totalBytes, totalBytes)
    return { open: extents.filter(({ state }) => state === 'open'), contentBytes: totalBytes }
  }

  /** Returns about how many there are. */
  async copyRecords(): Promise<number> {
    const { progress, signal, recordsMax = RECORDS_MAX } = this.#options
    const total = await countRecords(this.#source.kv)
    const doneKey = this.#state.key === '' ? undefined : Buffer.from(this.#state.key, 'base64')
    let batch: Entry[] = []
    let [batchBytes, done] = [0, 0]
    const save = async (key: Key): Promise<void> => {
      await this.#save(batch, { ...this.#state, key: Buffer.from(key).toString('base64') })
      batch = []
      batchBytes = 0
      progress.show('records', done, total)
      signal.throwIfAborted()
    }
    for await (const entry of dataRecords(this.#source.kv, doneKey)) {
      batch.push(entry)
      batchBytes += entry.key.length + entry.value.value.length
      done += 1
      if (batch.length >= recordsMax || batchBytes >= BATCH_BYTES_MAX) await save(entry.key)
    }
    await save(KEY_END)
    progress.show('records', total, total)
    return total
  }

  /** Returns how many there are. */
  async compare(total: number): Promise<number> {
    const { progress, signal } = this.#options
    let done = 0
    const different = await firstDifference(this.#source.kv, this.#target.kv, () => {
      done += 1
      if (done % RECORDS_MAX !== 0) return
      progress.show('comparing records', done, total)
      signal.throwIfAborted()
    })
    progress.show('comparing records', total, total)
    signal.throwIfAborted()
    if (different === undefined) return done
    const name = recordKindOf(different)
    throw new StartError(`the copy differs from ${this.#source.text} at a record "${name}"`)
  }

  /** Checks every byte that was copied. */
  async check(): Promise<readonly string[]> {
    const { kv, extents } = this.#target
    this.#options.progress.say('checking the copy …')
    const check = await checkStore(kv, extents)
    const lines = fsckLines(await namedCheck(kv, check))
    this.#options.signal.throwIfAborted()
    if (check.problemCount === 0) return lines
    const {
      acceptsDamage = false,
      ifDamaged = `check ${this.#source.text} with lazuli fsck, which has the same unless the copy went wrong`,
    } = this.#options
    if (acceptsDamage) return lines
    for (const line of lines) this.#options.progress.say(line)
    throw new StartError(`the copy has ${check.problemCount} problems; ${ifDamaged}`)
  }

  /** From here on, servers open the target. */
  async finish({ open }: Extents): Promise<void> {
    const { kv, nowMs } = this.#target
    if ((await this.#source.state()) !== this.#state.sourceState) {
      throw new StartError(`${this.#source.text} was changed while it was copied; ${START_OVER}`)
    }
    const floor = await this.#source.kv.read(getHighestFloor)
    await kv.write((tx) => this.#finish(tx, open, floor, nowMs()))
  }

  *#finish(tx: Tx, open: readonly OpenExtent[], floor: number, nowMs: number): Step<void> {
    yield* requireRun(tx, this.#state)
    for (const { extent, sizeBytes } of open) yield* sealExtent(tx, extent, sizeBytes, nowMs)
    yield* putOnlyFloor(tx, floor)
    yield* this.#target.finish(tx)
    yield* putFormat(tx, this.#format)
  }

  async #save(entries: readonly Entry[], next: UnfinishedCopy): Promise<void> {
    await this.#target.kv.write((tx) => saveBatch(tx, this.#state, entries, next))
    this.#state = next
  }

  /** Those that nobody has sealed have the size of their bytes. */
  async #listExtents() {
    const { kv, volume } = this.#source
    const extents: (OpenExtent & Pick<ExtentRecord, 'state'>)[] = []
    for await (const { key, value } of scanSteps(kv, EXTENT_RANGE)) {
      const [extent = 0] = keyNumbers(key)
      const { state, sizeBytes } = decodeRecord<ExtentRecord>(value)
      const bytes = state === 'open' ? ((await volume.storedBytes(extent)) ?? 0) : sizeBytes
      extents.push({ extent, state, sizeBytes: bytes })
    }
    return extents
  }
}

const START_OVER = 'empty the target, and start the copy again'

function* beginCopy(
  tx: Tx,
  begun: UnfinishedCopy,
  hasExtents: boolean,
  text: string,
): Step<UnfinishedCopy> {
  const format = yield* getFormat(tx)
  const before = format?.copy
  if (before === undefined) {
    if (format !== undefined || hasExtents || (yield* hasRecords(tx))) {
      throw new StartError(`${text} is not empty; copy to an empty folder or database`)
    }
    yield* putUnfinished(tx, begun)
    return begun
  }
  if (before.source !== begun.source) {
    throw new StartError(`${text} is an unfinished copy of ${before.source}; ${START_OVER}`)
  }
  if (before.sourceState !== begun.sourceState) {
    throw new StartError(`${begun.source} was used since the copy to ${text} began; ${START_OVER}`)
  }
  const resumed = { ...before, run: begun.run }
  yield* putUnfinished(tx, resumed)
  return resumed
}

/** The owner's record is there while we are the owner. */
function* hasRecords(tx: ReadTx): Step<boolean> {
  const keys = yield* tx.scanKeys({ from: new Uint8Array(0), to: KEY_END, countMax: 2 })
  return keys.some((key) => decodeKey(key)[0] !== 'owner')
}

/** One transaction for records and progress: after a crash, the copy goes on behind them. */
function* saveBatch(
  tx: Tx,
  state: UnfinishedCopy,
  entries: readonly Entry[],
  next: UnfinishedCopy,
): Step<void> {
  yield* requireRun(tx, state)
  for (const { key, value } of entries) tx.put(key, new StoredRecord(value.value))
  yield* putUnfinished(tx, next)
}

/** Two copies into the same store would each believe that they have written everything. */
function* requireRun(tx: ReadTx, { run }: UnfinishedCopy): Step<void> {
  const format = yield* getFormat(tx)
  if (format?.copy?.run !== run) {
    throw new StartError('another process copies to the same place; this one gives up')
  }
}
