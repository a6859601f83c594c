// Encryption scopes: named keys of an account, with which the service itself encrypts what is written in
// their name. Clients never see the key; like an account's own in Azure, it is kept beside what it
// encrypts, so a scope keeps tenants apart and does not protect from who holds the store.
import assert from 'node:assert/strict'
import { KEY_BYTES } from '../../extent/cipher.ts'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { getFields } from '../../kv/fields.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { StorageError } from './error.ts'

/** The scope that is none: the account's own encryption. */
export const ACCOUNT_ENCRYPTION_KEY = '$account-encryption-key'

export type EncryptionScope = {
  /** Base64 of 32 bytes, the same for ever: what was written under another could not be read. */
  readonly key: string
  readonly createdMs: number
  readonly isDisabled?: true
}

/** A scope as it is listed: without its key. */
export type EncryptionScopeItem = {
  readonly name: string
  readonly createdMs: number
  readonly isDisabled: boolean
}

const NAME_LENGTH_MIN = 3
const NAME_LENGTH_MAX = 63
/** Every dash stands between letters or digits (Microsoft.Storage, EncryptionScopes - Put). */
const NAME = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/

export function isEncryptionScopeName(name: string): boolean {
  return name.length >= NAME_LENGTH_MIN && name.length <= NAME_LENGTH_MAX && NAME.test(name)
}

/** → EncryptionScope */
function encryptionScopeKey(account: string, name: string): Key {
  return encodeKey('encryption-scope', account, name)
}

/** A name that no scope can have, of any length, is that of none. */
export function* getEncryptionScope(
  tx: ReadTx,
  account: string,
  name: string,
): Step<EncryptionScope | undefined> {
  if (!isEncryptionScopeName(name)) return undefined
  return yield* getFields<EncryptionScope>(tx, encryptionScopeKey(account, name))
}

/** The scope to read or write with. One that is disabled forbids both (403). */
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

/** `key` is 32 random bytes. A scope that is there stays as it is, and so does its key. */
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

/** A scope can't be deleted, only disabled, and enabled again. */
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

/** In the order of their names. */
export function* listEncryptionScopes(
  tx: ReadTx,
  account: string,
  countMax: number,
): Step<readonly EncryptionScopeItem[]> {
  const range = prefixRange(encodeKey('encryption-scope', account))
  const entries = yield* tx.scan({ ...range, countMax })
  return entries.map(({ key, value }) => {
    const { createdMs, isDisabled = false } = decodeRecord<EncryptionScope>(value)
    return { name: String(decodeKey(key)[2]), createdMs, isDisabled }
  })
}
