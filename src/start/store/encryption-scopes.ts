// Creates the encryption scopes of the settings when a server starts. In Azure they are part of the management API,
// which does not exist here. An existing scope keeps its key; none is ever removed.
import { randomBytes } from 'node:crypto'
import { KEY_BYTES } from '../../extent/cipher.ts'
import {
  createEncryptionScope,
  isEncryptionScopeName,
} from '../../storage/shared/encryption-scope.ts'
import { usageError } from '../start-error.ts'
import type { Store } from './store.ts'

export async function createEncryptionScopes(
  { kv, moment }: Pick<Store, 'kv' | 'moment'>,
  accounts: readonly string[],
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  const invalid = names.find((name) => !isEncryptionScopeName(name))
  if (invalid !== undefined) {
    throw usageError(
      `${invalid} is not a valid encryption scope: use 3 to 63 letters, digits and dashes`,
    )
  }
  const { nowMs } = moment()
  const scopes = accounts.flatMap((account) =>
    names.map((name) => ({ account, name, key: randomBytes(KEY_BYTES) })),
  )
  await kv.write(function* (tx) {
    for (const { account, name, key } of scopes) {
      yield* createEncryptionScope(tx, account, name, key, nowMs)
    }
  })
}
