// Reads a blob from one snapshot of the store and makes the answer's body from it, for Get Blob, Query Blob Contents
// and static websites.
import { decryptPieces } from '../../extent/cipher.ts'
import { readShort } from '../../extent/content/small.ts'
import type { Request } from '../../http/door/operation.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { decodeRange } from '../../http/protocol/range.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { readBlobBytes, type ExistingTarget } from '../../storage/blob/blob.ts'
import type { Blob, StoredBlob } from '../../storage/blob/record.ts'
import { withAccess } from '../../storage/blob/change.ts'
import { readContent, type BlobBytes } from '../../storage/blob/content/content.ts'
import { getProtection, visibleAccess } from '../../storage/blob/protection.ts'
import type { CustomerKey } from '../shared/customer-key.ts'
import type { ReadBody } from '../shared/content-answer.ts'
import { cipherOf, type Cipher } from './cipher.ts'
import { blobGuard } from './header.ts'
import { blobAddressAt, type BlobCall } from './service.ts'

/** What is sent of a blob. */
type Sent = {
  readonly content: BlobBytes
  /** To decrypt it with. */
  readonly cipher: Cipher | undefined
}

/** What Get Blob reads from one snapshot of the store. */
type ReadBytes = Sent & {
  readonly target: ExistingTarget
  /** The blob as clients see it. */
  readonly blob: Blob
  readonly range: ByteRange | undefined
  /** Addressed by the id of a snapshot or a version. */
  readonly isById: boolean
  /** The first read of the day, if last access times are tracked. */
  readonly isAccessNew: boolean
}

export function readBytes({ request, service }: BlobCall): Promise<ReadBytes> {
  const { nowMs } = service.moment()
  return service.kv.read((tx) => bytesOf(tx, request, nowMs))
}

function* bytesOf(tx: ReadTx, request: Request, nowMs: number): Step<ReadBytes> {
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  // Before the blob, which may not be there: then one round trip to the store is enough.
  const protection = yield* getProtection(tx, address.account)
  const target = yield* readBlobBytes(tx, address, guard, nowMs)
  const { blob } = target.stored
  const range = decodeRange(request.headers, request.version, blob.lengthBytes)
  const part = range ?? { from: 0, to: blob.lengthBytes }
  const key = { account: address.account, customerKey: guard.encryption?.customerKey }
  const sent = yield* readSent(tx, target.stored, part, key)
  const isAccessNew = withAccess(blob, protection, nowMs) !== blob
  const visible = visibleAccess(blob, protection)
  const isById = address.at !== undefined
  return { target, blob: visible, range, isById, ...sent, isAccessNew }
}

/** A short range that is not encrypted is read here, a long one by the body of the answer. */
export function* readSent(
  tx: ReadTx,
  stored: StoredBlob,
  range: ByteRange,
  {
    account,
    customerKey,
  }: { readonly account: string; readonly customerKey?: CustomerKey | undefined },
): Step<Sent> {
  const content = yield* readContent(tx, stored, range)
  const cipher = yield* cipherOf(tx, account, stored.blob.encryption, customerKey)
  if ('bytes' in content || cipher !== undefined) return { content, cipher }
  const bytes = yield* readShort(tx, content.pieces, range.to - range.from)
  return { content: bytes === undefined ? content : { bytes }, cipher }
}

export function bodyOf(
  { extents, recycle }: BlobCall['service'],
  { content, cipher }: Sent,
): ReadBody {
  if ('bytes' in content) return { body: content.bytes }
  const { pieces } = content
  if (cipher === undefined) return { stream: () => extents.read(pieces), recycle }
  return { stream: () => decryptPieces(extents.read(pieces), pieces, cipher.key, recycle), recycle }
}
