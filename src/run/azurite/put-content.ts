// Writes a blob with its bytes, headers, metadata and tags, as the kind of blob that it was.
import type { OwnRequest } from '../seed/own-client.ts'
import type { BlobDocument, BlockDocument, Chunk } from './document.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { canonicalBlobName } from '../../storage/shared/name.ts'
import { severalAtOnce } from '../seed/several-at-once.ts'
import { xmlEscape } from '../../http/protocol/xml.ts'
import { metadataHeaders, RefusedRequest, send, type Importing } from './world.ts'

const PAGE_WRITE_BYTES = 4 * 1024 * 1024
const BLOCKS_MAX = 50_000

export async function putContent(into: Importing, blob: BlobDocument): Promise<void> {
  if (!isName(blob.blob)) throw new RefusedRequest('in Azure, this name is that of another blob')
  if (blob.type === 'AppendBlob') await putAppendBlob(into, blob)
  else if (blob.type === 'PageBlob') await putPageBlob(into, blob)
  else if (hasBlockList(blob)) await putBlockList(into, blob)
  else await putBlockBlob(into, blob)
}

/** Requests with other names reach the blob with the canonical one. */
function isName(name: string): boolean {
  try {
    return canonicalBlobName(name) === name
  } catch (error) {
    if (error instanceof StorageError) return false
    throw error
  }
}

/** A list can name two states of one block, of which a new one would have only the last. */
function hasBlockList({ blocks }: BlobDocument): boolean {
  const places = new Map(blocks.map(({ id, chunk }) => [id, placeOf(chunk)]))
  const isOwn = blocks.every(({ id, chunk }) => id !== '' && places.get(id) === placeOf(chunk))
  const isSameLength = new Set(blocks.map(({ id }) => id.length)).size === 1
  return isOwn && isSameLength && blocks.length <= BLOCKS_MAX
}

function placeOf({ id, offset }: Chunk): string {
  return `${id} ${offset}`
}

async function putBlockBlob(into: Importing, blob: BlobDocument): Promise<void> {
  const chunks = blob.whole === undefined ? blob.blocks.map(({ chunk }) => chunk) : [blob.whole]
  await send(into, {
    ...requestOf(blob),
    headers: { ...headersOf(blob), 'x-ms-blob-type': 'BlockBlob' },
    body: into.folder.stream('blob', chunks),
  })
}

async function putBlockList(into: Importing, blob: BlobDocument): Promise<void> {
  const distinct = new Map(blob.blocks.map((block) => [block.id, block]))
  await severalAtOnce(distinct.values(), (block) => sendBlock(into, blob, block))
  const names = blob.blocks.map(({ id }) => `<Latest>${xmlEscape(id)}</Latest>`).join('')
  await send(into, {
    ...requestOf(blob),
    query: { comp: 'blocklist' },
    headers: headersOf(blob),
    body: `<BlockList>${names}</BlockList>`,
  })
}

type BlobName = Pick<BlobDocument, 'account' | 'container' | 'blob'>

export function sendBlock(
  into: Importing,
  blob: BlobName,
  { id, chunk }: BlockDocument,
): Promise<void> {
  return send(into, {
    ...requestOf(blob),
    query: { comp: 'block', blockid: id },
    body: into.folder.stream('blob', [chunk]),
  })
}

async function putAppendBlob(into: Importing, blob: BlobDocument): Promise<void> {
  const request = requestOf(blob)
  const headers = { ...headersOf(blob), 'x-ms-blob-type': 'AppendBlob' }
  await send(into, { ...request, headers })
  for (const { chunk } of blob.blocks) {
    const body = into.folder.stream('blob', [chunk])
    await send(into, { ...request, query: { comp: 'appendblock' }, body })
  }
}

async function putPageBlob(into: Importing, blob: BlobDocument): Promise<void> {
  const request = requestOf(blob)
  await send(into, {
    ...request,
    headers: {
      ...headersOf(blob),
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': String(blob.lengthBytes),
      'x-ms-blob-sequence-number': blob.sequenceNumber,
    },
  })
  for (const { start, chunk } of blob.pages) {
    for (let at = 0; at < chunk.count; at += PAGE_WRITE_BYTES) {
      const count = Math.min(PAGE_WRITE_BYTES, chunk.count - at)
      const body = into.folder.stream('blob', [{ ...chunk, offset: chunk.offset + at, count }])
      const range = `bytes=${start + at}-${start + at + count - 1}`
      const headers = { 'x-ms-range': range, 'x-ms-page-write': 'update' }
      await send(into, { ...request, query: { comp: 'page' }, headers, body })
    }
  }
}

function requestOf({ account, container, blob }: BlobName) {
  const path = [container, blob]
  return { service: 'blob', account, method: 'PUT', path } as const satisfies OwnRequest
}

function headersOf({ headers, metadata, tags }: BlobDocument) {
  const content = Object.entries(headers).map(([name, value]) => [`x-ms-blob-${name}`, value])
  const tagText = new URLSearchParams(tags).toString()
  return {
    ...Object.fromEntries(content),
    ...metadataHeaders(metadata),
    'x-ms-tags': tagText === '' ? undefined : tagText,
  }
}
