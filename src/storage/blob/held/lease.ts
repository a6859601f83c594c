// The leases that are active on containers and blobs, and their end by an operator. It asks for no lease id and takes no
// condition: whoever runs the server may end any lease.
import { decodeKey } from '../../../kv/key.ts'
import type { Key, Kv, ReadTx, Step } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { endLease, withLease, type Lease } from '../../shared/lease.ts'
import {
  indexLease,
  leasedRange,
  listLeased,
  sweepLeased,
  type ActiveLease,
  type LeasedObject,
} from '../../shared/leased.ts'
import { findBlob, type BlobAddress } from '../blob.ts'
import {
  getContainer,
  saveContainerLease,
  type Container,
  type ContainerAddress,
} from '../container/container.ts'
import { getStaging, saveStaging, type Staging } from '../content/staging.ts'
import { nameOfBlob } from '../path/path-of.ts'
import { blobKey, stagingKey } from '../keys.ts'
import type { Blob } from '../record.ts'

type HeldOptions = { readonly countMax: number; readonly nowMs: number }

export async function listBlobLeases(
  kv: Pick<Kv, 'read'>,
  options: HeldOptions,
): Promise<readonly LeasedObject[]> {
  const containers = await listLeased(kv, leasedRange('container'), findContainer, options)
  const countMax = options.countMax - containers.length
  const blobs = await listLeased(kv, leasedRange('blob'), findLeasedBlob, { ...options, countMax })
  return [...containers, ...blobs]
}

function* findContainer(tx: ReadTx, object: Key) {
  const [, account, container] = decodeKey(object).map(String)
  if (account === undefined || container === undefined) return undefined
  const found = yield* getContainer(tx, { account, container })
  return found && { kind: 'container' as const, account, path: [container], lease: found.lease }
}

function* findLeasedBlob(tx: ReadTx, object: Key) {
  const [, containerId, blob] = decodeKey(object)
  const found = yield* nameOfBlob(tx, Number(containerId), String(blob))
  if (found === undefined) return undefined
  const { account, container, blob: name } = found
  const lease = yield* blobLeaseOf(tx, object)
  return { kind: 'blob' as const, account, path: [container, name], lease }
}

/** A blob that has only uncommitted blocks can be leased, too. */
function* blobLeaseOf(tx: ReadTx, object: Key): Step<Lease | undefined> {
  const blob = yield* tx.getFields<Blob>(object)
  if (blob !== undefined) return blob.lease
  const [, containerId, name] = decodeKey(object)
  const staging = yield* tx.getFields<Staging>(stagingKey(Number(containerId), String(name)))
  return staging?.lease
}

function* containerLeaseOf(tx: ReadTx, object: Key): Step<Lease | undefined> {
  return (yield* tx.getFields<Container>(object))?.lease
}

/** Blobs of a deleted container keep their entries, since the container may be restored. */
export async function sweepBlobLeases(kv: Kv, nowMs: number): Promise<number> {
  const count = await sweepLeased(kv, 'container', containerLeaseOf, nowMs)
  return count + (await sweepLeased(kv, 'blob', blobLeaseOf, nowMs))
}

/** Undefined if there is no active lease. */
export function* activeContainerLease(
  tx: ReadTx,
  address: ContainerAddress,
  nowMs: number,
): Step<ActiveLease | undefined> {
  const container = yield* getContainer(tx, address)
  const lease = endLease(container?.lease, nowMs)
  if (container === undefined || lease === undefined) return undefined
  return { end: (into) => void saveContainerLease(into, address, container, lease) }
}

/** Undefined if there is no active lease. */
export function* activeBlobLease(
  tx: ReadTx,
  address: BlobAddress,
  nowMs: number,
): Step<ActiveLease | undefined> {
  const container = yield* getContainer(tx, address)
  if (container === undefined) return undefined
  const { key, stored, containerId, name } = yield* findBlob(tx, address, nowMs)
  const staging = stored === undefined ? yield* getStaging(tx, containerId, name, nowMs) : undefined
  const lease = endLease(stored?.blob.lease ?? staging?.lease, nowMs)
  if (lease === undefined) return undefined
  return {
    end(into) {
      indexLease(into, key, lease)
      if (stored !== undefined) {
        into.put(key, encodeRecord(withLease(stored.blob, lease), stored.bytes))
      } else if (staging !== undefined) {
        saveStaging(into, containerId, name, withLease(staging, lease))
      }
    },
  }
}

/** For stores from before the index: whether a record of the Blob service is leased, and its key in the index. */
export const INDEXED_BLOB_KINDS: ReadonlyMap<string, (object: Key) => Key> = new Map([
  ['container', (object: Key) => object],
  ['blob', (object: Key) => object],
  ['blob-staging', keyOfStaged],
])

function keyOfStaged(object: Key): Key {
  const [, containerId, name] = decodeKey(object)
  return blobKey(Number(containerId), String(name))
}
