// Encryption scopes: named keys of an account, which the service uses to encrypt blobs. Clients never see the
// key. It is stored with the data, so a scope separates tenants but doesn't protect against someone who has the
// store.
import assert from 'node:assert/strict'
import { KEY_BYTES } from '../../extent/cipher.ts'
import { encodeKey } from '../../kv/key.ts'
import type { Key, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { StorageError } from './error.ts'

/** The name that stands for the account's own encryption, without a scope. */
export const ACCOUNT_ENCRYPTION_KEY = '$account-encryption-key'

export type EncryptionScope = {
  /** Base64 of 32 bytes. It never changes: the data of another key could not be read. */
  readonly key: string
  readonly createdMs: number
  readonly isDisabled?: true
}

const NAME_LENGTH_MIN = 3
const NAME_LENGTH_MAX = 63
/** Every dash is between letters or digits (Microsoft.Storage, EncryptionScopes - Put). */
const NAME = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/

export function isEncryptionScopeName(name: string): boolean {
  return name.length >= NAME_LENGTH_MIN && name.length <= NAME_LENGTH_MAX && NAME.test(name)
}

/** → EncryptionScope */
function encryptionScopeKey(account: string, name: string): Key {
  return encodeKey('encryption-scope', account, name)
}

/** Undefined for invalid names, too. */
export function* getEncryptionScope(
  tx: ReadTx,
  account: string,
  name: string,
): Step<EncryptionScope | undefined> {
  if (!isEncryptionScopeName(name)) return undefined
  return yield* tx.getFields<EncryptionScope>(encryptionScopeKey(account, name))
}

/** The scope to read or write with. A disabled scope allows neither (403). */
export function* requireEncryptionScope(
  tx: ReadTx,
  account: string,
  name: string,
): Step<EncryptionScope> {
  const scope = yield* getEncryptionScope(tx, account, name)
  if (scope === undefined) throw new StorageError('EncryptionScopeNotFound')
  if (scope.isDisabled === true) throw new StorageError('AuthorizationFailure')
  return scope
}

/** `key` is 32 random bytes. An existing scope and its key stay as they are. */
export function* createEncryptionScope(
  tx: Tx,
  account: string,
  name: string,
  key: Uint8Array,
  nowMs: number,
): Step<EncryptionScope> {
  assert(key.length === KEY_BYTES, `a key of ${key.length} bytes`)
  if (!isEncryptionScopeName(name)) throw new StorageError('InvalidResourceName')
  const existing = yield* getEncryptionScope(tx, account, name)
  if (existing !== undefined) return existing
  const scope = { key: Buffer.from(key).toString('base64'), createdMs: nowMs }
  tx.put(encryptionScopeKey(account, name), encodeRecord(scope))
  return scope
}

/** A scope can't be deleted, only disabled and enabled again. */
export function* setEncryptionScopeDisabled(
  tx: Tx,
  account: string,
  name: string,
  isDisabled: boolean,
): Step<EncryptionScope> {
  const current = yield* getEncryptionScope(tx, account, name)
  if (current === undefined) throw new StorageError('EncryptionScopeNotFound')
  const { isDisabled: _was, ...enabled } = current
  const scope: EncryptionScope = isDisabled ? { ...enabled, isDisabled } : enabled
  tx.put(encryptionScopeKey(account, name), encodeRecord(scope))
  return scope
}
