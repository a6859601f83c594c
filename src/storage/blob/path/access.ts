// Access control of paths: what is stored of it, and who may do what. Azure enforces it for users (tokens and user delegation
// SAS), not for keys and other SAS.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { createdAccess, rootAccess, type NewAccess } from '../access/acl-change.ts'
import { EXECUTE, READ, SUPERUSER, WRITE, type AccessControl } from '../access/acl.ts'
import {
  CHANGE_ENTRIES,
  isAllowed,
  isKeptBySticky,
  ownerOf,
  SUPERUSER_ACTOR,
  type Actor,
} from '../access/actor.ts'
import { aclOfMode, DIRECTORY_MODE, FILE_MODE, UMASK_BITS } from '../access/permissions.ts'
import { StorageError } from '../../shared/error.ts'
import { blobKey } from '../keys.ts'
import type { Blob } from '../record.ts'
import type { Located } from './locate.ts'

/**
 * What an operation needs besides x on every directory of the path. write: w on the path or, if it doesn't exist, w and x on
 * the directory that it is created in. delete: w and x on its directory, whose sticky bit counts too.
 */
export type PathNeed = 'traverse' | 'read' | 'write' | 'list' | 'delete'

export type PathCheck = { readonly actor: Actor; readonly need: PathNeed }

const NEW_FILE: AccessControl = newAccess(FILE_MODE.bits)
const NEW_DIRECTORY: AccessControl = newAccess(DIRECTORY_MODE.bits)

function newAccess(bits: number): AccessControl {
  return { ...rootAccess(SUPERUSER), acl: aclOfMode({ bits: bits & ~UMASK_BITS }) }
}

/** Access control is stored only where it differs from that of a new path. */
export function accessOf({ path }: Pick<Blob, 'path'>): AccessControl {
  return path?.access ?? usualAccess(path?.isDirectory === true)
}

export function usualAccess(isDirectory: boolean): AccessControl {
  return isDirectory ? NEW_DIRECTORY : NEW_FILE
}

export function storedAccess(access: AccessControl, isDirectory: boolean) {
  return isSameAccess(access, usualAccess(isDirectory)) ? {} : { access }
}

function isSameAccess(a: AccessControl, b: AccessControl): boolean {
  if (a.owner !== b.owner || a.group !== b.group || a.isSticky !== b.isSticky) return false
  if (a.acl.length !== b.acl.length) return false
  return a.acl.every(({ isDefault, type, id, permissions }, at) => {
    const other = b.acl[at]
    return !isDefault && type === other?.type && id === '' && permissions === other.permissions
  })
}

/** Who creates a path, and what they say about its access control. */
export type Creation = { readonly actor?: Actor; readonly access?: NewAccess }

/** Of a new path in this directory. */
export function accessInside(
  directory: AccessControl,
  isDirectory: boolean,
  { actor = SUPERUSER_ACTOR, access }: Creation,
): AccessControl {
  const isUsual = access === undefined && actor.kind === 'superuser' && directory === NEW_DIRECTORY
  if (isUsual) return isDirectory ? NEW_DIRECTORY : NEW_FILE
  return createdAccess(directory, ownerOf(actor), { ...access, isDirectory })
}

export function* getDirectoryAccess(
  tx: ReadTx,
  spaceId: number,
  directoryId: string,
): Step<AccessControl> {
  const directory = yield* tx.getFields<Blob>(blobKey(spaceId, directoryId))
  // The root has a record once it was changed.
  return directory === undefined ? NEW_DIRECTORY : accessOf(directory)
}

/** Throws if the actor lacks what the operation needs. Costs superusers nothing. */
export function* checkPathAccess(
  tx: ReadTx,
  located: Located,
  { actor, need }: PathCheck,
): Step<void> {
  if (actor.kind === 'superuser') return
  let directory = NEW_DIRECTORY
  for (const id of located.directoryIds) {
    directory = yield* getDirectoryAccess(tx, located.spaceId, id)
    requireAllowed(isAllowed(actor, directory, EXECUTE))
  }
  const { entry, isBelowFile } = located
  if (entry === undefined) {
    const isChange = need === 'write' || (need === 'delete' && located.missingCount === 0)
    if (!isChange || isBelowFile) return
    return requireAllowed(isAllowed(actor, directory, CHANGE_ENTRIES))
  }
  if (need === 'traverse') return
  const record = yield* tx.getFields<Blob>(blobKey(located.spaceId, entry.id))
  const own = record === undefined ? NEW_DIRECTORY : accessOf(record)
  requireAllowed(isNeedMet(actor, need, directory, own))
}

function isNeedMet(
  actor: Actor,
  need: Exclude<PathNeed, 'traverse'>,
  directory: AccessControl,
  own: AccessControl,
): boolean {
  if (need === 'delete') {
    return isAllowed(actor, directory, CHANGE_ENTRIES) && !isKeptBySticky(actor, directory, own)
  }
  if (need === 'list') return isAllowed(actor, own, READ | EXECUTE)
  return isAllowed(actor, own, need === 'read' ? READ : WRITE)
}

export function requireAllowed(isMet: boolean): void {
  if (!isMet) throw new StorageError('AuthorizationPermissionMismatch')
}
