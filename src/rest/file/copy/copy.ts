// Copy File and Abort Copy File. A source in this store is copied before the answer; one elsewhere is looked at
// before the answer, and read after it (rest/shared/copy/copy-jobs.ts).
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
import { EncryptionNeeded } from '../../../storage/shared/encryption-needed.ts'
import { missingHeader, StorageError } from '../../../storage/shared/error.ts'
import { parseAttributes } from '../../../storage/file/tree/attributes.ts'
import type {
  CopyProperties,
  SourceProperties,
} from '../../../storage/file/copy/copy-properties.ts'
import { copyFile, type AskedCopy, type CopyFile } from '../../../storage/file/copy/copy.ts'
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
import { afterBreaks } from '../breaks.ts'
import { fileGuard } from '../file-header.ts'
import { fileAddress, fileAddressAt, type FileCall } from '../service.ts'
import { decodeSmbProperties } from '../smb-header.ts'

export async function runCopyFile(call: FileCall): Promise<Answer> {
  fileAddress(call.request)
  const asked = decodeCopy(call)
  const source = await resolveSource(call)
  const node = await (source.kind === 'local'
    ? copyLocal(call, source, asked)
    : copyRemote(call, source, asked))
  const { id = '', status = 'success' } = node.copy ?? {}
  const headers = [...validators(node), 'x-ms-copy-id', id, 'x-ms-copy-status', status]
  return { status: 202, headers }
}

type Asked = Omit<AskedCopy, 'state'>

function decodeCopy({ request, identity }: FileCall): Asked {
  const metadata = decodeMetadata(request.rawHeaders)
  const ignoresReadOnly = ignoresReadOnlyAttribute(request.headers)
  const mayReplace = hasPermission(identity, 'w')
  return {
    guard: { ...fileGuard(request, 'Copy File'), ignoresReadOnly, mayReplace },
    properties: decodeCopyProperties(request),
    metadata: metadata.length === 0 ? undefined : metadata,
  }
}

/** SDKs before 2022 wrote it with one more dash (azure-sdk-for-net, Azure.Storage.Files.Shares 12.7). */
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

/** In one transaction; if the source is an encrypted blob, after its bytes were written as they are without. */
async function copyLocal(call: FileCall, source: LocalSource, asked: Asked): Promise<FileNode> {
  const { newId } = call.service
  const copy: CopyFile = {
    ...asked,
    source: { address: source.service === 'file' ? fileAddressAt(source.asked) : source.object },
    state: { id: randomUUID(), source: source.text },
    ids: { nodeId: newId(), mapId: newId(), smallId: newId() },
  }
  try {
    return await storeCopy(call, copy)
  } catch (error) {
    if (!(error instanceof EncryptionNeeded)) throw error
  }
  return copyUnsealed(call, source, copy)
}

function storeCopy({ request, service }: FileCall, copy: CopyFile): Promise<FileNode> {
  const address = fileAddress(request)
  return afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.write((tx) => copyFile(tx, address, copy, moment))
  })
}

/** The client waits for it, so it is no longer than what one Put Blob may bring. */
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
  return storeCopy(call, pinned).catch((error: unknown) => discard(service, body, error))
}

async function copyRemote(call: FileCall, source: RemoteSource, asked: Asked): Promise<FileNode> {
  const { request, service } = call
  // It is never stored, and when the bytes come the request is over.
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
    ...asked,
    remote,
    state: { id: randomUUID(), source: source.text },
    nodeId: service.newId(),
    mapId: service.newId(),
  }
  const address = fileAddress(request)
  const { node, place } = await afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.write((tx) => startFileCopy(tx, address, start, moment))
  })
  service.copyJobs.begin(place)
  return node
}

/** What another File service says of its file; any other server says nothing of the kind. */
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
  const [address, asked] = [fileAddress(request), { copyId: decodeCopyId(request), leaseId }]
  const place = await afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.write((tx) => abortFileCopy(tx, address, asked, moment))
  })
  service.copyJobs.cancel(place)
  return { status: 204, headers: [] }
}
