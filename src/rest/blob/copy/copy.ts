// Copy Blob and Abort Copy Blob. A source in this store is copied before the answer; a source on another server is
// checked before the answer and read after it (copy-job.ts).
import { randomUUID } from 'node:crypto'
import { decodeMetadata, optionalBoolean, optionalWord } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import { copiedProperties, copyBlob, type CopyBlob } from '../../../storage/blob/copy/copy.ts'
import { abortCopy, startCopy } from '../../../storage/blob/copy/pending-copy.ts'
import { unlessEncryptionNeeded } from '../../../storage/shared/encryption-needed.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import type { Metadata } from '../../../storage/shared/metadata.ts'
import { checkCopyAction, decodeCopyId } from '../../shared/copy/abort-copy.ts'
import type { LocalSource, RemoteSource } from '../../shared/copy/copy-sources.ts'
import { resolveSource } from '../../shared/copy/source.ts'
import { discard } from '../../shared/upload.ts'
import { validators } from '../../shared/answer-header.ts'
import { versionHeaders } from '../answer.ts'
import { busyIfChanged } from '../cipher.ts'
import { blobConditions, decodePutBlob, guardWith, type DecodedPut } from '../header.ts'
import { sourceRead } from './local-source.ts'
import { openRemoteBlob } from './remote-source.ts'
import { reseal } from './reseal.ts'
import { blobAddress, type BlobCall } from '../service.ts'

/** What a request says about the destination of a copy of a whole blob. */
export type DecodedCopy = {
  readonly put: DecodedPut
  /** Replaces the source's metadata if given. */
  readonly metadata: Metadata | undefined
  readonly copiesTags: boolean
}

export function decodeCopy(call: BlobCall): DecodedCopy {
  const { request } = call
  const put = decodePutBlob(call)
  const metadata = decodeMetadata(request.rawHeaders)
  const option = optionalWord(request.headers, 'x-ms-copy-source-tag-option', ['REPLACE', 'COPY'])
  if (option === 'COPY' && put.tags !== undefined) {
    throw new StorageError('BothUserTagsAndSourceTagsCopyPresentException')
  }
  return {
    put: { ...put, isCopy: true },
    metadata: metadata.length === 0 ? undefined : metadata,
    copiesTags: option === 'COPY',
  }
}

export async function runCopyBlob(call: BlobCall): Promise<Answer> {
  const decoded = decodeCopy(call)
  blobAddress(call.request)
  const source = await resolveSource(call, { tags: decoded.copiesTags })
  const blob = await (source.kind === 'local'
    ? copyLocal(call, source, decoded)
    : copyRemote(call, source, decoded))
  // A copy that may go on after the answer says nothing of encryption (recorded).
  const headers = [...validators(blob), ...versionHeaders(blob), ...copyStatusHeaders(blob)]
  return { status: 202, headers }
}

export function copyStatusHeaders(blob: Blob): string[] {
  const { id = '', status = 'success' } = blob.copy ?? {}
  return ['x-ms-copy-id', id, 'x-ms-copy-status', status]
}

function copyLocal(call: BlobCall, source: LocalSource, decoded: DecodedCopy): Promise<Blob> {
  const { request, service } = call
  const read = { ...sourceRead(request, source), mayBeArchived: true }
  return storeCopy(call, source, {
    ...decoded,
    source: read,
    state: { id: randomUUID(), source: source.text },
    newId: service.newId(),
    seal: sealOf(request),
    rehydratePriority: optionalWord(request.headers, 'x-ms-rehydrate-priority', [
      'Standard',
      'High',
    ]),
  })
}

/** One transaction; if the destination's key differs from the source's, the bytes are encrypted again first. */
export async function storeCopy(
  call: BlobCall,
  { object }: LocalSource,
  copy: CopyBlob & DecodedCopy,
): Promise<Blob> {
  const { request, service } = call
  const address = blobAddress(request)
  const store = (attempted: CopyBlob) =>
    object.attempt(request, (kv) => {
      const moment = service.moment()
      return kv.attempt((tx) => copyBlob(tx, address, attempted, moment))
    })
  const copied = unlessEncryptionNeeded(await store(copy))
  if (copied !== undefined) return copied
  const { resealed, body, stamp } = await reseal(call, object, copy)
  // The first attempt may have copied a long map under the first id.
  const pinned = { ...copy, newId: service.newId(), resealed, source: { ...copy.source, stamp } }
  return store(pinned)
    .then(busyIfChanged)
    .catch((error: unknown) => discard(service, body, error))
}

/** Uses GET, not HEAD: a URL may be signed for GET only. */
async function copyRemote(
  call: BlobCall,
  source: RemoteSource,
  decoded: DecodedCopy,
): Promise<Blob> {
  const { request, service } = call
  const { put, copiesTags } = decoded
  // Neither is ever stored, and the bytes are read after the request has ended.
  for (const HeaderName of ['x-ms-encryption-key', 'x-ms-copy-source-authorization']) {
    if (request.headers[HeaderName]) throw new StorageError('UnsupportedHeader', { HeaderName })
  }
  service.copyJobs.checkFree()
  const opened = await openRemoteBlob(call, source, { tags: copiesTags })
  opened.close()
  const remote = {
    url: source.wholeText,
    properties: copiedProperties(opened.properties, sealOf(request)),
    headers: opened.headers,
    metadata: decoded.metadata ?? opened.metadata,
    ...(copiesTags && { tags: opened.tags }),
    lengthBytes: opened.lengthBytes,
    ...(opened.etag !== undefined && { etag: opened.etag }),
    ...(opened.etag !== undefined && opened.isRanged && { isResumable: true as const }),
    ...(!opened.takesConditions && { isUnconditional: true as const }),
  }
  const state = { id: randomUUID(), source: source.text }
  const newIds = [service.newId(), service.newId()] as const
  const [address, moment] = [blobAddress(request), service.moment()]
  const start = { put, remote, state, newIds }
  const { blob, place } = await service.kv.write((tx) => startCopy(tx, address, start, moment))
  service.copyJobs.begin(place)
  return blob
}

function sealOf({ headers }: Request): boolean | undefined {
  return optionalBoolean(headers, 'x-ms-seal-blob')
}

export async function runAbortCopyBlob({ request, service }: BlobCall): Promise<Answer> {
  checkCopyAction(request)
  const conditions = blobConditions(request)
  checkNoConditions(conditions)
  const { leaseId } = guardWith(request, conditions)
  const [address, moment] = [blobAddress(request), service.moment()]
  const abort = { copyId: decodeCopyId(request), leaseId }
  const place = await service.kv.write((tx) => abortCopy(tx, address, abort, moment))
  service.copyJobs.cancel(place)
  return { status: 204, headers: [] }
}
