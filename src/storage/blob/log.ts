// Stores a batch of analytics log lines as a blob in the container $logs.
import { decodeKey } from '../../kv/key.ts'
import { prefixRange, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import type { BlobAddress } from './blob.ts'
import { ensureContainer } from './container/container.ts'
import { setBlobExpiry } from './expiry.ts'
import type { BlobGuard } from './guard.ts'
import { blobKeyPrefix } from './keys.ts'
import { putBlob, type PutBlob, type PutBody } from './put.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import type { Moment } from '../../node/moment.ts'
import type { Logging, StorageService } from '../shared/service/service-properties.ts'

/** Log lines of one hour. */
type LogBatch = {
  readonly account: string
  readonly service: StorageService
  readonly logging: Logging
  readonly hourMs: number
  readonly kinds: ReadonlySet<'read' | 'write' | 'delete'>
  readonly firstMs: number
  readonly lastMs: number
}

const DAY_MS = 24 * 60 * 60 * 1_000

export function* putLog(
  tx: Tx,
  batch: LogBatch,
  body: PutBody & { readonly md5: string | undefined },
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
  yield* setBlobExpiry(tx, address, ANY, { option: 'RelativeToNow', afterMs }, moment.nowMs)
}

/** Six digits, one more than the last number of the hour. */
function* nextNumber(tx: ReadTx, containerId: number, folder: string): Step<string> {
  const range = prefixRange(blobKeyPrefix(containerId, `${folder}/`))
  const [last] = yield* tx.scan({ ...range, countMax: 1, reverse: true })
  const name = last === undefined ? '' : String(decodeKey(last.key)[2])
  const number = last === undefined ? 0 : Number(name.slice(folder.length + 1, -'.log'.length)) + 1
  return String(number).padStart(6, '0')
}

const ANY: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }

/** The metadata describes the lines, so that readers can select logs without reading them. */
function logBlob(batch: LogBatch, contentMd5: string | undefined): PutBlob {
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
