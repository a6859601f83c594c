// Encrypts the bytes of a blob again, for a copy whose key differs from the source's: reads, decrypts, encrypts and
// writes them in one pass. The transaction that creates the copy then stores the result.
import type { Request } from '../../../http/door/operation.ts'
import { requireValue, type ReadTx } from '../../../kv/kv.ts'
import type { CopyBlob } from '../../../storage/blob/copy/copy.ts'
import { findSource } from '../../../storage/blob/copy/source.ts'
import { checkPutBlob } from '../../../storage/blob/put.ts'
import { planReseal, type Resealed } from '../../../storage/blob/copy/reseal.ts'
import type { SourceObject } from '../../shared/copy/copy-sources.ts'
import { tooLong } from '../../shared/copy/open-source.ts'
import { sourceKey } from '../../shared/copy/source.ts'
import { upload, type Upload } from '../../shared/upload.ts'
import { cipherForWrite, cipherOf } from '../cipher.ts'
import type { RequestGuard } from '../header.ts'
import { contentStream } from './local-source.ts'
import { blobAddress, type BlobCall } from '../service.ts'

/** The client waits for it, so the limit is that of one Put Blob. */
const RESEAL_BYTES_MAX = 5_000 * 2 ** 20

type Reseal = Pick<CopyBlob, 'source'> & { put: CopyBlob['put'] & { guard: RequestGuard } }

export async function reseal(
  call: BlobCall,
  object: SourceObject,
  { put, source }: Reseal,
): Promise<{ readonly resealed: Resealed; readonly body: Upload; readonly stamp: number }> {
  const { request, service } = call
  const { nowMs } = service.moment()
  const attempted = await object.attempt(request, (kv) =>
    kv.attemptRead((tx) => findReseal(tx, request, { put, source }, nowMs)),
  )
  const found = requireValue(attempted)
  const { source: bytes, ...plan } = found.plan
  if (plan.runBytes > RESEAL_BYTES_MAX) throw tooLong(RESEAL_BYTES_MAX)
  const run = {
    lengthBytes: plan.runBytes,
    stream: () => contentStream(service, bytes, found.from),
  }
  const hashes = { md5: undefined, crc64: undefined }
  const body = await upload(service, run, { cipher: found.to, hashes, wants: 'sent' })
  const resealed = { ...plan, encryption: found.to?.encryption, pieces: body.pieces }
  return { resealed, body, stamp: found.stamp }
}

function* findReseal(tx: ReadTx, request: Request, { put, source }: Reseal, nowMs: number) {
  const address = blobAddress(request)
  const { container } = yield* checkPutBlob(tx, address, put, nowMs)
  const { stored } = yield* findSource(tx, source, nowMs)
  const { encryption, stamp } = stored.blob
  const requested = put.guard.encryption ?? {}
  const to = yield* cipherForWrite(tx, address.account, requested, container)
  const { account } = source.address
  const from = yield* cipherOf(tx, account, encryption, sourceKey(request))
  return { plan: yield* planReseal(tx, stored), from, to, stamp }
}
