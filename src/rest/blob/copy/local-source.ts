// A blob or file of this store as the source of a copy to a blob.
import { decryptPieces } from '../../../extent/cipher.ts'
import type { RequestWatch } from '../../../control/watch.ts'
import type { Request } from '../../../http/door/operation.ts'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { requireValue, type ReadTx, type Step } from '../../../kv/kv.ts'
import type { TypeProperties } from '../../../storage/blob/copy/copy.ts'
import { findBlobState, findSource, type SourceRead } from '../../../storage/blob/copy/source.ts'
import { readContent, type BlobBytes } from '../../../storage/blob/content/content.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { NO_TAGS, type Tags } from '../../../storage/shared/tags.ts'
import type {
  LocalSource,
  LocalWants,
  OpenSource,
  SourceObject,
} from '../../shared/copy/copy-sources.ts'
import { sourceKey, type SourceCall } from '../../shared/copy/source.ts'
import type { ContentService } from '../../shared/service.ts'
import { once } from '../../shared/upload.ts'
import { cipherOf, type Cipher } from '../cipher.ts'
import { sourceConditions } from '../header.ts'
import { blobAddressAt } from '../service.ts'

/** The blob that a request addresses, for copies to either service. */
export function blobSource(
  store: Pick<ContentService, 'kv'>,
  request: Request,
  watch: RequestWatch | undefined,
): SourceObject {
  const { kv } = watch?.over(store) ?? store
  const address = blobAddressAt(request)
  return {
    account: address.account,
    find: (tx, nowMs, stamp) => findBlobState(tx, address, nowMs, stamp),
    attempt: (_request, attempt) => attempt(kv),
  }
}

/** A source of this store, in the form that storage needs. */
export function sourceRead(request: Request, source: LocalSource): SourceRead {
  const customerKey = sourceKey(request)
  return {
    address: source.service === 'blob' ? blobAddressAt(source.readRequest) : source.object,
    conditions: sourceConditions(request),
    encryption: customerKey === undefined ? {} : { customerKey },
  }
}

/** An open source with the properties of a blob. */
export type OpenBlob = OpenSource & { readonly properties: TypeProperties; readonly tags: Tags }

export async function openLocal(
  service: Pick<ContentService, 'extents' | 'moment'>,
  request: Request,
  source: LocalSource,
  wants: LocalWants,
): Promise<OpenBlob> {
  const { nowMs } = service.moment()
  const attempted = await source.object.attempt(request, (kv) =>
    kv.attemptRead((tx) => readLocal(tx, { request, service }, source, { ...wants, nowMs })),
  )
  return requireValue(attempted)
}

function* readLocal(
  tx: ReadTx,
  { request, service }: Pick<SourceCall, 'request'> & { service: Pick<ContentService, 'extents'> },
  source: LocalSource,
  { range: requested, isFetched = false, nowMs }: LocalWants & { readonly nowMs: number },
): Step<OpenBlob> {
  const { stored } = yield* findSource(tx, { ...sourceRead(request, source), isFetched }, nowMs)
  const { blob } = stored
  const range = rangeWithin(requested, blob.lengthBytes)
  const content = yield* readContent(tx, stored, range)
  const { account } = source.object
  const cipher = yield* cipherOf(tx, account, blob.encryption, sourceKey(request))
  return {
    lengthBytes: range.to - range.from,
    stream: () => contentStream(service, content, cipher),
    properties: blob,
    headers: blob.headers,
    metadata: blob.metadata,
    tags: blob.tags ?? NO_TAGS,
    isRanged: true,
    takesConditions: true,
    stamp: blob.stamp,
    close: () => undefined,
  }
}

function rangeWithin(requested: ByteRange | undefined, lengthBytes: number): ByteRange {
  if (requested === undefined) return { from: 0, to: lengthBytes }
  if (requested.from < lengthBytes)
    return { from: requested.from, to: Math.min(requested.to, lengthBytes) }
  const { message, status } = new StorageError('InvalidRange')
  throw new StorageError('CannotVerifyCopySource', {}, message, status)
}

/** The decrypted bytes. */
export function contentStream(
  { extents }: Pick<ContentService, 'extents'>,
  content: BlobBytes,
  cipher: Cipher | undefined,
): AsyncIterable<Uint8Array> {
  if ('bytes' in content) return once(content.bytes)
  const stored = extents.read(content.pieces)
  return cipher === undefined ? stored : decryptPieces(stored, content.pieces, cipher.key)
}
