// Put Block, Put Page and Append Block From URL: like their namesakes, but with the bytes of a source instead of a
// body. The hashes that the client sends are those of the source's bytes.
import { optionalMd5, optionalWord, requiredHeader } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { invalidHeader, missingHeader } from '../../../storage/shared/error.ts'
import { decodeSourceHashes, type BodyHashes } from '../../shared/body-hashes.ts'
import { decodeSourceRange, openSource } from '../../shared/copy/open-source.ts'
import type { OpenSource, SourceWants } from '../../shared/copy/copy-sources.ts'
import { appendFrom } from './append.ts'
import { stageBlock } from './block.ts'
import {
  APPEND_BLOCK_LIMITS,
  checkLength,
  lengthBytesMax,
  PUT_BLOCK_LIMITS,
  PUT_PAGE_LIMITS,
} from '../length-limit.ts'
import { decodePageRange, putPages } from './page.ts'
import { blobAddress, type BlobCall } from '../service.ts'

export async function runPutBlockFromUrl(call: BlobCall): Promise<Answer> {
  const { request } = call
  const hashes = decodeSourceHashes(request)
  const bytesMax = lengthBytesMax(PUT_BLOCK_LIMITS, request.version)
  return withSource(call, { bytesMax }, (source) => stageBlock(call, source, hashes))
}

export async function runAppendBlockFromUrl(call: BlobCall): Promise<Answer> {
  const { request } = call
  const hashes = appendHashes(request)
  const bytesMax = lengthBytesMax(APPEND_BLOCK_LIMITS, request.version)
  return withSource(call, { bytesMax }, (source) => appendFrom(call, source, hashes))
}

/** Content-MD5 can only mean the bytes of the source, since there is no body. */
function appendHashes(request: Request): BodyHashes {
  const hashes = decodeSourceHashes(request)
  return { ...hashes, md5: hashes.md5 ?? optionalMd5(request.headers, 'content-md5') }
}

/** Both ranges are required and have the same length; only the destination's has to align with pages. */
export async function runPutPageFromUrl(call: BlobCall): Promise<Answer> {
  const { request } = call
  requiredHeader(request.headers, 'x-ms-page-write')
  optionalWord(request.headers, 'x-ms-page-write', ['update'])
  const [range, from] = [decodePageRange(request), decodeSourceRange(request)]
  if (from === undefined) throw missingHeader('x-ms-source-range')
  const lengthBytes = range.to - range.from
  checkLength(PUT_PAGE_LIMITS, request.version, lengthBytes)
  if (from.to - from.from !== lengthBytes) {
    throw invalidHeader('x-ms-source-range', requiredHeader(request.headers, 'x-ms-source-range'))
  }
  const hashes = decodeSourceHashes(request)
  const bytesMax = lengthBytesMax(PUT_PAGE_LIMITS, request.version)
  return withSource(call, { bytesMax }, (source) => putPages(call, source, hashes, range))
}

async function withSource(
  call: BlobCall,
  { bytesMax }: Pick<SourceWants, 'bytesMax'>,
  write: (source: OpenSource) => Promise<Answer>,
): Promise<Answer> {
  // Refuses an invalid destination before reading the source.
  blobAddress(call.request)
  const range = decodeSourceRange(call.request)
  const source = await openSource(call, { tags: false, bytesMax, ...(range && { range }) })
  try {
    return await write(source)
  } finally {
    source.close()
  }
}
