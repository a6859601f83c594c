// The source of a copy as bytes to be read, with what it says of itself: a blob of this store on one
// snapshot of it, or the answer of another server. Both are read once, as the client's body would be.
import { decryptPieces } from '../../extent/cipher.ts'
import { decodeCustomerKey, type CustomerKey } from '../../http/customer-key.ts'
import { fetchSource, type Source as Fetched } from '../../http/fetch-source.ts'
import { optionalCrc64, optionalHeader, optionalMd5, type HeaderFields } from '../../http/header.ts'
import type { Request } from '../../http/operation.ts'
import type { Kv } from '../../kv/kv.ts'
import type { ByteRange } from '../../http/range.ts'
import { decodeTagsXml } from '../../http/tags-xml.ts'
import type { BlobHttpHeaders, BlobType } from '../../storage/blob/blob.ts'
import { findSource, type SourceRead, type TypeProperties } from '../../storage/blob/copy.ts'
import { readContent, type BlobBytes } from '../../storage/blob/content.ts'
import { PAGE_BYTES } from '../../storage/blob/page-range.ts'
import { NO_TAGS, type Tags } from '../../storage/blob/tags.ts'
import { invalidHeader, StorageError } from '../../storage/error.ts'
import type { Metadata } from '../../storage/metadata.ts'
import { cipherOf, type Cipher } from './cipher.ts'
import { sourceConditions, type BodyHashes } from './header.ts'
import type { BlobService } from './service.ts'
import {
  resolveSource,
  sourceAuthorization,
  withSource,
  type LocalSource,
  type RemoteSource,
  type SourceCall,
} from './source.ts'
import { TAGS_BYTES_MAX } from './tags.ts'
import { collect, type Source } from './upload.ts'

export type OpenSource = Source & {
  readonly properties: TypeProperties
  readonly headers: BlobHttpHeaders
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

export async function openSource(call: SourceCall, wants: SourceWants): Promise<OpenSource> {
  const source = await resolveSource(call, wants)
  const opened = await (source.kind === 'local'
    ? openLocal(call, source, wants)
    : openRemote(call, source, wants))
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

/** What the client says that the bytes hash to. */
export function decodeSourceHashes({ headers }: Request): BodyHashes {
  const md5 = optionalMd5(headers, 'x-ms-source-content-md5')
  const crc64 = optionalCrc64(headers, 'x-ms-source-content-crc64')
  if (md5 !== undefined && crc64 !== undefined) {
    throw new StorageError('BothCrc64AndMd5HeaderPresent')
  }
  return { md5, crc64 }
}

export function sourceKey({ headers, secure }: Request): CustomerKey | undefined {
  return decodeCustomerKey(headers, secure, 'source-')
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
  wants: Pick<SourceWants, 'range'>,
): Promise<OpenSource> {
  return withSource(call, source, (kv) => readLocal(call, kv, source, wants))
}

function readLocal(
  { request, service }: SourceCall,
  kv: Pick<Kv, 'read'>,
  source: LocalSource,
  { range: asked }: Pick<SourceWants, 'range'>,
): Promise<OpenSource> {
  const read = sourceRead(request, source)
  const customerKey = sourceKey(request)
  const { nowMs } = service.moment()
  return kv.read(function* (tx) {
    const { stored } = yield* findSource(tx, read, nowMs)
    const { blob } = stored
    const range = rangeWithin(asked, blob.lengthBytes)
    const content = yield* readContent(tx, stored, range)
    const { account } = source.address
    const cipher = yield* cipherOf(tx, account, blob.encryption, customerKey)
    return {
      lengthBytes: range.to - range.from,
      stream: () => streamOf(service, content, cipher),
      properties: blob,
      headers: blob.headers,
      metadata: blob.metadata,
      tags: blob.tags ?? NO_TAGS,
      isRanged: true,
      takesConditions: true,
      stamp: blob.stamp,
      close: () => undefined,
    }
  })
}

function rangeWithin(asked: ByteRange | undefined, lengthBytes: number): ByteRange {
  if (asked === undefined) return { from: 0, to: lengthBytes }
  if (asked.from < lengthBytes) return { from: asked.from, to: Math.min(asked.to, lengthBytes) }
  const { message, status } = new StorageError('InvalidRange')
  throw new StorageError('CannotVerifyCopySource', {}, message, status)
}

/** The bytes as they were before they were encrypted. */
export function streamOf(
  { extents }: Pick<BlobService, 'extents'>,
  content: BlobBytes,
  cipher: Cipher | undefined,
): AsyncIterable<Uint8Array> {
  if ('bytes' in content) return once(content.bytes)
  const stored = extents.read(content.pieces)
  return cipher === undefined ? stored : decryptPieces(stored, content.pieces, cipher.key)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

export const CONNECT_TIMEOUT_MS = 15_000
export const IDLE_TIMEOUT_MS = 30_000

export async function openRemote(
  { request, service }: SourceCall,
  { url }: RemoteSource,
  { range, tags }: Pick<SourceWants, 'range' | 'tags'>,
): Promise<OpenSource> {
  const { patterns, signal } = service.copySources
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS }
  const headers = remoteHeaders(request, url)
  const ask = { method: 'GET', headers, patterns, signal, ...limits } as const
  const fetched = await fetchSource({ ...ask, url, ...(range && { range }) })
  try {
    return {
      lengthBytes: fetched.lengthBytes,
      stream: () => fetched.stream(),
      properties: remoteProperties(fetched),
      headers: fetched.contentHeaders,
      metadata: fetched.metadata,
      tags: tags ? await remoteTags(await fetchSource({ ...ask, url: tagsUrl(url) })) : NO_TAGS,
      ...(fetched.etag !== undefined && { etag: fetched.etag }),
      isRanged: optionalHeader(fetched.headers, 'accept-ranges') === 'bytes',
      ...fileProperties(fetched),
      close: () => fetched.close(),
    }
  } catch (error) {
    fetched.close()
    throw error
  }
}

function fileProperties({ headers }: Fetched): Pick<OpenSource, 'takesConditions' | 'smbHeaders'> {
  const isFile = optionalHeader(headers, 'x-ms-type')?.toLowerCase() === 'file'
  return isFile ? { takesConditions: false, smbHeaders: headers } : { takesConditions: true }
}

const CONDITIONS = ['match', 'none-match', 'modified-since', 'unmodified-since', 'tags'] as const
const KEY = ['key', 'key-sha256', 'algorithm'] as const

/** What the source is to see: its conditions, its key, the token for it. */
function remoteHeaders(request: Request, url: URL): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) headers[name] = value
  }
  set('authorization', sourceAuthorization(request))
  for (const name of CONDITIONS) {
    const value = optionalHeader(request.headers, `x-ms-source-if-${name}`)
    set(name === 'tags' ? 'x-ms-if-tags' : `if-${name}`, value)
  }
  if (sourceKey(request) !== undefined) {
    // A key in the clear is everybody's, there as here.
    if (url.protocol !== 'https:') throw invalidHeader('x-ms-copy-source', url.origin)
    for (const name of KEY) {
      const value = optionalHeader(request.headers, `x-ms-source-encryption-${name}`)
      set(`x-ms-encryption-${name}`, value)
    }
  }
  set('x-ms-file-request-intent', optionalHeader(request.headers, 'x-ms-file-request-intent'))
  // Other servers take no harm from it; a storage service needs it for all of this.
  set('x-ms-version', request.version)
  return headers
}

const TYPES: readonly BlobType[] = ['BlockBlob', 'PageBlob', 'AppendBlob']

/** Another storage service says what its blob is; what any other server has is a block blob. */
function remoteProperties({ headers, lengthBytes }: Fetched): TypeProperties {
  const named = optionalHeader(headers, 'x-ms-blob-type')
  const type = TYPES.find((each) => each === named) ?? 'BlockBlob'
  if (type === 'PageBlob') {
    if (lengthBytes % PAGE_BYTES !== 0) return { type: 'BlockBlob' }
    const sequenceNumber = optionalHeader(headers, 'x-ms-blob-sequence-number') ?? ''
    return { type, sequenceNumber: /^\d{1,18}$/.test(sequenceNumber) ? sequenceNumber : '0' }
  }
  if (type === 'BlockBlob') return { type }
  const blockCount = Number(optionalHeader(headers, 'x-ms-blob-committed-block-count'))
  const isSealed = optionalHeader(headers, 'x-ms-blob-sealed') === 'true'
  return {
    type,
    blockCount: Number.isSafeInteger(blockCount) ? blockCount : 1,
    ...(isSealed && { isSealed }),
  }
}

function tagsUrl(url: URL): URL {
  const tags = new URL(url)
  tags.search = `${url.search === '' ? '?' : `${url.search}&`}comp=tags`
  return tags
}

async function remoteTags(fetched: Fetched): Promise<Tags> {
  try {
    if (fetched.lengthBytes > TAGS_BYTES_MAX) throw new StorageError('TagsTooLarge')
    return decodeTagsXml(await collect(fetched.stream()))
  } catch (error) {
    if (!(error instanceof StorageError) || error.code === 'CannotVerifyCopySource') throw error
    const message = `Could not verify the copy source: its tags are invalid (${error.code}).`
    throw new StorageError('CannotVerifyCopySource', {}, message, 409)
  } finally {
    fetched.close()
  }
}
