// A storage account: its name and its two keys. Requests name an account; `Accounts` says which exist.
import { createSecretKey, type KeyObject } from 'node:crypto'

export type Account = {
  readonly name: string
  /** One or two keys, ready for HMAC; the text of each is the password for SMB. */
  readonly keys: readonly AccountKey[]
}

export type AccountKey = { readonly text: string; readonly secret: KeyObject }

/** Looked up for each request, so that a changed list takes effect without a restart. */
export interface Accounts {
  get(name: string): Account | undefined
  names(): readonly string[]
}

export function accountKey(text: string): AccountKey {
  return { text, secret: createSecretKey(accountKeyBytes(text)) }
}

/**
 * The bytes that requests are signed with. Azurite and the SDK for JavaScript decode a key with `Buffer.from`,
 * which skips what is not base64, so a key such as `testing_key` signs with the same bytes here.
 */
export function accountKeyBytes(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
