// Encrypts the bytes of a blob anew, for a copy whose key is not the source's: read, decrypted, encrypted
// and written in one pass, and stored by the transaction that makes the copy.
import type { Request } from '../../../http/door/operation.ts'
import type { ReadTx } from '../../../kv/kv.ts'
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

/** The client waits for it, so it is no longer than what one Put Blob may bring. */
const RESEAL_BYTES_MAX = 5_000 * 2 ** 20

type Reseal = Pick<CopyBlob, 'source'> & { put: CopyBlob['put'] & { guard: RequestGuard } }

export async function reseal(
  call: BlobCall,
  object: SourceObject,
  { put, source }: Reseal,
): Promise<{ readonly resealed: Resealed; readonly body: Upload; readonly stamp: number }> {
  const { request, service } = call
  const { nowMs } = service.moment()
  const found = await object.attempt(request, (kv) =>
    kv.read((tx) => findReseal(tx, request, { put, source }, nowMs)),
  )
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
  const asked = put.guard.encryption ?? {}
  const to = yield* cipherForWrite(tx, address.account, asked, container)
  const { account } = source.address
  const from = yield* cipherOf(tx, account, encryption, sourceKey(request))
  return { plan: yield* planReseal(tx, stored), from, to, stamp }
}
