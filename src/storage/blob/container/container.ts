// Containers: a record each, found by account and name. Conditions are time conditions only; blob
// operations never change a container's ETag.
import { requireEncryptionScope } from '../../shared/encryption-scope.ts'
import { getFields } from '../../../kv/fields.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { SignedIdentifier } from '../../shared/access-policy.ts'
import { checkContainerConditions, type Conditions } from '../../shared/condition.ts'
import { StorageError } from '../../shared/error.ts'
import { etagOf } from '../../shared/etag.ts'
import {
  checkLeaseForRead,
  checkLeaseForWrite,
  runLeaseAction,
  withLease,
  type Lease,
  type LeaseAction,
  type LeaseResult,
} from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { deletedNow, type Deleted } from '../../shared/retention.ts'
import {
  containerKey,
  containerNameKey,
  deletedContainerKey,
  dueKey,
  pastContainerKey,
} from '../keys.ts'
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
}

/** One that was deleted and can be restored until its time is over. */
export type DeletedContainer = Container & {
  readonly deleted: Deleted
}

/** Of which account and name the container with some id is. */
export type ContainerName = { readonly account: string; readonly name: string }

/** What guards an operation on a container: conditions, and a lease id that must be the right one. */
export type ContainerGuard = { readonly conditions: Conditions; readonly leaseId?: string }

/** The containers that exist without being created. */
const IMPLICIT = new Set(['$logs', '$blobchangefeed'])

export function getContainer(tx: ReadTx, address: ContainerAddress): Step<Container | undefined> {
  return getFields<Container>(tx, containerKey(address.account, address.container))
}

export function* requireContainer(tx: ReadTx, address: ContainerAddress): Step<Container> {
  const container = yield* getContainer(tx, address)
  if (container === undefined) throw new StorageError('ContainerNotFound')
  return container
}

/** The container's name, as long as it is there under it: for an index that knows ids only. */
export function* nameOfContainer(tx: ReadTx, id: number): Step<ContainerName | undefined> {
  const value = yield* tx.get(containerNameKey(id))
  if (value === undefined) return undefined
  const found = decodeRecord<ContainerName>(value)
  const container = yield* getContainer(tx, { account: found.account, container: found.name })
  return container?.id === id ? found : undefined
}

/** Reads of a container take a lease id as a condition, but need none. */
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

export type NewContainer = Omit<Container, 'stamp' | 'modifiedMs' | 'policies' | 'lease'>

export function* createContainer(
  tx: Tx,
  address: ContainerAddress,
  created: NewContainer,
  moment: Moment,
): Step<Container> {
  if (IMPLICIT.has(address.container)) throw new StorageError('InvalidResourceName')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
  const stamp = nextStamp(undefined, moment)
  const container = { ...created, stamp, modifiedMs: moment.nowMs, policies: [] }
  placeContainer(tx, address, container)
  return container
}

/** A container that the service itself writes to ($logs) is made when it first does. */
export function* ensureContainer(
  tx: Tx,
  address: ContainerAddress,
  newId: number,
  moment: Moment,
): Step<Container> {
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) return existing
  const stamp = nextStamp(undefined, moment)
  const { nowMs: modifiedMs } = moment
  const container = { id: newId, metadata: [], stamp, modifiedMs, policies: [] }
  placeContainer(tx, address, container)
  return container
}

/** Where containers are kept for some days, it can be restored; else it is gone and its blobs are swept. */
export function* deleteContainer(
  tx: Tx,
  address: ContainerAddress,
  guard: ContainerGuard,
  moment: Moment,
): Step<void> {
  const container = yield* requireContainer(tx, address)
  if (IMPLICIT.has(address.container)) throw new StorageError('AuthorizationFailure')
  checkConditions(guard, container, { ifUnmodifiedSince: true })
  checkLeaseForWrite(container.lease, guard.leaseId, moment.nowMs, 'container')
  const { containerRetentionDays: days } = yield* getProtection(tx, address.account)
  const { account, container: name } = address
  tx.delete(containerKey(account, name))
  if (days === undefined) {
    tx.put(deletedContainerKey(container.id), encodeRecord({}))
    return
  }
  const { lease: _lease, ...rest } = container
  const deleted = deletedNow(moment.nowMs, days)
  const past: DeletedContainer = { ...rest, deleted }
  // The id is in the key too, so that two of one name never meet.
  tx.put(pastContainerKey(account, name, container.id), encodeRecord(past))
  tx.put(dueKey(deleted.untilMs, 'container', container.id, name), encodeRecord({ account }))
}

/** Restore Container. `version` is the id that List Containers shows of a deleted one. */
export function* restoreContainer(
  tx: Tx,
  address: ContainerAddress,
  deleted: { readonly name: string; readonly version: number },
  moment: Moment,
): Step<Container> {
  if (IMPLICIT.has(address.container)) throw new StorageError('InvalidResourceName')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
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

/** Rename Container: the id stays, so the blobs come along. */
export function* renameContainer(
  tx: Tx,
  address: ContainerAddress,
  source: { readonly name: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<Container> {
  const from = { account: address.account, container: source.name }
  const container = yield* requireContainer(tx, from)
  if (IMPLICIT.has(from.container)) throw new StorageError('AuthorizationFailure')
  if (IMPLICIT.has(address.container)) throw new StorageError('InvalidResourceName')
  checkLeaseForWrite(container.lease, source.leaseId, moment.nowMs, 'container')
  const existing = yield* getContainer(tx, address)
  if (existing !== undefined) throw new StorageError('ContainerAlreadyExists')
  tx.delete(containerKey(from.account, from.container))
  placeContainer(tx, address, container)
  return container
}

/** Lease Container: the ETag stays as it is. */
export function* leaseContainer(
  tx: Tx,
  address: ContainerAddress,
  guard: ContainerGuard,
  action: LeaseAction,
  moment: Moment,
): Step<{ readonly container: Container; readonly result: LeaseResult }> {
  const current = yield* requireContainer(tx, address)
  checkConditions(guard, current, { ifUnmodifiedSince: true })
  const result = runLeaseAction(current.lease, action, moment.nowMs)
  const container = withLease(current, result.lease)
  saveContainer(tx, address, container)
  return { container, result }
}

/** Set Container Metadata and Set Container ACL: the named parts are replaced whole. */
export function* changeContainer(
  tx: Tx,
  address: ContainerAddress,
  change: Change,
  moment: Moment,
): Step<Container> {
  const current = yield* requireContainer(tx, address)
  // Set Container Metadata knows If-Modified-Since only ("Specifying conditional headers").
  checkConditions(change.guard, current, { ifUnmodifiedSince: 'policies' in change.set })
  checkLeaseForRead(current.lease, change.guard.leaseId, moment.nowMs, 'container')
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

/** A container that comes to a name. */
function placeContainer(tx: Tx, address: ContainerAddress, container: Container): void {
  saveContainer(tx, address, container)
  const name: ContainerName = { account: address.account, name: address.container }
  tx.put(containerNameKey(container.id), encodeRecord(name))
}

function saveContainer(tx: Tx, address: ContainerAddress, container: Container): void {
  tx.put(containerKey(address.account, address.container), encodeRecord(container))
}

function checkConditions(
  guard: ContainerGuard,
  container: Container,
  takes: { readonly ifUnmodifiedSince: boolean },
): void {
  const current = { etag: etagOf(container.stamp), lastModifiedMs: container.modifiedMs }
  checkContainerConditions(guard.conditions, current, takes)
}

export function* createInScope(
  tx: Tx,
  address: ContainerAddress,
  created: NewContainer,
  moment: Moment,
): Step<Container> {
  const { defaultEncryptionScope: scope } = created
  if (scope !== undefined) yield* requireEncryptionScope(tx, address.account, scope)
  return yield* createContainer(tx, address, created, moment)
}
