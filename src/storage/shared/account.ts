// A storage account: its name and its keys. `Accounts` knows which accounts exist.
import { createSecretKey, type KeyObject } from 'node:crypto'

export type Account = {
  readonly name: string
  /** One or two keys, ready for HMAC. Their texts are the passwords for SMB. */
  readonly keys: readonly AccountKey[]
  /** It has a hierarchical namespace: directories, access control lists and renames. Otherwise names are flat. */
  readonly isHierarchical?: true
}

export type AccountKey = { readonly text: string; readonly secret: KeyObject }

/** Each request looks up its account, so that changes take effect without a restart. */
export interface Accounts {
  get(name: string): Account | undefined
  names(): readonly string[]
}

export function accountKey(text: string): AccountKey {
  return { text, secret: createSecretKey(accountKeyBytes(text)) }
}

/**
 * The bytes that requests are signed with. Like Azurite and the SDK for JavaScript, this decodes with
 * `Buffer.from`, which skips characters that aren't base64, so a key such as `testing_key` gives the same
 * bytes.
 */
export function accountKeyBytes(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
