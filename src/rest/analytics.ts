// Storage Analytics logging: lines of requests, collected for a while and then put into the container $logs
// of their account as a blob. As in Azure it is done beside the requests, so none waits for it; what a
// crash takes is the lines that were not put yet.
import { analyticsLine, logKindOf, type LogKind } from '../http/analytics-line.ts'
import type { RequestReport } from '../http/serve.ts'
import { decodeKey } from '../kv/key.ts'
import { prefixRange, type ReadTx, type Step, type Tx } from '../kv/kv.ts'
import type { BlobAddress } from '../storage/blob/blob.ts'
import { ensureContainer } from '../storage/blob/container.ts'
import { setBlobExpiry } from '../storage/blob/expiry.ts'
import type { BlobGuard } from '../storage/blob/guard.ts'
import { blobKeyPrefix } from '../storage/blob/keys.ts'
import { putBlob, type PutBlob } from '../storage/blob/put.ts'
import { NO_CONDITIONS } from '../storage/condition.ts'
import type { Moment } from '../storage/moment.ts'
import type { Logging, StorageService } from '../storage/service-properties.ts'
import { getServiceProperties } from '../storage/service.ts'
import type { BlobService } from './blob/service.ts'
import { discard, once, upload, type Upload } from './upload.ts'

export type Analytics = {
  record(report: RequestReport): void
  /** Puts what was collected; called now and then, and once at the end. */
  flush(): Promise<void>
}

type Batch = {
  readonly account: string
  readonly service: StorageService
  readonly logging: Logging
  readonly hourMs: number
  readonly kinds: Set<LogKind>
  readonly lines: string[]
  lengthBytes: number
  firstMs: number
  lastMs: number
}

const HOUR_MS = 60 * 60 * 1_000
const DAY_MS = 24 * HOUR_MS
/** A batch that has grown to this is put at once. */
const BATCH_BYTES_MAX = 1024 * 1024

export function createAnalytics(service: BlobService): Analytics {
  const logging = cachedLogging(service)
  const batches = new Map<string, Batch>()
  let writing = Promise.resolve()
  const put = (key: string, batch: Batch): Promise<void> => {
    batches.delete(key)
    // One that failed was told to whoever asked for it, and is not the next one's.
    writing = writing.catch(() => undefined).then(() => putBatch(service, batch))
    return writing
  }
  const add = async (report: RequestReport, endedMs: number): Promise<void> => {
    const { request } = report
    if (request === undefined) return
    if (report.operation === 'Set Service Properties') logging.forget(request.account)
    const settings = await logging.get(request.account, request.service)
    const kind = logKindOf(report)
    if (!settings[kind]) return
    const startedMs = endedMs - report.durationMs
    const hourMs = startedMs - (startedMs % HOUR_MS)
    const key = `${request.account}/${request.service}/${hourMs}/${settings.version}`
    const batch = batches.get(key) ?? {
      account: request.account,
      service: request.service,
      logging: settings,
      hourMs,
      kinds: new Set<LogKind>(),
      lines: [],
      lengthBytes: 0,
      firstMs: startedMs,
      lastMs: startedMs,
    }
    batches.set(key, batch)
    const line = analyticsLine(report, settings.version, startedMs, request)
    batch.kinds.add(kind)
    batch.lines.push(line)
    batch.lengthBytes += Buffer.byteLength(line) + 1
    batch.firstMs = Math.min(batch.firstMs, startedMs)
    batch.lastMs = Math.max(batch.lastMs, startedMs)
    if (batch.lengthBytes >= BATCH_BYTES_MAX) await put(key, batch)
  }
  const adding = new Set<Promise<void>>()
  return {
    record(report): void {
      if (!logging.mayBeOn(report)) return
      const added = add(report, service.moment().nowMs).catch(() => {})
      adding.add(added)
      void added.finally(() => adding.delete(added))
    },
    async flush(): Promise<void> {
      await Promise.all(adding)
      for (const [key, batch] of batches) await put(key, batch)
    },
  }
}

/** A request must not read the properties again only to learn that nothing is logged. */
function cachedLogging({ kv }: BlobService) {
  /** By account, then by service. */
  const known = new Map<string, Map<StorageService, Logging>>()
  return {
    mayBeOn({ request, operation }: RequestReport): boolean {
      if (request === undefined) return false
      if (operation === 'Set Service Properties') return true
      const logging = known.get(request.account)?.get(request.service)
      return logging === undefined || logging.read || logging.write || logging.delete
    },
    async get(account: string, service: StorageService): Promise<Logging> {
      const found = known.get(account)?.get(service)
      if (found !== undefined) return found
      const { logging } = await kv.read((tx) => getServiceProperties(tx, { account, service }))
      const services = known.get(account) ?? new Map<StorageService, Logging>()
      known.set(account, services.set(service, logging))
      return logging
    },
    forget(account: string): void {
      known.delete(account)
    },
  }
}

/** `$logs/blob/2026/11/16/0900/000001.log`: each batch of an hour has the next number. */
async function putBatch(service: BlobService, batch: Batch): Promise<void> {
  const bytes = Buffer.from(`${batch.lines.join('\n')}\n`)
  const source = {
    lengthBytes: bytes.length,
    stream: () => once(bytes),
  }
  const hashes = { md5: undefined, crc64: undefined }
  const body = await upload(service, source, { cipher: undefined, hashes, wants: 'md5' })
  const [moment, containerId] = [service.moment(), service.newId()]
  await service.kv
    .write((tx) => putLog(tx, batch, body, { containerId, moment }))
    .catch((error: unknown) => discard(service, body, error))
}

function* putLog(
  tx: Tx,
  batch: Batch,
  body: Upload,
  { containerId, moment }: { readonly containerId: number; readonly moment: Moment },
): Step<void> {
  const at = new Date(batch.hourMs).toISOString()
  const folder = `${batch.service}/${at.slice(0, 10).replaceAll('-', '/')}/${at.slice(11, 13)}00`
  const place = { account: batch.account, container: '$logs' }
  const { id } = yield* ensureContainer(tx, place, containerId, moment)
  const number = yield* nextNumber(tx, id, folder)
  const address: BlobAddress = { ...place, blob: `${folder}/${number}.log` }
  yield* putBlob(tx, address, logBlob(batch, body.md5), body, moment)
  const { retentionPolicy } = batch.logging
  if (!retentionPolicy.enabled) return
  const afterMs = (retentionPolicy.days ?? 0) * DAY_MS
  yield* setBlobExpiry(tx, address, ANY, { option: 'RelativeToNow', afterMs }, moment)
}

/** Six digits, one above the last of the hour. */
function* nextNumber(tx: ReadTx, containerId: number, folder: string): Step<string> {
  const range = prefixRange(blobKeyPrefix(containerId, `${folder}/`))
  const [last] = yield* tx.scan({ ...range, countMax: 1, reverse: true })
  const name = last === undefined ? '' : String(decodeKey(last.key)[2])
  const number = last === undefined ? 0 : Number(name.slice(folder.length + 1, -'.log'.length)) + 1
  return String(number).padStart(6, '0')
}

const ANY: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }

/** What the lines are of stands in the metadata, so that a reader can choose without reading them. */
function logBlob(batch: Batch, contentMd5: string | undefined): PutBlob {
  const time = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19)}Z`
  const kinds = (['read', 'write', 'delete'] as const).filter((kind) => batch.kinds.has(kind))
  return {
    guard: ANY,
    createOnly: false,
    headers: { contentType: 'text/plain', ...(contentMd5 !== undefined && { contentMd5 }) },
    metadata: [
      ['StartTime', time(batch.firstMs)],
      ['EndTime', time(batch.lastMs)],
      ['LogType', kinds.join(',')],
      ['LogVersion', batch.logging.version],
    ],
  }
}
