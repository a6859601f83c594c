// The source of a copy as bytes to be read, with what it says of itself: a blob or file of this store on one
// snapshot of it, or the answer of another server. Both are read once, as the client's body would be.
import { decryptPieces } from '../extent/cipher.ts'
import { optionalHeader, type HeaderFields } from '../http/header.ts'
import type { Request } from '../http/operation.ts'
import type { ByteRange } from '../http/range.ts'
import type { ReadTx, Step } from '../kv/kv.ts'
import { findSource, type SourceRead, type TypeProperties } from '../storage/blob/copy.ts'
import { readContent, type BlobBytes } from '../storage/blob/content.ts'
import { NO_TAGS, type Tags } from '../storage/blob/tags.ts'
import type { ContentHeaders } from '../storage/content-headers.ts'
import { invalidHeader, StorageError } from '../storage/error.ts'
import type { Metadata } from '../storage/metadata.ts'
import { cipherOf, type Cipher } from './blob/cipher.ts'
import { sourceConditions } from './blob/header.ts'
import { openRemote } from './remote-source.ts'
import type { ContentService } from './service.ts'
import {
  resolveSource,
  sourceKey,
  withSource,
  type LocalSource,
  type SourceCall,
} from './source.ts'
import { once, type Source } from './upload.ts'

export type OpenSource = Source & {
  readonly properties: TypeProperties
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags: Tags
  readonly etag?: string
  /** Whether a part of it can be asked for. */
  readonly isRanged: boolean
  /** Whether it may be asked with If-Match: files may not. */
  readonly takesConditions: boolean
  /** What another File service says of its file. */
  readonly smbHeaders?: HeaderFields
  /** Of a blob of this store: which state it is. */
  readonly stamp?: number
  /** Lets go of it; may be called at any time and again. */
  close(): void
}

export type SourceWants = {
  readonly tags: boolean
  /** Which bytes; all of them if left out. */
  readonly range?: ByteRange
  /** A longer source is refused; the unit in the message is the service's. */
  readonly bytesMax: number
}

/**
 * Operations that write bytes from a URL tell an unmet condition of the source as the source's own answer (304
 * or 412); copies of whole blobs have SourceConditionNotMet.
 */
export type FetchWants = { readonly isFetched?: boolean }

export async function openSource(call: SourceCall, wants: SourceWants): Promise<OpenSource> {
  const source = await resolveSource(call, wants)
  const fetched = { ...wants, isFetched: true }
  const opened = await (source.kind === 'local'
    ? openLocal(call, source, fetched)
    : openRemote(call, source, fetched))
  if (opened.lengthBytes <= wants.bytesMax) return opened
  opened.close()
  throw tooLong(wants.bytesMax)
}

/** In the service's words (ansible-collections/azure#1580, azure-sdk-for-go#19880). */
export function tooLong(bytesMax: number): StorageError {
  const limit = 'is too large and exceeds the maximum permissible limit'
  const message = `The source request body for copy source ${limit} (${bytesMax / 2 ** 20}MB).`
  return new StorageError('CannotVerifyCopySource', {}, message, 409)
}

const RANGE = /^bytes=(\d{1,15})-(\d{0,15})$/i

/** x-ms-source-range: `bytes=a-b` or `bytes=a-`. */
export function decodeSourceRange({ headers }: Request): ByteRange | undefined {
  const text = optionalHeader(headers, 'x-ms-source-range')
  if (text === undefined) return undefined
  const [, first, last] = RANGE.exec(text.trim()) ?? []
  const from = Number(first)
  const to = last === '' ? Infinity : Number(last) + 1
  if (from < to) return { from, to }
  throw invalidHeader('x-ms-source-range', text)
}

/** A source of this store as storage asks for it. */
export function sourceRead(request: Request, { address }: LocalSource): SourceRead {
  const customerKey = sourceKey(request)
  return {
    address,
    conditions: sourceConditions(request),
    encryption: customerKey === undefined ? {} : { customerKey },
  }
}

export function openLocal(
  call: SourceCall,
  source: LocalSource,
  wants: Pick<SourceWants, 'range'> & FetchWants,
): Promise<OpenSource> {
  const { nowMs } = call.service.moment()
  return withSource(call, source, (kv) =>
    kv.read((tx) => readLocal(tx, call, source, { ...wants, nowMs })),
  )
}

type LocalWants = Pick<SourceWants, 'range'> & FetchWants & { readonly nowMs: number }

function* readLocal(
  tx: ReadTx,
  { request, service }: SourceCall,
  source: LocalSource,
  { range: asked, isFetched = false, nowMs }: LocalWants,
): Step<OpenSource> {
  const { stored } = yield* findSource(tx, { ...sourceRead(request, source), isFetched }, nowMs)
  const { blob } = stored
  const range = rangeWithin(asked, blob.lengthBytes)
  const content = yield* readContent(tx, stored, range)
  const { account } = source.address
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

function rangeWithin(asked: ByteRange | undefined, lengthBytes: number): ByteRange {
  if (asked === undefined) return { from: 0, to: lengthBytes }
  if (asked.from < lengthBytes) return { from: asked.from, to: Math.min(asked.to, lengthBytes) }
  const { message, status } = new StorageError('InvalidRange')
  throw new StorageError('CannotVerifyCopySource', {}, message, status)
}

/** The bytes as they were before they were encrypted. */
export function contentStream(
  { extents }: Pick<ContentService, 'extents'>,
  content: BlobBytes,
  cipher: Cipher | undefined,
): AsyncIterable<Uint8Array> {
  if ('bytes' in content) return once(content.bytes)
  const stored = extents.read(content.pieces)
  return cipher === undefined ? stored : decryptPieces(stored, content.pieces, cipher.key)
}
