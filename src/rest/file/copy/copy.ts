// Copy File and Abort Copy File. A source in this store is copied before the answer; a source on another server is
// checked before the answer and read after it (rest/shared/copy/copy-jobs.ts).
import { randomUUID } from 'node:crypto'
import { hasPermission } from '../../../auth/authorize.ts'
import {
  decodeMetadata,
  optionalBoolean,
  optionalHeader,
  optionalWord,
  type HeaderFields,
} from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { requireValue, type Attempted } from '../../../kv/kv.ts'
import { unlessEncryptionNeeded } from '../../../storage/shared/encryption-needed.ts'
import { missingHeader, StorageError } from '../../../storage/shared/error.ts'
import { parseAttributes } from '../../../storage/file/tree/attributes.ts'
import type {
  CopyProperties,
  SourceProperties,
} from '../../../storage/file/copy/copy-properties.ts'
import { copyFile, type FileCopyRequest, type CopyFile } from '../../../storage/file/copy/copy.ts'
import { parseFileTime } from '../../../storage/file/tree/file-time.ts'
import type { FileNode } from '../../../storage/file/tree/node.ts'
import { abortFileCopy, startFileCopy } from '../../../storage/file/copy/pending-copy.ts'
import { checkCopyAction, decodeCopyId } from '../../shared/copy/abort-copy.ts'
import { validators } from '../../shared/answer-header.ts'
import type { LocalSource, RemoteSource } from '../../shared/copy/copy-sources.ts'
import { tooLong } from '../../shared/copy/open-source.ts'
import { openRemote, type OpenRemote } from '../../shared/copy/remote-source.ts'
import { resolveSource } from '../../shared/copy/source.ts'
import { discard, upload } from '../../shared/upload.ts'
import { afterBreaks, attemptAfterBreaks } from '../breaks.ts'
import { fileGuard } from '../file-header.ts'
import { fileAddress, fileAddressAt, type FileCall } from '../service.ts'
import { decodeSmbProperties } from '../smb-header.ts'

export async function runCopyFile(call: FileCall): Promise<Answer> {
  fileAddress(call.request)
  const decoded = decodeCopy(call)
  const source = await resolveSource(call)
  const node = await (source.kind === 'local'
    ? copyLocal(call, source, decoded)
    : copyRemote(call, source, decoded))
  const { id = '', status = 'success' } = node.copy ?? {}
  const headers = [...validators(node), 'x-ms-copy-id', id, 'x-ms-copy-status', status]
  return { status: 202, headers }
}

type DecodedFileCopy = Omit<FileCopyRequest, 'state'>

function decodeCopy({ request, identity }: FileCall): DecodedFileCopy {
  const metadata = decodeMetadata(request.rawHeaders)
  const ignoresReadOnly = ignoresReadOnlyAttribute(request.headers)
  const mayReplace = hasPermission(identity, 'w')
  return {
    guard: { ...fileGuard(request, 'Copy File'), ignoresReadOnly, mayReplace },
    properties: decodeCopyProperties(request),
    metadata: metadata.length === 0 ? undefined : metadata,
  }
}

/** SDKs before 2022 spelled the header with one more hyphen (azure-sdk-for-net, Azure.Storage.Files.Shares 12.7). */
function ignoresReadOnlyAttribute(headers: HeaderFields): boolean {
  return (
    optionalBoolean(headers, 'x-ms-file-copy-ignore-readonly') ??
    optionalBoolean(headers, 'x-ms-file-copy-ignore-read-only') ??
    false
  )
}

const MODES = ['source', 'override'] as const

function decodeCopyProperties(request: Request): CopyProperties {
  const { headers } = request
  const smb = decodeSmbProperties(request, 'copy')
  const permissionMode = optionalWord(headers, 'x-ms-file-permission-copy-mode', MODES)
  const modeMode = optionalWord(headers, 'x-ms-file-mode-copy-mode', MODES)
  const ownerMode = optionalWord(headers, 'x-ms-file-owner-copy-mode', MODES)
  const setsArchive = optionalBoolean(headers, 'x-ms-file-copy-set-archive')
  if (permissionMode === 'override' && smb.permission === undefined) {
    throw missingHeader('x-ms-file-permission')
  }
  return {
    ...smb,
    ...(permissionMode !== undefined && { permissionMode }),
    ...(modeMode !== undefined && { modeMode }),
    ...(ownerMode !== undefined && { ownerMode }),
    ...(setsArchive !== undefined && { setsArchive }),
  }
}

/** One transaction; if the source is an encrypted blob, its bytes are decrypted and written first. */
async function copyLocal(
  call: FileCall,
  source: LocalSource,
  decoded: DecodedFileCopy,
): Promise<FileNode> {
  const { newId } = call.service
  const copy: CopyFile = {
    ...decoded,
    source: {
      address: source.service === 'file' ? fileAddressAt(source.readRequest) : source.object,
    },
    state: { id: randomUUID(), source: source.text },
    ids: { nodeId: newId(), mapId: newId(), smallId: newId() },
  }
  const copied = unlessEncryptionNeeded(await storeCopy(call, copy))
  return copied ?? copyUnsealed(call, source, copy)
}

function storeCopy({ request, service }: FileCall, copy: CopyFile): Promise<Attempted<FileNode>> {
  const address = fileAddress(request)
  return attemptAfterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.attempt((tx) => copyFile(tx, address, copy, moment))
  })
}

/** The client waits for it, so the limit is that of one Put Blob. */
const UNSEAL_BYTES_MAX = 5_000 * 2 ** 20

async function copyUnsealed(
  call: FileCall,
  source: LocalSource,
  copy: CopyFile,
): Promise<FileNode> {
  const { request, service } = call
  const opened = await service.copySources.openLocal(request, source, {})
  if (opened.lengthBytes > UNSEAL_BYTES_MAX) throw tooLong(UNSEAL_BYTES_MAX)
  const hashes = { md5: undefined, crc64: undefined }
  const body = await upload(service, opened, { cipher: undefined, hashes, wants: 'sent' })
  const { stamp = 0 } = opened
  const pinned = { ...copy, source: { ...copy.source, stamp }, unsealed: body.pieces }
  return storeCopy(call, pinned)
    .then(requireValue)
    .catch((error: unknown) => discard(service, body, error))
}

async function copyRemote(
  call: FileCall,
  source: RemoteSource,
  decoded: DecodedFileCopy,
): Promise<FileNode> {
  const { request, service } = call
  // The token is never stored, and the bytes are read after the request has ended.
  const HeaderName = 'x-ms-copy-source-authorization'
  if (request.headers[HeaderName]) throw new StorageError('UnsupportedHeader', { HeaderName })
  service.copyJobs.checkFree()
  const opened = await openRemote(call, source, {})
  opened.close()
  const { lengthBytes, headers, metadata, etag, isRanged, takesConditions } = opened
  const remote = {
    url: source.wholeText,
    lengthBytes,
    headers,
    metadata,
    properties: remoteProperties(opened),
    ...(etag !== undefined && { etag }),
    ...(etag !== undefined && isRanged && { isResumable: true as const }),
    ...(!takesConditions && { isUnconditional: true as const }),
  }
  const start = {
    ...decoded,
    remote,
    state: { id: randomUUID(), source: source.text },
    nodeId: service.newId(),
    mapId: service.newId(),
  }
  const address = fileAddress(request)
  const { node, place } = await afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.attempt((tx) => startFileCopy(tx, address, start, moment))
  })
  service.copyJobs.begin(place)
  return node
}

/** Only another File service sends these headers. */
function remoteProperties({ smbHeaders = {} }: OpenRemote): SourceProperties {
  const text = (name: string) => optionalHeader(smbHeaders, `x-ms-file-${name}`)
  const attributes = parseAttributes(text('attributes') ?? '', 'file')
  const creationTime = parseFileTime(text('creation-time') ?? '')
  const lastWriteTime = parseFileTime(text('last-write-time') ?? '')
  const changeTime = parseFileTime(text('change-time') ?? '')
  return {
    ...(attributes !== undefined && { attributes }),
    ...(creationTime !== undefined && { creationTime }),
    ...(lastWriteTime !== undefined && { lastWriteTime }),
    ...(changeTime !== undefined && { changeTime }),
  }
}

export async function runAbortCopyFile({ request, service }: FileCall): Promise<Answer> {
  checkCopyAction(request)
  const { leaseId } = fileGuard(request, 'Lease')
  const [address, abort] = [fileAddress(request), { copyId: decodeCopyId(request), leaseId }]
  const place = await afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.attempt((tx) => abortFileCopy(tx, address, abort, moment))
  })
  service.copyJobs.cancel(place)
  return { status: 204, headers: [] }
}
