// Copy Blob and Abort Copy Blob. A source in this store is copied before the answer; one elsewhere is
// looked at before the answer, and read after it (copy-job.ts).
import { randomUUID } from 'node:crypto'
import { decodeMetadata, optionalBoolean, optionalWord } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import { copiedProperties, copyBlob, type CopyBlob } from '../../../storage/blob/copy/copy.ts'
import { abortCopy, startCopy } from '../../../storage/blob/copy/pending-copy.ts'
import { EncryptionNeeded } from '../../../storage/shared/encryption-needed.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import type { Metadata } from '../../../storage/shared/metadata.ts'
import { checkCopyAction, decodeCopyId } from '../../shared/copy/abort-copy.ts'
import type { LocalSource, RemoteSource } from '../../shared/copy/copy-sources.ts'
import { resolveSource } from '../../shared/copy/source.ts'
import { discard } from '../../shared/upload.ts'
import { writtenHeaders } from '../answer.ts'
import { busyIfChanged } from '../cipher.ts'
import { blobConditions, decodePutBlob, guardWith, type DecodedPut } from '../header.ts'
import { sourceRead } from './local-source.ts'
import { openRemoteBlob } from './remote-source.ts'
import { reseal } from './reseal.ts'
import { blobAddress, type BlobCall } from '../service.ts'

/** What every copy of a whole blob is told of its destination. */
export type AskedCopy = {
  readonly put: DecodedPut
  /** Given, it replaces that of the source. */
  readonly metadata: Metadata | undefined
  readonly copiesTags: boolean
}

export function decodeCopy(call: BlobCall): AskedCopy {
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
  const asked = decodeCopy(call)
  blobAddress(call.request)
  const source = await resolveSource(call, { tags: asked.copiesTags })
  const blob = await (source.kind === 'local'
    ? copyLocal(call, source, asked)
    : copyRemote(call, source, asked))
  return copyAnswer(blob)
}

export function copyAnswer(blob: Blob, more: readonly string[] = []): Answer {
  const { id = '', status = 'success' } = blob.copy ?? {}
  const headers = [...writtenHeaders(blob), 'x-ms-copy-id', id, 'x-ms-copy-status', status]
  return { status: 202, headers: [...headers, ...more] }
}

function copyLocal(call: BlobCall, source: LocalSource, asked: AskedCopy): Promise<Blob> {
  const { request, service } = call
  const read = { ...sourceRead(request, source), mayBeArchived: true }
  return storeCopy(call, source, {
    ...asked,
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

/** In one transaction; if the destination has another key than the source, after its bytes were written. */
export async function storeCopy(
  call: BlobCall,
  { object }: LocalSource,
  copy: CopyBlob & AskedCopy,
): Promise<Blob> {
  const { request, service } = call
  const address = blobAddress(request)
  try {
    return await object.attempt(request, (kv) => {
      const moment = service.moment()
      return kv.write((tx) => copyBlob(tx, address, copy, moment))
    })
  } catch (error) {
    if (!(error instanceof EncryptionNeeded)) throw error
  }
  const { resealed, body, stamp } = await reseal(call, object, copy)
  const pinned = { ...copy, resealed, source: { ...copy.source, stamp } }
  const stored = object.attempt(request, (kv) => {
    const moment = service.moment()
    return kv.write((tx) => copyBlob(tx, address, pinned, moment))
  })
  return stored.catch((error: unknown) => discard(service, body, busyIfChanged(error)))
}

/** GET and not HEAD: a URL that is signed for reading may be signed for GET alone. */
async function copyRemote(call: BlobCall, source: RemoteSource, asked: AskedCopy): Promise<Blob> {
  const { request, service } = call
  const { put, copiesTags } = asked
  // Neither is ever stored, and when the bytes come the request is over.
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
    metadata: asked.metadata ?? opened.metadata,
    ...(copiesTags && { tags: opened.tags }),
    lengthBytes: opened.lengthBytes,
    isRanged: opened.isRanged,
    ...(!opened.takesConditions && { isUnconditional: true as const }),
    ...(opened.etag !== undefined && { etag: opened.etag }),
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
  const asked = { copyId: decodeCopyId(request), leaseId }
  const place = await service.kv.write((tx) => abortCopy(tx, address, asked, moment))
  service.copyJobs.cancel(place)
  return { status: 204, headers: [] }
}
