// The encryption scopes that the settings name, made when a server starts. In Azure they are a matter of the
// account's management, which has no API here. A scope that is there keeps its key; none is ever removed.
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
  const wrong = names.find((name) => !isEncryptionScopeName(name))
  if (wrong !== undefined) throw usageError(`${wrong} cannot be the name of an encryption scope`)
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
