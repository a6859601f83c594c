// Chooses the key that encrypts the bytes of a blob: the customer's key, from the request, or the key of an encryption
// scope, from the store. Without either, bytes are stored in the clear.
import type { CustomerKey } from '../shared/customer-key.ts'
import type { Attempted, ReadTx, Step } from '../../kv/kv.ts'
import type { BlobAddress } from '../../storage/blob/blob.ts'
import { requireContainer } from '../../storage/blob/container/container.ts'
import {
  encryptionForWrite,
  type BlobEncryption,
  type ContainerEncryption,
} from '../../storage/blob/encryption.ts'
import { checkPutBlob } from '../../storage/blob/put.ts'
import { unlessEncryptionNeeded } from '../../storage/shared/encryption-needed.ts'
import { requireEncryptionScope } from '../../storage/shared/encryption-scope.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { DecodedPut, RequestKey } from './header.ts'

export type Cipher = { readonly encryption: BlobEncryption; readonly key: Buffer }

/** For a put whose body has not been read yet; refuses a put that is bound to fail. */
export function* cipherForPut(
  tx: ReadTx,
  address: BlobAddress,
  put: DecodedPut,
  nowMs: number,
): Step<Cipher | undefined> {
  const { container } = yield* checkPutBlob(tx, address, put, nowMs)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

/** For a put whose source is checked before its destination. */
export function* cipherForContainer(
  tx: ReadTx,
  address: BlobAddress,
  put: DecodedPut,
): Step<Cipher | undefined> {
  const container = yield* requireContainer(tx, address)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

/** Throws ServerBusy, so that the client retries, if the container's encryption changed while the body was read. */
export function busyIfChanged<T extends object>(attempted: Attempted<T>): T {
  const stored = unlessEncryptionNeeded(attempted)
  if (stored === undefined) throw new StorageError('ServerBusy')
  return stored
}

/** For a new blob. */
export function* cipherForWrite(
  tx: ReadTx,
  account: string,
  requested: RequestKey,
  container: ContainerEncryption,
): Step<Cipher | undefined> {
  const encryption = encryptionForWrite(requested, container)
  return yield* cipherOf(tx, account, encryption, requested.customerKey)
}

/** For an existing blob. The caller has already checked that the customer's key matches. */
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
