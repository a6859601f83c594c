// Create and Delete File. A new file has a length and zeros; since 2026-06-06 the request may carry its first bytes.
import { hasPermission } from '../../auth/authorize.ts'
import { tooLarge } from '../../http/protocol/body.ts'
import {
  decodeMetadata,
  optionalWord,
  requiredHeader,
  requiredInt,
} from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import type { NewFile } from '../../storage/file/tree/create.ts'
import { FILE_BYTES_MAX } from '../../storage/file/bytes/range.ts'
import { locateForReplace } from '../../storage/file/open/rest-guard.ts'
import { createdModifiedMs, withArchive } from '../../storage/file/tree/smb-properties.ts'
import { validators } from '../shared/answer-header.ts'
import { decodeHashes } from '../shared/body-hashes.ts'
import { bodySource, discard, structuredHeaders, upload, type Upload } from '../shared/upload.ts'
import { smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { decodeContentHeaders, fileGuard } from './file-header.ts'
import { RANGE_BYTES_MAX } from './range.ts'
import { fileAddress, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'
import { type Creation, storeFile, removeFile } from '../../storage/file/tree/rest-change.ts'

export async function runCreateFile(call: FileCall): Promise<Answer> {
  const { request, service, identity } = call
  const address = fileAddress(request)
  const guard = { ...fileGuard(request, 'Create File'), mayReplace: hasPermission(identity, 'w') }
  const decoded = { address, guard, file: decodeNewFile(call) }
  const bytes = await uploadFirst(call, decoded)
  const moment = service.moment()
  const content = bytes && { mapId: service.newId(), pieces: bytes.pieces }
  const creation = { ...decoded, file: { ...decoded.file, ...(content && { content }) } }
  const written = afterBreaks(service, request, () =>
    service.kv.attempt((tx) => storeFile(tx, creation, moment)),
  )
  const node = await (bytes === undefined
    ? written
    : written.catch((error: unknown) => discard(service, bytes, error)))
  const headers = [...validators(node), ...WRITTEN, ...smbHeaders(node)]
  if (bytes?.md5 !== undefined) headers.push('Content-MD5', bytes.md5)
  return { status: 201, headers: [...headers, ...structuredHeaders(request)] }
}

function decodeNewFile({ request, service }: FileCall): NewFile {
  const { headers } = request
  const type = requiredHeader(headers, 'x-ms-type')
  if (type.toLowerCase() !== 'file') throw invalidHeader('x-ms-type', type)
  refuseOtherTypes(request)
  const lengthBytes = decodeFileLength(request)
  const properties = decodeSmbProperties(request, 'create')
  const semantics = optionalWord(headers, 'x-ms-file-property-semantics', ['New', 'Restore'])
  const contentHeaders = decodeContentHeaders(headers)
  return {
    nodeId: service.newId(),
    properties: semantics === 'Restore' ? properties : withArchive(properties),
    metadata: decodeMetadata(request.rawHeaders),
    ...createdModifiedMs(properties),
    lengthBytes,
    ...(contentHeaders !== undefined && { headers: contentHeaders }),
  }
}

/** Refuses devices, pipes and sockets of NFS, which have no content to store. */
function refuseOtherTypes({ headers }: Request): void {
  optionalWord(headers, 'x-ms-file-file-type', ['Regular'])
}

function decodeFileLength({ headers }: Request): number {
  return requiredInt(headers, 'x-ms-content-length', { min: 0, max: FILE_BYTES_MAX })
}

/** Returns undefined if there are none. Bytes first, record second; discarded if the file is not created. */
async function uploadFirst(
  { request, service }: FileCall,
  { address, guard, file }: Creation,
): Promise<Upload | undefined> {
  const source = bodySource(request)
  if (source.lengthBytes === 0) return undefined
  if (source.lengthBytes > RANGE_BYTES_MAX) throw tooLarge(RANGE_BYTES_MAX)
  const isAllowed =
    isAtLeast(request.version, '2026-02-06') && source.lengthBytes <= file.lengthBytes
  if (!isAllowed) throw invalidHeader('Content-Length', String(source.lengthBytes))
  const hashes = decodeHashes(request)
  const { nowMs } = service.moment()
  await afterBreaks(service, request, () =>
    service.kv.attemptRead((tx) => locateForReplace(tx, address, guard, nowMs)),
  )
  return upload(service, source, { cipher: undefined, hashes, wants: 'md5', maySmall: true })
}

export async function runDeleteFile({ request, service }: FileCall): Promise<Answer> {
  const [address, guard] = [fileAddress(request), fileGuard(request, 'Delete File')]
  const moment = service.moment()
  const { isLinked, linkCount } = await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => removeFile(tx, address, guard, moment)),
  )
  return { status: 202, headers: isLinked ? ['x-ms-link-count', String(linkCount)] : [] }
}
