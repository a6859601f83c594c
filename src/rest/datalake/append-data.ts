// Append Data and Flush Data. The bytes of an append are durable before a record points at them.
import { SMALL_BYTES_MAX } from '../../extent/content/small.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import type { Attempted, ReadTx, Step } from '../../kv/kv.ts'
import type { StagedBlock } from '../../storage/blob/content/staging.ts'
import {
  appendData,
  checkAppendData,
  type AppendData,
  type Appended,
} from '../../storage/datalake/append-data.ts'
import { appendAndFlush, flushData, type FlushData } from '../../storage/datalake/flush-data.ts'
import type { PathAddress } from '../../storage/datalake/path-address.ts'
import type { ContentHeaders } from '../../storage/shared/content-headers.ts'
import { unlessEncryptionNeeded } from '../../storage/shared/encryption-needed.ts'
import { invalidHeader, invalidQuery, StorageError } from '../../storage/shared/error.ts'
import { validators } from '../shared/answer-header.ts'
import { decodeHashes } from '../shared/body-hashes.ts'
import type { ByteSource } from '../shared/byte-source.ts'
import {
  bodySource,
  discard,
  forget,
  inMemorySource,
  structuredHeaders,
  upload,
} from '../shared/upload.ts'
import { hashHeaders } from '../blob/answer-hash.ts'
import { requestEncryptionHeaders } from '../blob/answer.ts'
import { busyIfChanged, cipherOf, type Cipher } from '../blob/cipher.ts'
import type { RequestGuard } from '../blob/header.ts'
import { checkLength, PUT_BLOCK_LIMITS } from '../blob/length-limit.ts'
import { writtenPathHeaders } from './path-answer.ts'
import { decodeContentHeaders, decodeLeaseUse } from './path-header.ts'
import {
  lakeGuard,
  optionalBooleanQuery,
  pathAddress,
  requiredQuery,
  type LakeCall,
} from './service.ts'

type DecodedAppend = AppendData & { readonly guard: RequestGuard }

/** Bytes first, record second. A long append that is bound to fail is refused before its body is read. */
export async function runAppendData(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const isFlush = optionalBooleanQuery(request, 'flush') ?? false
  const append = decodeAppend(request, isFlush)
  const source = bodySource(request)
  if (source.lengthBytes === 0) throw invalidHeader('Content-Length', '0')
  checkLength(PUT_BLOCK_LIMITS, request.version, source.lengthBytes)
  const cipherOfFile = () => {
    const [address, { nowMs }] = [pathAddress(call), service.moment()]
    return service.kv.read((tx) => appendCipher(tx, address, append, nowMs))
  }
  const isSmall = source.lengthBytes <= SMALL_BYTES_MAX
  const bytes = isSmall ? await inMemorySource(source) : source
  if (isSmall) {
    // Few files are encrypted, so it is not worth a read to find out.
    const attempted = await storeAppend(call, append, bytes, { isFlush, cipher: undefined })
    const answer = unlessEncryptionNeeded(attempted)
    if (answer !== undefined) return answer
  }
  const cipher = await cipherOfFile()
  return busyIfChanged(await storeAppend(call, append, bytes, { isFlush, cipher }))
}

type Storing = { readonly isFlush: boolean; readonly cipher: Cipher | undefined }

async function storeAppend(
  call: LakeCall,
  append: DecodedAppend,
  source: ByteSource,
  { isFlush, cipher }: Storing,
): Promise<Attempted<Answer>> {
  const { request, service } = call
  const hashes = decodeHashes(request)
  const body = await upload(service, source, { cipher, hashes, wants: 'sent', maySmall: true })
  const content = { id: body.id, pieces: body.pieces }
  const encryption = cipher?.encryption
  const bytes = { lengthBytes: body.lengthBytes, content, ...(encryption && { encryption }) }
  const attempted = await store(call, append, bytes, isFlush).catch((error: unknown) =>
    discard(service, body, error),
  )
  if ('need' in attempted) {
    await forget(service, body)
    return attempted
  }
  const appended = attempted.value
  const headers = [
    ...(isFlush ? validators(appended.blob) : []),
    ...requestEncryptionHeaders(encryption),
    ...structuredHeaders(request),
    // Those that were sent: no others are computed.
    ...hashHeaders(request.version, hashes, body, 'both'),
    ...renewedHeader(append, appended),
  ]
  return { value: { status: 202, headers } }
}

function store(
  call: LakeCall,
  append: AppendData,
  bytes: StagedBlock,
  isFlush: boolean,
): Promise<Attempted<Appended>> {
  const { request, service } = call
  const [address, moment] = [pathAddress(call), service.moment()]
  if (!isFlush) return service.kv.attempt((tx) => appendData(tx, address, append, bytes, moment))
  const flush = { headers: decodeFlushedHeaders(request), newId: service.newId() }
  return service.kv.attempt((tx) => appendAndFlush(tx, address, append, bytes, flush, moment))
}

/** The body is the end of the file, and its type that of the file. */
function decodeFlushedHeaders(request: Request): ContentHeaders {
  const contentType = optionalHeader(request.headers, 'content-type')
  return { ...(contentType !== undefined && { contentType }), ...decodeContentHeaders(request) }
}

/** Appended bytes are encrypted like the file. */
function* appendCipher(
  tx: ReadTx,
  address: PathAddress,
  append: DecodedAppend,
  nowMs: number,
): Step<Cipher | undefined> {
  const { stored } = yield* checkAppendData(tx, address, append, nowMs)
  const { customerKey } = append.guard.encryption ?? {}
  return yield* cipherOf(tx, address.account, stored.blob.encryption, customerKey)
}

function decodeAppend(request: Request, isFlush: boolean): DecodedAppend {
  const leaseUse = decodeLeaseUse(request, isFlush)
  const guard = lakeGuard(request)
  return { position: decodePosition(request), guard, ...(leaseUse && { leaseUse }) }
}

/** The longest file: 50,000 blocks of 4,000 MiB. */
const POSITION_MAX = 50_000 * 4_000 * 1024 * 1024

function decodePosition(request: Request): number {
  const text = requiredQuery(request, 'position')
  const position = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(position <= POSITION_MAX)) throw invalidQuery('position', text)
  return position
}

export async function runFlushData(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  if ((request.body.lengthBytes ?? 0) > 0) throw new StorageError('ContentLengthMustBeZero')
  const flush = decodeFlush(call)
  const [address, moment] = [pathAddress(call), service.moment()]
  const flushed = await service.kv.write((tx) => flushData(tx, address, flush, moment))
  const headers = [...writtenPathHeaders(flushed.blob), ...renewedHeader(flush, flushed)]
  return { status: 200, headers }
}

function decodeFlush({ request, service }: LakeCall): FlushData {
  const leaseUse = decodeLeaseUse(request, true)
  // The end of a file is an event that nobody can subscribe to here; the word is checked all the same.
  optionalBooleanQuery(request, 'close')
  return {
    position: decodePosition(request),
    retainsUncommittedData: optionalBooleanQuery(request, 'retainUncommittedData') ?? false,
    guard: lakeGuard(request),
    ...(leaseUse && { leaseUse }),
    headers: decodeContentHeaders(request),
    newId: service.newId(),
  }
}

/** Only if the client asked for it. */
function renewedHeader({ leaseUse }: Pick<AppendData, 'leaseUse'>, appended: Appended): string[] {
  if (leaseUse?.action !== 'auto-renew') return []
  return ['x-ms-lease-renewed', String(appended.isLeaseRenewed)]
}
