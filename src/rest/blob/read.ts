// The bytes of a blob on their way out: what is read of the store, on one snapshot of it, and what becomes the
// answer's body. Get Blob, Query Blob Contents and static websites.
import { decryptPieces } from '../../extent/cipher.ts'
import type { Request } from '../../http/door/operation.ts'
import { decodeRange, type ByteRange } from '../../http/protocol/range.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { readBlobBytes, type ExistingTarget } from '../../storage/blob/blob.ts'
import type { Blob } from '../../storage/blob/record.ts'
import { withAccess } from '../../storage/blob/change.ts'
import { readContent, type BlobBytes } from '../../storage/blob/content/content.ts'
import { getProtection, shownAccess } from '../../storage/blob/protection.ts'
import type { ReadBody } from '../shared/content-answer.ts'
import { cipherOf, type Cipher } from './cipher.ts'
import { blobGuard } from './header.ts'
import { blobAddressAt, type BlobCall } from './service.ts'

/** What Get Blob needs of one snapshot of the store. */
export type ReadBytes = {
  readonly target: ExistingTarget
  /** What clients see of it. */
  readonly blob: Blob
  readonly range: ByteRange | undefined
  /** Asked for by the id of a snapshot or a version. */
  readonly isById: boolean
  readonly content: BlobBytes
  readonly cipher: Cipher | undefined
  /** The first read of the day, where such are noted. */
  readonly isAccessNew: boolean
}

/** All that is read of a blob, on one snapshot of the store. */
export function readBytes({ request, service }: BlobCall): Promise<ReadBytes> {
  const { nowMs } = service.moment()
  return service.kv.read((tx) => bytesOf(tx, request, nowMs))
}

function* bytesOf(tx: ReadTx, request: Request, nowMs: number): Step<ReadBytes> {
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  const target = yield* readBlobBytes(tx, address, guard, nowMs)
  const { blob } = target.stored
  const range = decodeRange(request.headers, request.version, blob.lengthBytes)
  const part = range ?? { from: 0, to: blob.lengthBytes }
  const content = yield* readContent(tx, target.stored, part)
  const { customerKey } = guard.encryption ?? {}
  const cipher = yield* cipherOf(tx, address.account, blob.encryption, customerKey)
  const protection = yield* getProtection(tx, address.account)
  const isAccessNew = withAccess(blob, protection, nowMs) !== blob
  const shown = shownAccess(blob, protection)
  const isById = address.at !== undefined
  return { target, blob: shown, range, isById, content, cipher, isAccessNew }
}

export function bodyOf(
  { extents, recycle }: BlobCall['service'],
  { content, cipher }: Pick<ReadBytes, 'content' | 'cipher'>,
): ReadBody {
  if ('bytes' in content) return { body: content.bytes }
  const { pieces } = content
  if (cipher === undefined) return { stream: () => extents.read(pieces), recycle }
  return { stream: () => decryptPieces(extents.read(pieces), pieces, cipher.key, recycle), recycle }
}
