// With which key a request's bytes are encrypted: the customer's, which came with the request, or that of a
// scope, which the store has. Without either they are stored as they are.
import type { CustomerKey } from '../../http/customer-key.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import {
  encryptionForWrite,
  type BlobEncryption,
  type ContainerEncryption,
} from '../../storage/blob/encryption.ts'
import { requireEncryptionScope } from '../../storage/encryption-scope.ts'
import type { RequestKey } from './header.ts'

export type Cipher = { readonly encryption: BlobEncryption; readonly key: Buffer }

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
