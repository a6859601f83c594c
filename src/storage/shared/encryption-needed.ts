// The need of a transaction whose bytes are not encrypted as the destination requires: they have to be stored
// again.
import { requireValue, type Attempted } from '../../kv/kv.ts'

export const ENCRYPTION_NEEDED = { kind: 'encryption' } as const

/** The result, or undefined if the bytes have to be encrypted again. */
export function unlessEncryptionNeeded<T extends object>(attempted: Attempted<T>): T | undefined {
  const isNeeded = 'need' in attempted && attempted.need.kind === ENCRYPTION_NEEDED.kind
  return isNeeded ? undefined : requireValue(attempted)
}
