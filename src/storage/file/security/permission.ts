// A share's permission store: security descriptors, each once, under a key that files and directories have in
// place of it. The key follows from the descriptor, so storing one again changes nothing.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord, recordBytes } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { permissionKey } from '../keys.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
  permissionKeyOf,
} from './security-descriptor.ts'

/** Answers with the permission's key. */
export function* storePermission(
  tx: Tx,
  shareId: number,
  descriptorBytes: Uint8Array,
): Step<string> {
  const key = permissionKeyOf(descriptorBytes)
  const place = permissionKey(shareId, key)
  if ((yield* tx.get(place)) !== undefined) return key
  const canonical = encodeSecurityDescriptor(decodeSecurityDescriptor(descriptorBytes))
  tx.put(place, encodeRecord({}, canonical))
  return key
}

/** The descriptor's bytes. */
export function* requirePermission(tx: ReadTx, shareId: number, key: string): Step<Uint8Array> {
  if (key.length > KEY_LENGTH_MAX) throw new StorageError('FileInvalidPermissionKey')
  const value = yield* tx.get(permissionKey(shareId, key))
  if (value === undefined) throw new StorageError('FileInvalidPermissionKey')
  return Uint8Array.from(recordBytes(value))
}

/** Two numbers of 64 bits and what is between them; nothing longer is one of ours. */
const KEY_LENGTH_MAX = 64
