// Put Range from URL: like Put Range, but with the bytes of a source instead of a body.
import { tooLarge } from '../../../http/protocol/body.ts'
import {
  optionalCrc64,
  optionalHeader,
  optionalWord,
  requiredHeader,
} from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { invalidHeader, StorageError } from '../../../storage/shared/error.ts'
import type { PutRange } from '../../../storage/file/bytes/put-range.ts'
import { decodeSourceHashes } from '../../shared/body-hashes.ts'
import { decodeSourceRange, openSource } from '../../shared/copy/open-source.ts'
import type { Upload } from '../../shared/upload.ts'
import { WRITTEN } from '../answer.ts'
import { decodePutRange, RANGE_BYTES_MAX, rangeHeaders, storeRange } from '../range.ts'
import { fileAddress, type FileCall } from '../service.ts'

export async function runPutRangeFromUrl(call: FileCall): Promise<Answer> {
  const { request } = call
  requiredHeader(request.headers, 'x-ms-write')
  optionalWord(request.headers, 'x-ms-write', ['update'])
  const put = decodePutRange(request)
  // Refuses an invalid destination before reading the source.
  fileAddress(request)
  const from = checkRanges(request, put)
  const hashes = decodeSourceHashes(request)
  const check = checkerOf(request)
  const wants = { tags: false, bytesMax: RANGE_BYTES_MAX, ...(from && { range: from }) }
  const source = await openSource(call, wants)
  try {
    if (source.lengthBytes !== put.range.to - put.range.from) throw wrongRange(request)
    const settings = { hashes, wants: 'crc64', check } as const
    const { node, body } = await storeRange(call, put, source, settings)
    const headers = [...rangeHeaders(node), ...WRITTEN, 'x-ms-content-crc64', body.crc64 ?? '']
    return { status: 201, headers }
  } finally {
    source.close()
  }
}

/** Both ranges have the same length; without x-ms-source-range the whole source is read. */
function checkRanges(request: Request, { range }: PutRange) {
  const lengthBytes = range.to - range.from
  if (lengthBytes > RANGE_BYTES_MAX) throw tooLarge(RANGE_BYTES_MAX)
  const from = decodeSourceRange(request)
  if (from !== undefined && from.to - from.from !== lengthBytes) throw wrongRange(request)
  return from
}

function wrongRange({ headers }: Request): StorageError {
  const text = optionalHeader(headers, 'x-ms-source-range')
  if (text !== undefined) return invalidHeader('x-ms-source-range', text)
  return invalidHeader('x-ms-range', optionalHeader(headers, 'x-ms-range') ?? '')
}

/** Checks x-ms-source-if-match-crc64 and -none-match against the bytes that were read. */
function checkerOf({ headers }: Request): (body: Upload) => void {
  const match = optionalCrc64(headers, 'x-ms-source-if-match-crc64')
  const noneMatch = optionalCrc64(headers, 'x-ms-source-if-none-match-crc64')
  return ({ crc64 }) => {
    const isMet =
      (match === undefined || match === crc64) && (noneMatch === undefined || noneMatch !== crc64)
    if (!isMet) throw new StorageError('SourceConditionNotMet')
  }
}
