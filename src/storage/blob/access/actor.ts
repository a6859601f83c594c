// On whose behalf a request acts on paths, and what the access control of a path allows them. Account keys, account SAS and
// service SAS are superusers, whom nothing restricts; tokens and user delegation SAS are users.
import { EXECUTE, isSameId, permissionsOf, SUPERUSER, WRITE, type AccessControl } from './acl.ts'

export type User = {
  readonly objectId: string
  /** Object ids. */
  readonly groups: readonly string[]
  /** The owner of what this user creates; by default the user. */
  readonly createsFor?: string
}

export type UserActor = { readonly kind: 'user' } & User
export type Actor = { readonly kind: 'superuser' } | UserActor

export const SUPERUSER_ACTOR: Actor = { kind: 'superuser' }

/** The owner of what the actor creates. */
export function ownerOf(actor: Actor): string {
  return actor.kind === 'superuser' ? SUPERUSER : (actor.createsFor ?? actor.objectId)
}

/**
 * Whether all of the permissions are granted, by the steps that Azure's documentation gives ("How permissions are evaluated"):
 * unlike in POSIX, the mask restricts others too, and a group without the permission leaves the decision to others.
 */
export function isAllowed(actor: Actor, control: AccessControl, permissions: number): boolean {
  if (actor.kind === 'superuser') return true
  const { acl, owner } = control
  const mask = permissionsOf(acl, 'mask') ?? 7
  const covers = (granted: number): boolean => (permissions & granted) === permissions
  if (isSameId(actor.objectId, owner)) return covers(permissionsOf(acl, 'user') ?? 0)
  const named = permissionsOf(acl, 'user', { id: actor.objectId })
  if (named !== undefined) return covers(named & mask)
  const groups = groupPermissions(actor, control)
  if (groups.some((granted) => covers(granted & mask))) return true
  return covers((permissionsOf(acl, 'other') ?? 0) & mask)
}

function groupPermissions({ groups }: User, { acl, group }: AccessControl): readonly number[] {
  return acl.flatMap(({ isDefault, type, id, permissions }) => {
    if (isDefault || type !== 'group') return []
    const groupId = id === '' ? group : id
    return groups.some((member) => isSameId(member, groupId)) ? [permissions] : []
  })
}

/** Traversal needs x on each directory, and a change of its entries w and x. */
export const CHANGE_ENTRIES = WRITE | EXECUTE

/** The owner may change the permissions and the list. */
export function mayChangeAccess(actor: Actor, { owner }: AccessControl): boolean {
  return actor.kind === 'superuser' || isSameId(actor.objectId, owner)
}

/** Only a superuser gives a path to another owner; its owner may give it to a group of theirs. */
export function mayChangeOwner(
  actor: Actor,
  control: AccessControl,
  {
    owner = control.owner,
    group = control.group,
  }: { readonly owner?: string | undefined; readonly group?: string | undefined },
): boolean {
  if (actor.kind === 'superuser') return true
  if (!isSameId(owner, control.owner)) return false
  if (isSameId(group, control.group)) return true
  return isSameId(actor.objectId, control.owner) && actor.groups.some((id) => isSameId(id, group))
}

/** The sticky bit of a directory keeps its entries from everybody but the owners of the entry and of the directory. */
export function isKeptBySticky(
  actor: Actor,
  directory: AccessControl,
  child: Pick<AccessControl, 'owner'>,
): boolean {
  if (actor.kind === 'superuser' || !directory.isSticky) return false
  return !isSameId(actor.objectId, directory.owner) && !isSameId(actor.objectId, child.owner)
}
