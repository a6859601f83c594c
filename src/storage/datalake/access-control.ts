// Get and Set Access Control, Check Access, and the recursive changes, which go through a tree in pages.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { giveWay } from '../../kv/step.ts'
import { findBlob, readBlob, requireBlob, type ExistingTarget } from '../blob/blob.ts'
import { checkBlobWrite, type BlobGuard } from '../blob/guard.ts'
import { blobKey } from '../blob/keys.ts'
import { accessOf, requireAllowed, storedAccess } from '../blob/path/access.ts'
import { namesOfPath } from '../blob/path/path-name.ts'
import { TreeWalker } from '../blob/path/walk-tree.ts'
import type { Blob } from '../blob/record.ts'
import { decodeStored } from '../blob/blob.ts'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import { withLease } from '../shared/lease.ts'
import {
  changedAccess,
  recursivelyChanged,
  type AccessChange,
  type RecursiveChange,
} from '../blob/access/acl-change.ts'
import { checkAclOfFile, type AccessControl } from '../blob/access/acl.ts'
import {
  isAllowed,
  mayChangeAccess,
  mayChangeOwner,
  SUPERUSER_ACTOR,
  type Actor,
} from '../blob/access/actor.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type PathAccess = { readonly blob: Blob; readonly access: AccessControl }

export function* getAccessControl(
  tx: ReadTx,
  address: PathAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<PathAccess> {
  const { located, stored } = yield* readBlob(tx, blobOfPath(address, 'traverse'), guard, nowMs)
  if (located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  return { blob: stored.blob, access: accessOf(stored.blob) }
}

/** Check Access: throws if the actor does not have all of the permissions. */
export function* checkAccess(
  tx: ReadTx,
  address: PathAddress,
  guard: BlobGuard,
  permissions: number,
  nowMs: number,
): Step<PathAccess> {
  const found = yield* getAccessControl(tx, address, guard, nowMs)
  requireAllowed(isAllowed(address.actor ?? SUPERUSER_ACTOR, found.access, permissions))
  return found
}

/** Like the service, it leaves ETag and Last-Modified as they are. */
export function* setAccessControl(
  tx: Tx,
  address: PathAddress,
  guard: BlobGuard,
  change: AccessChange,
  nowMs: number,
): Step<Blob> {
  const target = yield* findForAccess(tx, address, nowMs)
  const { blob: current, bytes } = target.stored
  const lease = checkBlobWrite(current, guard, nowMs, 'update')
  const access = accessOf(current)
  checkMayChange(address.actor ?? SUPERUSER_ACTOR, access, change)
  const isDirectory = current.path?.isDirectory === true
  if (!isDirectory && change.acl !== undefined) checkAclOfFile(change.acl)
  const changed = withAccess(withLease(current, lease), changedAccess(access, change))
  tx.put(target.key, encodeRecord(changed, bytes))
  return changed
}

function* findForAccess(tx: ReadTx, address: PathAddress, nowMs: number): Step<ExistingTarget> {
  const found = yield* findBlob(tx, blobOfPath(address, 'traverse'), nowMs)
  if (found.located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  return requireBlob(found)
}

function checkMayChange(actor: Actor, access: AccessControl, change: AccessChange): void {
  const { mode, acl, owner, group } = change
  if (mode !== undefined || acl !== undefined) requireAllowed(mayChangeAccess(actor, access))
  if (owner !== undefined || group !== undefined) {
    requireAllowed(mayChangeOwner(actor, access, change))
  }
}

function withAccess(blob: Blob, access: AccessControl): Blob {
  if (blob.path === undefined) return blob
  const { access: _before, ...path } = blob.path
  return { ...blob, path: { ...path, ...storedAccess(access, path.isDirectory === true) } }
}

export type ChangeTree = {
  readonly change: RecursiveChange
  readonly continuation?: string
  /** At most 2,000. */
  readonly countMax: number
  /** Goes on with the next page after a path that the actor may not change. */
  readonly isForced: boolean
}

export type FailedChange = {
  readonly path: string
  readonly isDirectory: boolean
  readonly code: ErrorCode
}

export type TreeChange = {
  readonly directoryCount: number
  readonly fileCount: number
  readonly failures: readonly FailedChange[]
  readonly continuation: string | undefined
}

const GIVE_WAY_COUNT = 32

/** One page. Without `isForced`, it is the last one if something in it fails. */
export function* setAccessControlRecursive(
  tx: Tx,
  address: PathAddress,
  request: ChangeTree,
  nowMs: number,
): Step<TreeChange> {
  const target = yield* findForAccess(tx, address, nowMs)
  const walk = new TreeChanging(address.actor ?? SUPERUSER_ACTOR, request)
  const { located } = target
  const names = located?.names ?? []
  if (request.continuation === undefined) {
    walk.change(tx, names.join('/'), target.key, target.stored.blob, target.stored.bytes)
  }
  const directoryId = target.stored.blob.path?.id
  if (located === undefined || directoryId === undefined || located.entry?.isDirectory !== true) {
    return walk.end(undefined)
  }
  const base = names.length === 0 ? '' : `${names.join('/')}/`
  const walker = new TreeWalker(tx, {
    spaceId: located.spaceId,
    directoryId,
    path: base,
    namePrefix: '',
    isRecursive: true,
    expectedCount: request.countMax,
  })
  const { continuation = '' } = request
  const after = namesOfPath(continuation)
  yield* walker.open(after.length === 0 ? undefined : { names: after, mode: 'follows' })
  let last = continuation
  for (;;) {
    const walked = yield* walker.peek()
    if (walked === undefined) return walk.end(undefined)
    if (walk.isOver) return walk.end(last === '' ? ROOT_DONE : last)
    walker.advance()
    const key = blobKey(located.spaceId, walked.entry.id)
    const value = yield* tx.get(key)
    if (value !== undefined) {
      const { blob, bytes } = decodeStored<Blob>(value)
      walk.change(tx, walked.path, key, blob, bytes)
    }
    last = walked.path.slice(base.length)
    if (walk.count % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
}

/** Only the directory itself has been changed. */
const ROOT_DONE = '/'

class TreeChanging {
  readonly #actor: Actor
  readonly #request: ChangeTree
  readonly #failures: FailedChange[] = []
  #directoryCount = 0
  #fileCount = 0

  constructor(actor: Actor, request: ChangeTree) {
    this.#actor = actor
    this.#request = request
  }

  get count(): number {
    return this.#directoryCount + this.#fileCount + this.#failures.length
  }

  get isOver(): boolean {
    return this.count >= this.#request.countMax
  }

  change(tx: Tx, path: string, key: Uint8Array, blob: Blob, bytes: Uint8Array): void {
    const isDirectory = blob.path?.isDirectory === true
    const access = accessOf(blob)
    if (!mayChangeAccess(this.#actor, access)) {
      this.#failures.push({ path, isDirectory, code: 'AuthorizationPermissionMismatch' })
      return
    }
    const changed = recursivelyChanged(access, this.#request.change, isDirectory)
    tx.put(key, encodeRecord(withAccess(blob, changed), bytes))
    if (isDirectory) this.#directoryCount += 1
    else this.#fileCount += 1
  }

  end(continuation: string | undefined): TreeChange {
    const [directoryCount, fileCount] = [this.#directoryCount, this.#fileCount]
    const isLast = this.#failures.length > 0 && !this.#request.isForced
    const next = isLast ? undefined : continuation
    return { directoryCount, fileCount, failures: this.#failures, continuation: next }
  }
}
