// With which key a request's bytes are encrypted: the customer's, which came with the request, or that of a
// scope, which the store has. Without either they are stored as they are.
import type { CustomerKey } from '../shared/customer-key.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import type { BlobAddress } from '../../storage/blob/blob.ts'
import { requireContainer } from '../../storage/blob/container/container.ts'
import {
  encryptionForWrite,
  type BlobEncryption,
  type ContainerEncryption,
} from '../../storage/blob/encryption.ts'
import { checkPutBlob } from '../../storage/blob/put.ts'
import { EncryptionNeeded } from '../../storage/shared/encryption-needed.ts'
import { requireEncryptionScope } from '../../storage/shared/encryption-scope.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { DecodedPut, RequestKey } from './header.ts'

export type Cipher = { readonly encryption: BlobEncryption; readonly key: Buffer }

/** For a put whose bytes are still to be read: what is bound to fail is refused before. */
export function* cipherForPut(
  tx: ReadTx,
  address: BlobAddress,
  put: DecodedPut,
  nowMs: number,
): Step<Cipher | undefined> {
  const { container } = yield* checkPutBlob(tx, address, put, nowMs)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

/** For a put whose source is looked at before its destination. */
export function* cipherForContainer(
  tx: ReadTx,
  address: BlobAddress,
  put: DecodedPut,
): Step<Cipher | undefined> {
  const container = yield* requireContainer(tx, address)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

/** Another container came to the name while the body was read, and it encrypts otherwise: the client may retry. */
export function busyIfChanged(error: unknown): unknown {
  return error instanceof EncryptionNeeded ? new StorageError('ServerBusy') : error
}

/** For a blob that is made anew. */
export function* cipherForWrite(
  tx: ReadTx,
  account: string,
  asked: RequestKey,
  container: ContainerEncryption,
): Step<Cipher | undefined> {
  const encryption = encryptionForWrite(asked, container)
  return yield* cipherOf(tx, account, encryption, asked.customerKey)
}

/** For bytes that are there, or that are added to them. Whether the key is the right one is checked before. */
export function* cipherOf(
  tx: ReadTx,
  account: string,
  encryption: BlobEncryption | undefined,
  customerKey: CustomerKey | undefined,
): Step<Cipher | undefined> {
  if (encryption === undefined) return undefined
  if ('scope' in encryption) {
    const { key } = yield* requireEncryptionScope(tx, account, encryption.scope)
    return { encryption, key: Buffer.from(key, 'base64') }
  }
  return customerKey === undefined ? undefined : { encryption, key: customerKey.key }
}
