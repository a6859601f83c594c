// Storage Analytics logging: collects lines about requests for a while and writes them as a blob to the account's
// container $logs. As in Azure, no request waits for it; a crash loses the lines that were not written yet.
import { analyticsLine, logKindOf, type LogKind } from './analytics-line.ts'
import type { RequestReport } from '../../../http/door/serve.ts'
import type { Logging, StorageService } from '../../../storage/shared/service/service-properties.ts'
import { getServiceProperties } from '../../../storage/shared/service/service.ts'
import type { BlobService } from '../service.ts'
import { discard, once, upload } from '../../shared/upload.ts'
import { putLog } from '../../../storage/blob/log.ts'

export type Analytics = {
  record(report: RequestReport): void
  /** Writes the collected lines; called at intervals and once at the end. */
  flush(): Promise<void>
  /** Settings were changed by something other than a request. */
  forget(): void
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
/** A batch of this size is written at once. */
const BATCH_BYTES_MAX = 1024 * 1024
/** How long a change of the settings by another node may go unnoticed. */
const FORGET_MS = 10_000

export function createAnalytics(service: BlobService): Analytics {
  const logging = cachedLogging(service)
  const batches = new Map<string, Batch>()
  let writing = Promise.resolve()
  const put = (key: string, batch: Batch): Promise<void> => {
    batches.delete(key)
    // The caller of a failed write has seen its error; the next write must not fail with it.
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
    forget: () => logging.forgetAll(),
    async flush(): Promise<void> {
      await Promise.all(adding)
      for (const [key, batch] of batches) await put(key, batch)
    },
  }
}

/** Caches the settings, so that requests need not read them again to learn that nothing is logged. */
function cachedLogging({ kv }: BlobService) {
  /** By account, then by service. */
  const known = new Map<string, Map<StorageService, Logging>>()
  let forgetAtMs = 0
  const forgetOld = (): void => {
    const nowMs = performance.now()
    if (nowMs < forgetAtMs) return
    known.clear()
    forgetAtMs = nowMs + FORGET_MS
  }
  return {
    mayBeOn({ request, operation }: RequestReport): boolean {
      if (request === undefined) return false
      if (operation === 'Set Service Properties') return true
      forgetOld()
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
    forgetAll: () => known.clear(),
    forget(account: string): void {
      known.delete(account)
    },
  }
}

/** `$logs/blob/2026/11/16/0900/000001.log`: the batches of an hour are numbered. */
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
