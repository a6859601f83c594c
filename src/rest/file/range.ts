// Put Range and Clear Range: bytes first, record second. SMB clients flush their caches of the file before.
import { SMALL_BYTES_MAX } from '../../extent/content/small.ts'
import { tooLarge } from '../../http/protocol/body.ts'
import {
  optionalGuid,
  optionalHeader,
  optionalWord,
  requiredHeader,
} from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { decodeWriteRange } from '../../http/protocol/range.ts'
import { invalidHeader, StorageError } from '../../storage/shared/error.ts'
import { fileTimeText } from '../../storage/file/tree/file-time.ts'
import type { FileNode } from '../../storage/file/tree/node.ts'
import {
  checkPutRange,
  putClearedRange,
  putRange,
  type PutRange,
} from '../../storage/file/bytes/put-range.ts'
import { validators } from '../shared/answer-header.ts'
import { decodeHashes, type BodyHashes } from '../shared/body-hashes.ts'
import { bodySource, discard, structuredHeaders, upload, type Upload } from '../shared/upload.ts'
import type { ByteSource } from '../shared/byte-source.ts'
import { WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddress, type FileCall } from './service.ts'

/** The most bytes that Put Range or Create File accepts. */
export const RANGE_BYTES_MAX = 4 * 1024 * 1024

/** Put Range with `update`; `clear` has a row of its own. */
export async function runPutRange(call: FileCall): Promise<Answer> {
  const { request } = call
  requiredHeader(request.headers, 'x-ms-write')
  optionalWord(request.headers, 'x-ms-write', ['update'])
  const put = decodePutRange(request)
  const source = bodySource(request)
  if (source.lengthBytes !== put.range.to - put.range.from) {
    throw invalidHeader('Content-Length', String(source.lengthBytes))
  }
  const hashes = decodeHashes(request)
  const { node, body } = await storeRange(call, put, source, { hashes, wants: 'md5' })
  const headers = [...rangeHeaders(node), ...WRITTEN, 'Content-MD5', body.md5 ?? '']
  if (hashes.crc64 !== undefined) headers.push('x-ms-content-crc64', hashes.crc64)
  return { status: 201, headers: [...headers, ...structuredHeaders(request)] }
}

/** The range is required. */
export function decodePutRange(request: Request): PutRange {
  const { headers } = request
  refuseConditions(request)
  const range = decodeWriteRange(headers)
  const leaseId = optionalGuid(headers, 'x-ms-lease-id')
  const word = optionalWord(headers, 'x-ms-file-last-write-time', ['now', 'preserve'])
  return { range, leaseId, lastWrite: word ?? 'now' }
}

type StoredRange = { readonly node: FileNode; readonly body: Upload }

type RangeHashes = {
  readonly hashes: BodyHashes
  readonly wants: 'md5' | 'crc64'
  /** A further check of the bytes before a record points at them; it throws. */
  check?(body: Upload): void
}

/** Writes bytes from the body or a URL. */
export async function storeRange(
  { request, service }: FileCall,
  put: PutRange,
  source: ByteSource,
  { hashes, wants, check }: RangeHashes,
): Promise<StoredRange> {
  if (source.lengthBytes > RANGE_BYTES_MAX) throw tooLarge(RANGE_BYTES_MAX)
  const address = fileAddress(request)
  // A request that is bound to fail is refused before a long body is read.
  if (source.lengthBytes > SMALL_BYTES_MAX) {
    await afterBreaks(service, request, () => {
      const { nowMs } = service.moment()
      return service.kv.attemptRead((tx) => checkPutRange(tx, address, put, nowMs))
    })
  }
  const body = await upload(service, source, { cipher: undefined, hashes, wants, maySmall: true })
  try {
    check?.(body)
    const whole = { ...put, pieces: body.pieces }
    const node = await afterBreaks(service, request, () => {
      const by = { moment: service.moment(), newId: service.newId() }
      return service.kv.attempt((tx) => putRange(tx, address, whole, by))
    })
    return { node, body }
  } catch (error) {
    return discard(service, body, error)
  }
}

/** x-ms-file-last-write-time is the file's current one, whether or not the write changed it. */
export function rangeHeaders(node: FileNode): string[] {
  const lastWrite = ['x-ms-file-last-write-time', fileTimeText(node.lastWriteTime)]
  return [...validators(node), ...lastWrite]
}

export async function runClearRange({ request, service }: FileCall): Promise<Answer> {
  const put = decodePutRange(request)
  for (const HeaderName of ['content-md5', 'x-ms-content-crc64']) {
    if (optionalHeader(request.headers, HeaderName) === undefined) continue
    throw new StorageError('UnsupportedHeader', { HeaderName })
  }
  const address = fileAddress(request)
  const node = await afterBreaks(service, request, () => {
    const { newId, moment } = service
    const by = { moment: moment(), newId: newId(), zerosId: newId() }
    return service.kv.attempt((tx) => putClearedRange(tx, address, put, by))
  })
  return { status: 201, headers: rangeHeaders(node) }
}
