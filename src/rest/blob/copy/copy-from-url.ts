// Copy Blob From URL and Put Blob From URL: both finish before they answer, and both create block blobs. The first
// copies like Copy Blob, including the block list; the second creates a blob like Put Blob.
import { randomUUID } from 'node:crypto'
import { crc64Hasher, md5Hasher } from '../../../extent/hash/hash.ts'
import { optionalBoolean, requiredHeader } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import { storeCopied } from '../../../storage/blob/copy/copy-body.ts'
import { putBlob } from '../../../storage/blob/put.ts'
import type { ContentHeaders } from '../../../storage/shared/content-headers.ts'
import { invalidHeader, StorageError } from '../../../storage/shared/error.ts'
import {
  checkHashes,
  checkMd5,
  decodeHashes,
  decodeSourceHashes,
  type BodyHashes,
} from '../../shared/body-hashes.ts'
import type { LocalSource, RemoteSource, SourceWants } from '../../shared/copy/copy-sources.ts'
import { openSourceWith, tooLong } from '../../shared/copy/open-source.ts'
import { resolveSource } from '../../shared/copy/source.ts'
import { discard, upload } from '../../shared/upload.ts'
import { hashHeaders } from '../answer-hash.ts'
import { writtenHeaders } from '../answer.ts'
import { busyIfChanged, cipherForContainer, cipherForPut, type Cipher } from '../cipher.ts'
import { copyStatusHeaders, decodeCopy, storeCopy, type DecodedCopy } from './copy.ts'
import { openLocal, sourceRead, type OpenBlob } from './local-source.ts'
import { openRemoteBlob } from './remote-source.ts'
import { decodeHttpHeaders } from '../header.ts'
import { lengthBytesMax, PUT_BLOB_LIMITS } from '../length-limit.ts'
import { blobAddress, type BlobCall } from '../service.ts'

const MIB = 2 ** 20
const COPY_BYTES_MAX = 256 * MIB
/** Attempts at a source that changes while it is hashed. */
const ATTEMPTS_MAX = 3

export async function runCopyBlobFromUrl(call: BlobCall): Promise<Answer> {
  const decoded = decodeCopy(call)
  const hashes = decodeSourceHashes(call.request)
  blobAddress(call.request)
  const source = await resolveSource(call, { tags: decoded.copiesTags })
  const { blob, md5, crc64 } = await (source.kind === 'local'
    ? copyLocal(call, source, decoded, hashes)
    : copyRemote(call, source, decoded, hashes))
  const copied = [...copyStatusHeaders(blob), ...copyHashHeaders(hashes, { md5, crc64 })]
  return { status: 202, headers: [...writtenHeaders(blob), ...copied] }
}

/** The hash that was sent, or the CRC-64 if none was (Copy Blob From URL, response headers). */
function copyHashHeaders(sent: BodyHashes, computed: BodyHashes): string[] {
  if (sent.md5 !== undefined) return ['Content-MD5', computed.md5 ?? '']
  return ['x-ms-content-crc64', computed.crc64 ?? '']
}

type Copied = BodyHashes & { readonly blob: Blob }

/** Hashes the bytes first, then shares them with the source unless it has changed. */
async function copyLocal(
  call: BlobCall,
  source: LocalSource,
  decoded: DecodedCopy,
  hashes: BodyHashes,
): Promise<Copied> {
  const { request, service } = call
  const state = { id: randomUUID(), source: source.text }
  const read = sourceRead(request, source)
  for (let attempt = 1; ; attempt += 1) {
    const opened = await openLocal(service, request, source, {})
    checkSource(opened)
    const computed = await hashesOf(opened, hashes)
    checkHashes(hashes, computed)
    const { stamp = 0 } = opened
    try {
      const blob = await storeCopy(call, source, {
        ...decoded,
        source: { ...read, stamp },
        state,
        newId: service.newId(),
        seal: undefined,
        rehydratePriority: undefined,
      })
      return { blob, ...computed }
    } catch (error) {
      const isChanged = error instanceof StorageError && error.code === 'SourceConditionNotMet'
      if (!isChanged || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

function checkSource({ lengthBytes, properties }: OpenBlob): void {
  if (properties.type !== 'BlockBlob') throw new StorageError('InvalidSourceBlobType')
  if (lengthBytes > COPY_BYTES_MAX) throw tooLong(COPY_BYTES_MAX)
}

async function hashesOf(opened: OpenBlob, sent: BodyHashes): Promise<BodyHashes> {
  const md5 = sent.md5 === undefined ? undefined : md5Hasher()
  const crc64 = crc64Hasher()
  for await (const chunk of opened.stream()) {
    md5?.update(chunk)
    crc64.update(chunk)
  }
  return {
    md5: md5?.digest().toString('base64'),
    crc64: crc64.digest().toString('base64'),
  }
}

async function copyRemote(
  call: BlobCall,
  source: RemoteSource,
  decoded: DecodedCopy,
  hashes: BodyHashes,
): Promise<Copied> {
  const { request, service } = call
  const { put, copiesTags } = decoded
  const address = blobAddress(request)
  const cipher = await putCipher(call, decoded)
  const opened = await openRemoteBlob(call, source, { tags: copiesTags })
  try {
    checkSource(opened)
    const body = await upload(service, opened, { cipher, hashes, wants: 'crc64' })
    const copied = {
      ...put,
      headers: opened.headers,
      metadata: decoded.metadata ?? opened.metadata,
      ...(copiesTags && { tags: opened.tags }),
      ...(cipher && { encryption: cipher.encryption }),
    }
    const [state, moment] = [{ id: randomUUID(), source: source.text }, service.moment()]
    const blob = await service.kv
      .attempt((tx) => storeCopied(tx, address, copied, body, state, moment))
      .then(busyIfChanged)
      .catch((error: unknown) => discard(service, body, error))
    return { blob, md5: body.md5, crc64: body.crc64 }
  } finally {
    opened.close()
  }
}

/** Also refuses a copy that is bound to fail, before the source is read. */
function putCipher({ request, service }: BlobCall, { put }: DecodedCopy) {
  const [address, { nowMs }] = [blobAddress(request), service.moment()]
  return service.kv.read((tx) => cipherForPut(tx, address, put, nowMs))
}

export async function runPutBlobFromUrl(call: BlobCall): Promise<Answer> {
  const { request } = call
  const type = requiredHeader(request.headers, 'x-ms-blob-type')
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type)
  const decoded = decodeCopy(call)
  const hashes = decodeSourceHashes(request)
  const address = blobAddress(request)
  const bytesMax = lengthBytesMax(PUT_BLOB_LIMITS, request.version)
  const opened = await openBlob(call, { tags: decoded.copiesTags, bytesMax })
  try {
    // Errors of the source, including a wrong hash, take precedence over errors of the destination.
    const isHashed = hashes.md5 !== undefined || hashes.crc64 !== undefined
    const cipher = await (isHashed
      ? call.service.kv.read((tx) => cipherForContainer(tx, address, decoded.put))
      : putCipher(call, decoded))
    return await putOpened(call, decoded, opened, { cipher, hashes })
  } finally {
    opened.close()
  }
}

async function putOpened(
  { request, service }: BlobCall,
  { put, metadata, copiesTags }: DecodedCopy,
  opened: OpenBlob,
  { cipher, hashes }: { readonly cipher: Cipher | undefined; readonly hashes: BodyHashes },
): Promise<Answer> {
  const address = blobAddress(request)
  const body = await upload(service, opened, { cipher, hashes, wants: 'both' })
  const copied = {
    ...put,
    headers: { ...headersFor(request, opened), contentMd5: body.md5 ?? '' },
    metadata: metadata ?? opened.metadata,
    ...(copiesTags && { tags: opened.tags }),
    ...(cipher && { encryption: cipher.encryption }),
  }
  const moment = service.moment()
  const blob = await service.kv
    .attempt((tx) => {
      checkSentMd5(request, body)
      return putBlob(tx, address, copied, body, moment)
    })
    .then(busyIfChanged)
    .catch((error: unknown) => discard(service, body, error))
  const headers = [...writtenHeaders(blob), ...hashHeaders(request.version, hashes, body)]
  return { status: 201, headers }
}

/** The source's headers, unless the client opts out; headers that the client sends override them. */
function headersFor(request: Request, { headers }: OpenBlob): ContentHeaders {
  const own = decodeHttpHeaders(request, 'own')
  const isCopied = optionalBoolean(request.headers, 'x-ms-copy-source-blob-properties') ?? true
  return isCopied ? { ...headers, ...own } : own
}

/** Content-MD5 and x-ms-blob-content-md5 both describe the source's bytes, since there is no body. */
function checkSentMd5(request: Request, body: BodyHashes): void {
  const { md5 } = decodeHashes(request)
  const { contentMd5 } = decodeHttpHeaders(request, 'own')
  for (const sent of [md5, contentMd5]) if (sent !== undefined) checkMd5(sent, body.md5 ?? '')
}

function openBlob(call: BlobCall, wants: SourceWants): Promise<OpenBlob> {
  const { request, service } = call
  return openSourceWith<OpenBlob>(call, wants, {
    local: (source, fetched) => openLocal(service, request, source, fetched),
    remote: (source, fetched) => openRemoteBlob(call, source, fetched),
  })
}
