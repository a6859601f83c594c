// Append blobs over HTTP: create, Append Block, Seal. Decode once, call storage, encode.
import { optionalInt } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { ReadTx } from '../../../kv/kv.ts'
import {
  appendBlock,
  checkAppendBlock,
  putAppendBlob,
  sealAppendBlob,
  type AppendBlock,
} from '../../../storage/blob/content/append.ts'
import type { BlobAddress } from '../../../storage/blob/blob.ts'
import { invalidHeader, StorageError } from '../../../storage/shared/error.ts'
import { validators } from '../../shared/answer-header.ts'
import { decodeHashes, type BodyHashes } from '../../shared/body-hashes.ts'
import { bodySource, discard, structuredHeaders, upload } from '../../shared/upload.ts'
import type { ByteSource } from '../../shared/byte-source.ts'
import { hashHeaders, wantedHashes } from '../answer-hash.ts'
import { requestEncryptionHeaders, writtenHeaders } from '../answer.ts'
import { cipherOf } from '../cipher.ts'
import { blobGuard, decodePutBlob, type RequestGuard } from '../header.ts'
import { APPEND_BLOCK_LIMITS, checkLength } from '../length-limit.ts'
import { blobAddress, type BlobCall } from '../service.ts'

/** A new append blob is empty; a body is refused. */
export async function runPutAppendBlob(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const { lengthBytes = 0 } = request.body
  if (lengthBytes !== 0) throw invalidHeader('Content-Length', String(lengthBytes))
  const put = decodePutBlob(call)
  const [address, newId, moment] = [blobAddress(request), service.newId(), service.moment()]
  const blob = await service.kv.write((tx) => putAppendBlob(tx, address, put, newId, moment))
  return { status: 201, headers: writtenHeaders(blob) }
}

export async function runAppendBlock(call: BlobCall): Promise<Answer> {
  const { request } = call
  const answer = await appendFrom(call, bodySource(request), decodeHashes(request))
  return { ...answer, headers: [...answer.headers, ...structuredHeaders(request)] }
}

/**
 * Append Block, with the bytes from the body or a URL; `hashes` are those that the client sent. Bytes first, record
 * second, but a request that is bound to fail is refused before the bytes are read.
 */
export async function appendFrom(
  { request, service }: BlobCall,
  source: ByteSource,
  hashes: BodyHashes,
): Promise<Answer> {
  if (source.lengthBytes === 0) throw invalidHeader('Content-Length', '0')
  checkLength(APPEND_BLOCK_LIMITS, request.version, source.lengthBytes)
  const [address, append] = [blobAddress(request), decodeAppendBlock(request, source)]
  const { nowMs } = service.moment()
  const cipher = await service.kv.read((tx) => cipherForBlock(tx, address, append, nowMs))
  const isFromUrl = request.headers['x-ms-copy-source'] !== undefined
  const isKeyed = isFromUrl && append.guard.encryption !== undefined
  const wants = wantedHashes(request.version, hashes, isKeyed)
  const body = await upload(service, source, { cipher, hashes, wants, maySmall: true })
  const bytes = { ...body, encryption: cipher?.encryption }
  const moment = service.moment()
  const { offset, blob } = await service.kv
    .write((tx) => appendBlock(tx, address, append, bytes, moment))
    .catch((error: unknown) => discard(service, body, error))
  const headers = [...validators(blob), ...requestEncryptionHeaders(blob.encryption)]
  headers.push('x-ms-blob-append-offset', String(offset))
  headers.push('x-ms-blob-committed-block-count', String(blob.blockCount ?? 0))
  const answered = hashHeaders(request.version, hashes, body, wants)
  return { status: 201, headers: [...headers, ...answered] }
}

/** Checks that the block may be appended, and returns the key to encrypt it with. */
function* cipherForBlock(
  tx: ReadTx,
  address: BlobAddress,
  append: RequestAppendBlock,
  nowMs: number,
) {
  const { stored } = yield* checkAppendBlock(tx, address, append, nowMs)
  const { customerKey } = append.guard.encryption ?? {}
  return yield* cipherOf(tx, address.account, stored.blob.encryption, customerKey)
}

type RequestAppendBlock = AppendBlock & { readonly guard: RequestGuard }

function decodeAppendBlock(request: Request, { lengthBytes }: ByteSource): RequestAppendBlock {
  return {
    guard: blobGuard(request),
    lengthBytes,
    appendPosition: decodeAppendPosition(request),
    blobBytesMax: optionalInt(request.headers, 'x-ms-blob-condition-maxsize'),
  }
}

function decodeAppendPosition({ headers }: Request): number | undefined {
  return optionalInt(headers, 'x-ms-blob-condition-appendpos')
}

/** Accepts the four standard conditions, but no condition on tags. */
export async function runSealAppendBlob({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddress(request), blobGuard(request)]
  if (guard.conditions.ifTags !== undefined) {
    throw new StorageError('ConditionHeadersNotSupported')
  }
  const [appendPosition, moment] = [decodeAppendPosition(request), service.moment()]
  const blob = await service.kv.write((tx) =>
    sealAppendBlob(tx, address, guard, appendPosition, moment),
  )
  return { status: 200, headers: [...validators(blob), 'x-ms-blob-sealed', 'true'] }
}
