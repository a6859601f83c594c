// A share's permission store: each security descriptor is stored once, and files and directories refer to it by key. The
// key is derived from the descriptor, so storing it again changes nothing.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord, recordBytes } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { permissionKey } from '../keys.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
  permissionKeyOf,
} from './security-descriptor.ts'

/** Returns the permission's key. */
export function* storePermission(
  tx: Tx,
  shareId: number,
  descriptorBytes: Uint8Array,
): Step<string> {
  const key = permissionKeyOf(descriptorBytes)
  const recordKey = permissionKey(shareId, key)
  if ((yield* tx.get(recordKey)) !== undefined) return key
  const canonical = encodeSecurityDescriptor(decodeSecurityDescriptor(descriptorBytes))
  tx.put(recordKey, encodeRecord({}, canonical))
  return key
}

/** The descriptor's bytes. */
export function* requirePermission(tx: ReadTx, shareId: number, key: string): Step<Uint8Array> {
  if (key.length > KEY_LENGTH_MAX) throw new StorageError('FileInvalidPermissionKey')
  const value = yield* tx.get(permissionKey(shareId, key))
  if (value === undefined) throw new StorageError('FileInvalidPermissionKey')
  return Uint8Array.from(recordBytes(value))
}

/** More than two 64-bit numbers and a separator; no key is longer. */
const KEY_LENGTH_MAX = 64
