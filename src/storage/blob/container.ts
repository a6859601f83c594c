// Containers: a record each, found by account and name. Conditions are time conditions only; blob
// operations never change a container's ETag.
import { keyAfterPrefix, type ReadTx, type Step, type Tx, type Value } from '../../kv/kv.ts'
import { decodeKey } from '../../kv/key.ts'
import { decodeRecordOnce, encodeRecord } from '../../kv/record.ts'
import type { SignedIdentifier } from '../access-policy.ts'
import { checkContainerConditions, type Conditions } from '../condition.ts'
import { StorageError } from '../error.ts'
import { etagOf } from '../etag.ts'
import type { Metadata } from '../metadata.ts'
import { nextStamp, type Moment } from '../moment.ts'
import { containerKey, containerKeyPrefix, deletedContainerKey } from './keys.ts'

export type ContainerAddress = { readonly account: string; readonly container: string }

export type PublicAccess = 'container' | 'blob'

export type Container = {
  readonly id: number
  readonly stamp: number
  readonly modifiedMs: number
  readonly metadata: Metadata
  readonly publicAccess?: PublicAccess
  readonly policies: readonly SignedIdentifier[]
}

/** What guards an operation on a container: conditions, and a lease id that must be the right one. */
export type ContainerGuard = { readonly conditions: Conditions; readonly leaseId?: string }

/** The containers that exist without being created (blob.md 1). */
const IMPLICIT = new Set(['$logs', '$blobchangefeed'])

export function* getContainer(tx: ReadTx, address: ContainerAddress): Step<Container | undefined> {
  const value = yield* tx.get(containerKey(address.account, address.container))
  return value === undefined ? undefined : decodeContainer(value)
}

export function* requireContainer(tx: ReadTx, address: ContainerAddress): Step<Container> {
  const container = yield* getContainer(tx, address)
  if (container === undefined) throw new StorageError('ContainerNotFound')
  return container
}

/** Reads of a container take a lease id as a condition, but need none. */
export function* readContainer(
  tx: ReadTx,
  address: ContainerAddress,
  leaseId: string | undefined,
): Step<Container> {
  const container = yield* requireContainer(tx, address)
  checkLeaseId(leaseId)
  return container
}

export function* createContainer(
  tx: Tx,
  address: ContainerAddress,
  created: Pick<Container, 'id' | 'metadata' | 'publicAccess'>,
  moment: Moment,
): Step<Container> {
  if (IMPLICIT.has(address.container)) throw new StorageError('InvalidResourceName')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
  const stamp = nextStamp(undefined, moment)
  const container = { ...created, stamp, modifiedMs: moment.nowMs, policies: [] }
  saveContainer(tx, address, container)
  return container
}

export function* deleteContainer(
  tx: Tx,
  address: ContainerAddress,
  guard: ContainerGuard,
): Step<void> {
  const container = yield* requireContainer(tx, address)
  checkGuard(guard, container, { ifUnmodifiedSince: true })
  tx.delete(containerKey(address.account, address.container))
  tx.put(deletedContainerKey(container.id), encodeRecord({}))
}

/** Set Container Metadata and Set Container ACL: the named parts are replaced whole. */
export function* changeContainer(
  tx: Tx,
  address: ContainerAddress,
  change: Change,
  moment: Moment,
): Step<Container> {
  const current = yield* requireContainer(tx, address)
  // Set Container Metadata knows If-Modified-Since only (blob.md 3.1).
  checkGuard(change.guard, current, { ifUnmodifiedSince: 'policies' in change.set })
  const stamp = nextStamp(current.stamp, moment)
  const modifiedMs = Math.max(current.modifiedMs, moment.nowMs)
  const { publicAccess, ...rest } = { ...current, ...change.set, stamp, modifiedMs }
  const container = publicAccess === undefined ? rest : { ...rest, publicAccess }
  saveContainer(tx, address, container)
  return container
}

type Change = {
  readonly guard: ContainerGuard
  readonly set:
    | Pick<Container, 'metadata'>
    | {
        readonly policies: readonly SignedIdentifier[]
        readonly publicAccess: PublicAccess | undefined
      }
}

export type ContainerItem = { readonly name: string; readonly container: Container }
export type ContainerPage = {
  readonly items: readonly ContainerItem[]
  /** The name that the next page begins after. */
  readonly nextAfter: string | undefined
}

export function* listContainers(
  tx: ReadTx,
  account: string,
  query: { readonly prefix: string; readonly after: string | undefined; readonly countMax: number },
): Step<ContainerPage> {
  const prefix = containerKeyPrefix(account, query.prefix)
  const after = query.after === undefined ? undefined : containerKey(account, query.after)
  // The zero byte makes the start exclusive: it is the next key after `after`.
  const from =
    after !== undefined && Buffer.compare(after, prefix) > 0
      ? Buffer.concat([after, Buffer.of(0)])
      : prefix
  const entries = yield* tx.scan({
    from,
    to: keyAfterPrefix(prefix),
    countMax: query.countMax + 1,
  })
  const items = entries.slice(0, query.countMax).map(({ key, value }) => {
    return { name: String(decodeKey(key)[2]), container: decodeContainer(value) }
  })
  const more = entries.length > query.countMax
  return { items, nextAfter: more ? items.at(-1)?.name : undefined }
}

function saveContainer(tx: Tx, address: ContainerAddress, container: Container): void {
  tx.put(containerKey(address.account, address.container), encodeRecord(container))
}

function decodeContainer(value: Value): Container {
  return decodeRecordOnce<Container>(value)
}

function checkGuard(
  guard: ContainerGuard,
  container: Container,
  takes: { readonly ifUnmodifiedSince: boolean },
): void {
  const current = { etag: etagOf(container.stamp), lastModifiedMs: container.modifiedMs }
  checkContainerConditions(guard.conditions, current, takes)
  checkLeaseId(guard.leaseId)
}

/** No operation takes a lease on a container yet, so an id that is sent matches none. */
function checkLeaseId(leaseId: string | undefined): void {
  if (leaseId !== undefined) throw new StorageError('LeaseNotPresentWithContainerOperation')
}
