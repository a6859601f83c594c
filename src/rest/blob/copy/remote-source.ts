// A copy source on another server, with the properties of a blob: its type and its tags.
import type { FetchedSource } from '../../../http/client/fetch-source.ts'
import { optionalHeader } from '../../../http/protocol/header.ts'
import type { BlobType } from '../../../storage/blob/record.ts'
import type { TypeProperties } from '../../../storage/blob/copy/copy.ts'
import { PAGE_BYTES } from '../../../storage/blob/content/page-range.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { NO_TAGS, type Tags } from '../../../storage/shared/tags.ts'
import type { FetchWants, RemoteSource, SourceWants } from '../../shared/copy/copy-sources.ts'
import { fetchRemote, openRemote, type OpenRemote } from '../../shared/copy/remote-source.ts'
import type { SourceCall } from '../../shared/copy/source.ts'
import { collect } from '../../shared/upload.ts'
import { TAGS_BYTES_MAX } from '../list/tags.ts'
import { decodeTagsXml } from '../list/tags-xml.ts'
import type { OpenBlob } from './local-source.ts'

export async function openRemoteBlob(
  call: SourceCall,
  source: RemoteSource,
  wants: Pick<SourceWants, 'range' | 'tags'> & FetchWants,
): Promise<OpenBlob> {
  const opened = await openRemote(call, source, wants)
  const { isFetched = false } = wants
  try {
    const properties = remoteProperties(opened)
    const tags = wants.tags
      ? await remoteTags(await fetchRemote(call, tagsUrl(source.url), { isFetched }))
      : NO_TAGS
    return { ...opened, properties, tags }
  } catch (error) {
    opened.close()
    throw error
  }
}

const TYPES: readonly BlobType[] = ['BlockBlob', 'PageBlob', 'AppendBlob']

/** Another storage service names the blob's type; from any other server the source is a block blob. */
function remoteProperties({ answerHeaders: headers, lengthBytes }: OpenRemote): TypeProperties {
  const named = optionalHeader(headers, 'x-ms-blob-type')
  const type = TYPES.find((each) => each === named) ?? 'BlockBlob'
  if (type === 'PageBlob') {
    if (lengthBytes % PAGE_BYTES !== 0) return { type: 'BlockBlob' }
    const sequenceNumber = optionalHeader(headers, 'x-ms-blob-sequence-number') ?? ''
    return { type, sequenceNumber: /^\d{1,18}$/.test(sequenceNumber) ? sequenceNumber : '0' }
  }
  if (type === 'BlockBlob') return { type }
  const blockCount = Number(optionalHeader(headers, 'x-ms-blob-committed-block-count'))
  const isSealed = optionalHeader(headers, 'x-ms-blob-sealed') === 'true'
  return {
    type,
    blockCount: Number.isSafeInteger(blockCount) ? blockCount : 1,
    ...(isSealed && { isSealed }),
  }
}

function tagsUrl(url: URL): URL {
  const tags = new URL(url)
  tags.search = `${url.search === '' ? '?' : `${url.search}&`}comp=tags`
  return tags
}

async function remoteTags(fetched: FetchedSource): Promise<Tags> {
  try {
    if (fetched.lengthBytes > TAGS_BYTES_MAX) throw new StorageError('TagsTooLarge')
    return decodeTagsXml(await collect(fetched.stream()))
  } catch (error) {
    if (!(error instanceof StorageError) || error.code === 'CannotVerifyCopySource') throw error
    const message = `Could not verify the copy source: its tags are invalid (${error.code}).`
    throw new StorageError('CannotVerifyCopySource', {}, message, 409)
  } finally {
    fetched.close()
  }
}
