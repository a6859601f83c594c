// Put Block, Put Block List and Get Block List. The bytes of a block are durable before a record points at them; a
// list is small enough to be read at once.
import { crc64Of, md5Of } from '../../../extent/hash/hash.ts'
import { setImmediate } from 'node:timers/promises'
import { BLOCK_LIST_BYTES_MAX, decodeBlockListXml, encodeBlockListXml } from './block-list-xml.ts'
import { decodeConditions, optionalHeader } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import type { BlobAddress } from '../../../storage/blob/blob.ts'
import {
  BLOCK_ID_BYTES_MAX,
  blockIdBytes,
  canonicalBlockId,
} from '../../../storage/blob/content/block-id.ts'
import {
  checkPutBlock,
  getBlockList,
  putBlock,
  type BlockLists,
  type BlockListType,
  type PutBlock,
} from '../../../storage/blob/content/block.ts'
import { putAnyBlockList } from '../../../storage/blob/content/long-block-list.ts'
import type { StagedBlock } from '../../../storage/blob/content/staging.ts'
import { checkNoConditions, NO_CONDITIONS } from '../../../storage/shared/condition.ts'
import { invalidHeader, invalidQuery, StorageError } from '../../../storage/shared/error.ts'
import { validators } from '../../shared/answer-header.ts'
import { checkHashes, decodeHashes, type BodyHashes } from '../../shared/body-hashes.ts'
import { bodySource, discard, structuredHeaders, upload } from '../../shared/upload.ts'
import type { ByteSource } from '../../shared/byte-source.ts'
import { hashHeaders, wantedHashes } from '../answer-hash.ts'
import { requestEncryptionHeaders, writtenHeaders } from '../answer.ts'
import { cipherForWrite, type Cipher } from '../cipher.ts'
import {
  blobConditions,
  decodeHttpHeaders,
  decodePutBlob,
  guardWith,
  withTags,
  type RequestGuard,
} from '../header.ts'
import { checkLength, lengthBytesMax, PUT_BLOCK_LIMITS } from '../length-limit.ts'
import { blobAddress, blobAddressAt, type BlobCall } from '../service.ts'

export async function runPutBlock(call: BlobCall): Promise<Answer> {
  return stageBlock(call, bodySource(call.request), decodeHashes(call.request))
}

/** Put Block, with the bytes from the body or a URL. */
export async function stageBlock(
  call: BlobCall,
  source: ByteSource,
  hashes: BodyHashes,
): Promise<Answer> {
  const { request, service } = call
  const put = decodePutBlock(request)
  if (source.lengthBytes === 0) throw invalidHeader('Content-Length', '0')
  checkLength(PUT_BLOCK_LIMITS, request.version, source.lengthBytes)
  const [address, { nowMs }] = [blobAddress(request), service.moment()]
  const cipher = await service.kv.read((tx) => blockCipher(tx, address, put, nowMs))
  const wants = wantedHashes(request.version, hashes)
  const body = await upload(service, source, { cipher, hashes, wants, maySmall: true })
  const { id, lengthBytes, pieces } = body
  const content = { id, pieces }
  const encryption = cipher?.encryption
  const block: StagedBlock = { lengthBytes, content, ...(encryption && { encryption }) }
  const moment = service.moment()
  await service.kv
    .write((tx) => putBlock(tx, address, put, block, moment))
    .catch((error: unknown) => discard(service, body, error))
  const headers = [...requestEncryptionHeaders(encryption), ...structuredHeaders(request)]
  return { status: 201, headers: [...headers, ...hashHeaders(request.version, hashes, body)] }
}

type PutBlockRequest = PutBlock & { readonly guard: RequestGuard }

function decodePutBlock(request: Request): PutBlockRequest {
  checkNoConditions(blobConditions(request))
  return { blockId: decodeBlockId(request), guard: guardWith(request, NO_CONDITIONS) }
}

function decodeBlockId({ query }: Request): string {
  const text = query.get('blockid')
  if (text === undefined) {
    throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: 'blockid' })
  }
  // A plus sign that the client did not escape arrives as a space, which base64 doesn't have (jclouds#208).
  const blockId = canonicalBlockId(text.replaceAll(' ', '+'))
  if (blockId === undefined) throw invalidQuery('blockid', text, 'Not a valid base64 string.')
  if (blockIdBytes(blockId) > BLOCK_ID_BYTES_MAX) {
    throw invalidQuery('blockid', text, `Longer than ${BLOCK_ID_BYTES_MAX} bytes.`)
  }
  return blockId
}

/** A block is encrypted like the blob it will become part of, not like the current blob of that name. */
function* blockCipher(
  tx: ReadTx,
  address: BlobAddress,
  put: PutBlockRequest,
  nowMs: number,
): Step<Cipher | undefined> {
  const { container } = yield* checkPutBlock(tx, address, put, nowMs)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

const LONG_LIST_BYTES = 256 * 1024
const LONG_LIST_COUNT = 5_000

/** Content-MD5 and x-ms-content-crc64 are hashes of the list; the blob's own MD5 is stored as sent. */
export async function runPutBlockList(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const put = { ...decodePutBlob(call), headers: decodeHttpHeaders(request, 'own') }
  const hashes = decodeHashes(request)
  const body = await request.body.read(BLOCK_LIST_BYTES_MAX)
  const computed = { md5: md5Of(body), crc64: crc64Of(body) }
  checkHashes(hashes, computed)
  // Decoding a long list takes a while; let other requests run first.
  if (body.length > LONG_LIST_BYTES) await setImmediate()
  const entries = await decodeBlockListXml(body)
  const [address, moment] = [blobAddress(request), service.moment()]
  const list = { entries, newId: () => service.newId(), wallNowMs: Date.now() }
  const blob = await putAnyBlockList(service.kv, address, put, list, moment)
  const answeredHashes = hashHeaders(request.version, hashes, computed)
  return { status: 201, headers: [...writtenHeaders(blob), ...answeredHashes] }
}

export async function runGetBlockList({ request, service }: BlobCall): Promise<Answer> {
  const type = decodeBlockListType(request)
  checkNoConditions(decodeConditions(request.headers))
  const tags = optionalHeader(request.headers, 'x-ms-if-tags')
  const guard = guardWith(request, withTags(NO_CONDITIONS, tags, 'x-ms-if-tags'), 'read')
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  const lists = await service.kv.read((tx) => getBlockList(tx, address, guard, type, nowMs))
  checkVersionFor(lists, request.version)
  const { committed = [], uncommitted = [] } = lists
  if (committed.length + uncommitted.length > LONG_LIST_COUNT) await setImmediate()
  const { blob } = lists
  const headers = blob === undefined ? [] : validators(blob)
  headers.push('Content-Type', 'application/xml')
  // A blob that was never committed has no length.
  if (blob !== undefined) headers.push('x-ms-blob-content-length', String(blob.lengthBytes))
  return { status: 200, headers, body: await encodeBlockListXml(lists) }
}

const TYPES: readonly BlockListType[] = ['committed', 'uncommitted', 'all']

function decodeBlockListType({ query }: Request): BlockListType {
  const text = query.get('blocklisttype')
  if (!text) return 'committed'
  const type = TYPES.find((each) => each === text.toLowerCase())
  if (type === undefined) throw invalidQuery('blocklisttype', text)
  return type
}

/** An older version can't be given blocks that are longer than it allows. */
function checkVersionFor({ committed = [], uncommitted = [] }: BlockLists, version: string): void {
  const max = lengthBytesMax(PUT_BLOCK_LIMITS, version)
  const isLong = ([, lengthBytes]: readonly [string, number]) => lengthBytes > max
  if (committed.some(isLong) || uncommitted.some(isLong)) {
    throw new StorageError('FeatureVersionMismatch')
  }
}
