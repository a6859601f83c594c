// Copy Blob From URL and Put Blob From URL: done before they are answered, and both make block blobs. The
// first makes what Copy Blob makes, block list and all; the second a blob as if its bytes had been put.
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
import { copyAnswer, decodeCopy, storeCopy, type AskedCopy } from './copy.ts'
import { openLocal, sourceRead, type OpenBlob } from './local-source.ts'
import { openRemoteBlob } from './remote-source.ts'
import { decodeHttpHeaders } from '../header.ts'
import { lengthBytesMax, PUT_BLOB_LIMITS } from '../length-limit.ts'
import { blobAddress, type BlobCall } from '../service.ts'

const MIB = 2 ** 20
const COPY_BYTES_MAX = 256 * MIB
/** How often a source that changes while it is looked at is looked at again. */
const LOOKS_MAX = 3

export async function runCopyBlobFromUrl(call: BlobCall): Promise<Answer> {
  const asked = decodeCopy(call)
  const hashes = decodeSourceHashes(call.request)
  blobAddress(call.request)
  const source = await resolveSource(call, { tags: asked.copiesTags })
  const { blob, md5, crc64 } = await (source.kind === 'local'
    ? copyLocal(call, source, asked, hashes)
    : copyRemote(call, source, asked, hashes))
  return copyAnswer(blob, copyHashHeaders(hashes, { md5, crc64 }))
}

/** The hash that was sent, or CRC64 if none was (Copy Blob From URL, response headers). */
function copyHashHeaders(sent: BodyHashes, computed: BodyHashes): string[] {
  if (sent.md5 !== undefined) return ['Content-MD5', computed.md5 ?? '']
  return ['x-ms-content-crc64', computed.crc64 ?? '']
}

type Copied = BodyHashes & { readonly blob: Blob }

/** The bytes are hashed first, and shared then if they are still those of the source. */
async function copyLocal(
  call: BlobCall,
  source: LocalSource,
  asked: AskedCopy,
  hashes: BodyHashes,
): Promise<Copied> {
  const { request, service } = call
  const state = { id: randomUUID(), source: source.text }
  const read = sourceRead(request, source)
  for (let look = 1; ; look += 1) {
    const opened = await openLocal(service, request, source, {})
    checkCopied(opened)
    const computed = await hashesOf(opened, hashes)
    checkHashes(hashes, computed)
    const { stamp = 0 } = opened
    try {
      const blob = await storeCopy(call, source, {
        ...asked,
        source: { ...read, stamp },
        state,
        newId: service.newId(),
        seal: undefined,
        rehydratePriority: undefined,
      })
      return { blob, ...computed }
    } catch (error) {
      const isChanged = error instanceof StorageError && error.code === 'SourceConditionNotMet'
      if (!isChanged || look === LOOKS_MAX) throw error
    }
  }
}

function checkCopied({ lengthBytes, properties }: OpenBlob): void {
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
  asked: AskedCopy,
  hashes: BodyHashes,
): Promise<Copied> {
  const { request, service } = call
  const { put, copiesTags } = asked
  const address = blobAddress(request)
  const cipher = await putCipher(call, asked)
  const opened = await openRemoteBlob(call, source, { tags: copiesTags })
  try {
    checkCopied(opened)
    const body = await upload(service, opened, { cipher, hashes, wants: 'crc64' })
    const made = {
      ...put,
      headers: opened.headers,
      metadata: asked.metadata ?? opened.metadata,
      ...(copiesTags && { tags: opened.tags }),
      ...(cipher && { encryption: cipher.encryption }),
    }
    const [state, moment] = [{ id: randomUUID(), source: source.text }, service.moment()]
    const blob = await service.kv
      .write((tx) => storeCopied(tx, address, made, body, state, moment))
      .catch((error: unknown) => discard(service, body, busyIfChanged(error)))
    return { blob, md5: body.md5, crc64: body.crc64 }
  } finally {
    opened.close()
  }
}

/** What is bound to fail is refused before the source is read. */
function putCipher({ request, service }: BlobCall, { put }: AskedCopy) {
  const [address, { nowMs }] = [blobAddress(request), service.moment()]
  return service.kv.read((tx) => cipherForPut(tx, address, put, nowMs))
}

export async function runPutBlobFromUrl(call: BlobCall): Promise<Answer> {
  const { request } = call
  const type = requiredHeader(request.headers, 'x-ms-blob-type')
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type)
  const asked = decodeCopy(call)
  const hashes = decodeSourceHashes(request)
  const address = blobAddress(request)
  const bytesMax = lengthBytesMax(PUT_BLOB_LIMITS, request.version)
  const opened = await openBlob(call, { tags: asked.copiesTags, bytesMax })
  try {
    // Errors of the source, a wrong hash included, come before errors of the destination.
    const isHashed = hashes.md5 !== undefined || hashes.crc64 !== undefined
    const cipher = await (isHashed
      ? call.service.kv.read((tx) => cipherForContainer(tx, address, asked.put))
      : putCipher(call, asked))
    return await putOpened(call, asked, opened, { cipher, hashes })
  } finally {
    opened.close()
  }
}

async function putOpened(
  { request, service }: BlobCall,
  { put, metadata, copiesTags }: AskedCopy,
  opened: OpenBlob,
  { cipher, hashes }: { readonly cipher: Cipher | undefined; readonly hashes: BodyHashes },
): Promise<Answer> {
  const address = blobAddress(request)
  const body = await upload(service, opened, { cipher, hashes, wants: 'both' })
  const made = {
    ...put,
    headers: { ...headersFor(request, opened), contentMd5: body.md5 ?? '' },
    metadata: metadata ?? opened.metadata,
    ...(copiesTags && { tags: opened.tags }),
    ...(cipher && { encryption: cipher.encryption }),
  }
  const moment = service.moment()
  const stored = service.kv.write((tx) => {
    checkAsked(request, body)
    return putBlob(tx, address, made, body, moment)
  })
  const blob = await stored.catch((error: unknown) => discard(service, body, busyIfChanged(error)))
  const headers = [...writtenHeaders(blob), ...hashHeaders(request.version, hashes, body)]
  return { status: 201, headers }
}

/** Those of the source, unless the client wants none of them; what it sends itself counts in any case. */
function headersFor(request: Request, { headers }: OpenBlob): ContentHeaders {
  const own = decodeHttpHeaders(request, 'own')
  const isCopied = optionalBoolean(request.headers, 'x-ms-copy-source-blob-properties') ?? true
  return isCopied ? { ...headers, ...own } : own
}

/** Content-MD5 and x-ms-blob-content-md5 are about the same bytes, since there is no body. */
function checkAsked(request: Request, body: BodyHashes): void {
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
