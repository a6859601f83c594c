// Every key of the Blob service. Names are keys, objects are ids: a container's blobs are found by its id,
// so deleting it is one record and a new one of the same name starts empty.
import { encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import type { Key } from '../../kv/kv.ts'

/** → Container */
export function containerKey(account: string, name: string): Key {
  return encodeKey('container', account, name)
}

export function containerKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['container', account], namePrefix)
}

/** → Blob, and behind it the bytes of a small one */
export function blobKey(containerId: number, name: string): Key {
  return encodeKey('blob', containerId, name)
}

export function blobKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob', containerId], namePrefix)
}

/** → {}: a container that was deleted and whose blobs are still to be swept */
export function deletedContainerKey(containerId: number): Key {
  return encodeKey('deleted-container', containerId)
}
