// Containers: one record each, found by account and name. Conditions are about time only. Operations on blobs
// never change the container's ETag.
import { requireEncryptionScope } from '../../shared/encryption-scope.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { SignedIdentifier } from '../../shared/access-policy.ts'
import { checkContainerConditions, type Conditions } from '../../shared/condition.ts'
import { StorageError } from '../../shared/error.ts'
import {
  checkLeaseForRead,
  checkLeaseForWrite,
  runLeaseAction,
  withLease,
  type Lease,
  type LeaseAction,
  type LeaseResult,
} from '../../shared/lease.ts'
import { indexLease } from '../../shared/leased.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import { modifiedAt } from '../../shared/modified.ts'
import { requireFields } from '../../shared/require-fields.ts'
import { deletedNow, type Deleted } from '../../shared/retention.ts'
import { containerKey, containerNameKey, dueKey, pastContainerKey } from '../keys.ts'
import { giveRoot } from '../path/own-root.ts'
import { markContainerDeleted, requireSpace } from '../path/space.ts'
import { getProtection } from '../protection.ts'

export type ContainerAddress = { readonly account: string; readonly container: string }

export type PublicAccess = 'container' | 'blob'

export type Container = {
  readonly id: number
  readonly stamp: number
  readonly modifiedMs: number
  readonly metadata: Metadata
  readonly publicAccess?: PublicAccess
  readonly policies: readonly SignedIdentifier[]
  readonly lease?: Lease
  readonly defaultEncryptionScope?: string
  readonly denyEncryptionScopeOverride?: boolean
  /**
   * Only in a hierarchical container: its paths are in this space, which all hierarchical containers of the account
   * share, so that a path can be renamed from one to another.
   */
  readonly spaceId?: number
}

/** A deleted container that can be restored until its retention ends. */
export type DeletedContainer = Container & { readonly deleted: Deleted }

/** The account and name of the container with some id. */
export type ContainerName = { readonly account: string; readonly name: string }

/** Conditions and a lease id, which the container has to match. */
export type ContainerGuard = { readonly conditions: Conditions; readonly leaseId?: string }

/** Containers of the service itself. Users create $root and $web, which are listed like any other. */
export const SYSTEM_CONTAINERS: ReadonlySet<string> = new Set(['$logs', '$blobchangefeed'])

export function getContainer(tx: ReadTx, address: ContainerAddress): Step<Container | undefined> {
  return tx.getFields(containerKey(address.account, address.container))
}

export function requireContainer(tx: ReadTx, address: ContainerAddress): Step<Container> {
  return requireFields(tx, containerKey(address.account, address.container), 'ContainerNotFound')
}

/** The name of a container, for indexes that store ids only. Undefined if the container no longer exists. */
export function* nameOfContainer(tx: ReadTx, id: number): Step<ContainerName | undefined> {
  const value = yield* tx.get(containerNameKey(id))
  if (value === undefined) return undefined
  const found = decodeRecord<ContainerName>(value)
  const container = yield* getContainer(tx, { account: found.account, container: found.name })
  return container?.id === id ? found : undefined
}

/** Reads need no lease id, but one that is sent has to match. */
export function* readContainer(
  tx: ReadTx,
  address: ContainerAddress,
  leaseId: string | undefined,
  nowMs: number,
): Step<Container> {
  const container = yield* requireContainer(tx, address)
  checkLeaseForRead(container.lease, leaseId, nowMs, 'container')
  return container
}

/** `isHierarchical`: the account has a hierarchical namespace. A container is what it was created as for ever. */
type NewContainer = Omit<Container, 'stamp' | 'modifiedMs' | 'policies' | 'lease' | 'spaceId'> & {
  readonly isHierarchical?: boolean
  /** The user who creates it, whose root directory it is. Only of a hierarchical container. */
  readonly owner?: string
}

export function* createContainer(
  tx: Tx,
  address: ContainerAddress,
  { isHierarchical = false, owner, ...created }: NewContainer,
  moment: Moment,
): Step<Container> {
  const { defaultEncryptionScope: scope } = created
  if (scope !== undefined) yield* requireEncryptionScope(tx, address.account, scope)
  yield* checkNameFree(tx, address)
  if (!isHierarchical) return putNewContainer(tx, address, created, moment)
  const spaceId = yield* requireSpace(tx, address.account, created.id)
  const container = putNewContainer(tx, address, { ...created, spaceId }, moment)
  if (owner !== undefined) giveRoot(tx, { id: container.id, spaceId }, owner, moment)
  return container
}

/** Creates a container that the service itself writes to ($logs) on the first write. */
export function* ensureContainer(
  tx: Tx,
  address: ContainerAddress,
  newId: number,
  moment: Moment,
): Step<Container> {
  const existing = yield* getContainer(tx, address)
  return existing ?? putNewContainer(tx, address, { id: newId, metadata: [] }, moment)
}

function putNewContainer(
  tx: Tx,
  address: ContainerAddress,
  created: Omit<Container, 'stamp' | 'modifiedMs' | 'policies' | 'lease'>,
  moment: Moment,
): Container {
  const container = { ...created, ...modifiedAt(undefined, moment), policies: [] }
  placeContainer(tx, address, container)
  return container
}

function* checkNameFree(tx: ReadTx, address: ContainerAddress): Step<void> {
  if (SYSTEM_CONTAINERS.has(address.container)) throw new StorageError('InvalidResourceName')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
}

/** With a retention policy the container can be restored; without one it is gone, and the sweep removes its blobs. */
export function* deleteContainer(
  tx: Tx,
  address: ContainerAddress,
  guard: ContainerGuard,
  moment: Moment,
): Step<void> {
  const container = yield* requireContainer(tx, address)
  if (SYSTEM_CONTAINERS.has(address.container)) throw new StorageError('AuthorizationFailure')
  checkContainerConditions(guard.conditions, container, { ifUnmodifiedSince: true })
  checkLeaseForWrite(container.lease, guard.leaseId, moment.nowMs, 'container')
  const { containerRetentionDays: days } = yield* getProtection(tx, address.account)
  const { account, container: name } = address
  tx.delete(containerKey(account, name))
  if (days === undefined) {
    markContainerDeleted(tx, container)
    return
  }
  const { lease: _lease, ...rest } = container
  const deleted = deletedNow(moment.nowMs, days)
  const past: DeletedContainer = { ...rest, deleted }
  // The key includes the id, so that two deleted containers of one name don't collide.
  tx.put(pastContainerKey(account, name, container.id), encodeRecord(past))
  tx.put(dueKey(deleted.untilMs, 'container', container.id, name), encodeRecord({ account }))
}

/** Restore Container. `version` is the id of the deleted container, from List Containers. */
export function* restoreContainer(
  tx: Tx,
  address: ContainerAddress,
  deleted: { readonly name: string; readonly version: number },
  moment: Moment,
): Step<Container> {
  yield* checkNameFree(tx, address)
  const key = pastContainerKey(address.account, deleted.name, deleted.version)
  const value = yield* tx.get(key)
  if (value === undefined) throw new StorageError('ContainerNotFound')
  const { deleted: term, ...container } = decodeRecord<DeletedContainer>(value)
  if (term.untilMs <= moment.nowMs) throw new StorageError('ContainerNotFound')
  tx.delete(key)
  tx.delete(dueKey(term.untilMs, 'container', container.id, deleted.name))
  placeContainer(tx, address, container)
  return container
}

/** Rename Container keeps the id, and with it the blobs. */
export function* renameContainer(
  tx: Tx,
  address: ContainerAddress,
  source: { readonly name: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<Container> {
  const from = { account: address.account, container: source.name }
  const container = yield* requireContainer(tx, from)
  if (SYSTEM_CONTAINERS.has(from.container)) throw new StorageError('AuthorizationFailure')
  if (SYSTEM_CONTAINERS.has(address.container)) throw new StorageError('InvalidResourceName')
  checkLeaseForWrite(container.lease, source.leaseId, moment.nowMs, 'container')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
  const key = containerKey(from.account, from.container)
  tx.delete(key)
  placeContainer(tx, address, container)
  if (container.lease !== undefined) {
    indexLease(tx, key, undefined)
    indexLease(tx, containerKey(address.account, address.container), container.lease)
  }
  return container
}

/** Lease Container does not change the ETag. */
export function* leaseContainer(
  tx: Tx,
  address: ContainerAddress,
  guard: ContainerGuard,
  action: LeaseAction,
  moment: Moment,
): Step<{ readonly container: Container; readonly result: LeaseResult }> {
  const current = yield* requireContainer(tx, address)
  checkContainerConditions(guard.conditions, current, { ifUnmodifiedSince: true })
  const result = runLeaseAction(current.lease, action, moment.nowMs)
  const container = saveContainerLease(tx, address, current, result.lease)
  return { container, result }
}

export function saveContainerLease(
  tx: Tx,
  address: ContainerAddress,
  current: Container,
  lease: Lease | undefined,
): Container {
  const container = withLease(current, lease)
  saveContainer(tx, address, container)
  indexLease(tx, containerKey(address.account, address.container), lease)
  return container
}

/** Set Container Metadata and Set Container ACL replace the named parts completely. */
export function* changeContainer(
  tx: Tx,
  address: ContainerAddress,
  change: Change,
  moment: Moment,
): Step<Container> {
  const current = yield* requireContainer(tx, address)
  // Set Container Metadata supports If-Modified-Since only ("Specifying conditional headers").
  const supports = { ifUnmodifiedSince: 'policies' in change.set }
  checkContainerConditions(change.guard.conditions, current, supports)
  checkLeaseForRead(current.lease, change.guard.leaseId, moment.nowMs, 'container')
  const { publicAccess, ...rest } = { ...current, ...change.set, ...modifiedAt(current, moment) }
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

/** Stores a container under a name that it didn't have before. */
function placeContainer(tx: Tx, address: ContainerAddress, container: Container): void {
  saveContainer(tx, address, container)
  const name: ContainerName = { account: address.account, name: address.container }
  tx.put(containerNameKey(container.id), encodeRecord(name))
}

export function saveContainer(tx: Tx, address: ContainerAddress, container: Container): void {
  tx.put(containerKey(address.account, address.container), encodeRecord(container))
}
