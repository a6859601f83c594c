// Get and Set Blob Tags, and Find Blobs by Tags in an account or a container.
import { decodeConditions } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { decodeTagsXml, encodeFilterBlobsXml, encodeTagsXml } from './tags-xml.ts'
import { getBlobTags, setBlobTags } from '../../../storage/blob/change.ts'
import { parseWhere } from '../../../storage/shared/tag-filter.ts'
import { decodeFindMarker, encodeFindMarker } from '../../../storage/blob/list/tag-index.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { crc64Of, md5Of } from '../../../extent/hash/hash.ts'
import { checkHashes, decodeHashes } from '../../shared/body-hashes.ts'
import { decodeMaxResults, listEchoXml } from '../../shared/list-query.ts'
import { guardWith, withTags, type RequestGuard } from '../header.ts'
import { blobAddressAt, containerAddress, blobLevel, type BlobCall } from '../service.ts'
import { findInAccount, findInContainer } from '../../../storage/blob/list/find-by-tags.ts'

/** Ten tags of maximum length need a tenth of this. */
export const TAGS_BYTES_MAX = 64 * 1024

const XML = ['Content-Type', 'application/xml']

/** Despite the documentation, a leased blob needs no lease id here (azure-sdk-for-java, setTagsLease). */
export async function runGetBlobTags({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddressAt(request), tagsGuard(request, 'read')]
  const { nowMs } = service.moment()
  const tags = await service.kv.read((tx) => getBlobTags(tx, address, guard, nowMs))
  return { status: 200, headers: XML, body: encodeTagsXml(tags) }
}

/** Sets tags of the current blob and, since 2020-08-04, of a snapshot. */
export async function runSetBlobTags({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddressAt(request), tagsGuard(request, 'write')]
  const hashes = decodeHashes(request)
  const body = await request.body.read(TAGS_BYTES_MAX)
  checkHashes(hashes, { md5: md5Of(body), crc64: crc64Of(body) })
  const tags = decodeTagsXml(body)
  const moment = service.moment()
  await service.kv.write((tx) => setBlobTags(tx, address, guard, tags, moment))
  return { status: 204, headers: [] }
}

/** These operations use x-ms-blob-if-… headers for the four conditions and refuse the plain ones. */
function tagsGuard(request: Request, use: 'read' | 'write'): RequestGuard {
  const { headers } = request
  checkNoConditions(decodeConditions(headers))
  const own = decodeConditions(headers, 'x-ms-blob-')
  return guardWith(request, withTags(own, headers['x-ms-if-tags'], 'x-ms-if-tags'), use)
}

export async function runFindBlobsByTags({ request, service }: BlobCall): Promise<Answer> {
  const scope = blobLevel(request) === 'service' ? 'account' : 'container'
  const text = request.query.get('where')
  if (text === undefined) {
    throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: 'where' })
  }
  const marker = request.query.get('marker')
  const find = {
    where: parseWhere(text, scope),
    start: marker ? decodeFindMarker(marker) : undefined,
    countMax: decodeMaxResults(request),
  }
  const { nowMs } = service.moment()
  const found = await service.kv.read((tx) =>
    scope === 'account'
      ? findInAccount(tx, request.account, find, nowMs)
      : findInContainer(tx, containerAddress(request), find, nowMs),
  )
  const { endpoint, version } = request
  const nextMarker = found.next && encodeFindMarker(found.next)
  const echo = listEchoXml(request)
  const page = { endpoint, where: text, blobs: found.items, nextMarker, version, echo }
  return { status: 200, headers: XML, body: encodeFilterBlobsXml(page) }
}
