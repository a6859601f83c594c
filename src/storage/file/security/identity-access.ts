// What an SMB user may do, by the descriptors of files and directories ([MS-FSA] 2.1.5.1). The account itself (no
// identity) may do everything, so no descriptor is read for it. The directories on the path to a file are not checked:
// as on Windows, every user may traverse them.
import { memoize } from '../../../memory/memoize.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { ACCESS, accessAllowed } from './access-check.ts'
import { getNode, ROOT_ID, type Existing, type FileNode, type Located } from '../tree/node.ts'
import { DELETE, WRITE_DATA } from '../open/open-access.ts'
import { requirePermission } from './permission.ts'
import { decodeSecurityDescriptor } from './security-descriptor.ts'
import type { Sid } from './sid.ts'
import type { SmbIdentity } from './smb-identity.ts'
import { SmbRefused } from '../open/smb-refused.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** Rights on a directory ([MS-SMB2] 2.2.13.1.2). */
const LIST_DIRECTORY = 0x1
const ADD_FILE = 0x2
const ADD_SUBDIRECTORY = 0x4
const DELETE_CHILD = 0x40

const READ_ATTRIBUTES = 0x80

/** All rights, including access to the SACL, which only the account has. */
const EVERY_RIGHT = ACCESS.all | ACCESS.systemSecurity

// Most files of a share share a few descriptors.
const decoded = memoize((latin1) => decodeSecurityDescriptor(Buffer.from(latin1, 'latin1')))

function* ownRights(
  tx: ReadTx,
  { shareId }: ShareView,
  { permissionKey }: FileNode,
  { sids }: SmbIdentity,
): Step<number> {
  const bytes = yield* requirePermission(tx, shareId, permissionKey)
  const descriptor = decoded(Buffer.from(bytes).toString('latin1'))
  return accessAllowed(descriptor, sids, ACCESS.maximumAllowed) & ACCESS.all
}

/** All rights on a node: by its own descriptor, and by that of its directory. */
export function* rightsOn(
  tx: ReadTx,
  { view, directoryId, node }: Pick<Existing, 'view' | 'directoryId' | 'node'>,
  identity: SmbIdentity | undefined,
): Step<number> {
  if (identity === undefined) return EVERY_RIGHT
  const own = yield* ownRights(tx, view, node, identity)
  const isComplete = (own & DELETE) !== 0 && (own & READ_ATTRIBUTES) !== 0
  if (isComplete || node.nodeId === ROOT_ID) return own
  const above = yield* directoryRights(tx, view, directoryId, identity)
  // [MS-FSA] 2.1.5.1.2.1: DELETE_CHILD on the directory gives DELETE; the right to list it gives READ_ATTRIBUTES.
  return (
    own |
    ((above & DELETE_CHILD) === 0 ? 0 : DELETE) |
    ((above & LIST_DIRECTORY) === 0 ? 0 : READ_ATTRIBUTES)
  )
}

function* directoryRights(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  identity: SmbIdentity,
): Step<number> {
  const directory = yield* getNode(tx, view, directoryId)
  return directory === undefined ? 0 : yield* ownRights(tx, view, directory, identity)
}

/** For a node that is created in a directory or moved there. */
export function* checkMayAdd(
  tx: ReadTx,
  { view, directoryId }: Pick<Located, 'view' | 'directoryId'>,
  kind: FileNode['kind'],
  identity: SmbIdentity | undefined,
): Step<void> {
  if (identity === undefined) return
  const needed = kind === 'directory' ? ADD_SUBDIRECTORY : ADD_FILE
  const rights = yield* directoryRights(tx, view, directoryId, identity)
  if ((rights & needed) === 0) throw new SmbRefused('ACCESS_DENIED')
}

/** Overwriting needs WRITE_DATA, requested or not. Superseding also deletes the file and adds a new one. */
export function* checkMayOverwrite(
  tx: ReadTx,
  existing: Pick<Existing, 'view' | 'directoryId' | 'node'>,
  { action, allowed, identity }: Overwrite,
): Step<void> {
  const isNew = action === 'superseded'
  const needed = isNew ? WRITE_DATA | DELETE : WRITE_DATA
  if ((needed & ~allowed) !== 0) throw new SmbRefused('ACCESS_DENIED')
  if (isNew) yield* checkMayAdd(tx, existing, existing.node.kind, identity)
}

type Overwrite = {
  readonly action: string
  /** The result of rightsOn. */
  readonly allowed: number
  readonly identity: SmbIdentity | undefined
}

export function* checkMayDelete(
  tx: ReadTx,
  existing: Pick<Existing, 'view' | 'directoryId' | 'node'>,
  identity: SmbIdentity | undefined,
): Step<void> {
  const rights = yield* rightsOn(tx, existing, identity)
  if ((rights & DELETE) === 0) throw new SmbRefused('ACCESS_DENIED')
}

/** Without a privilege, a user can make only itself the owner. */
export function checkOwner(self: Sid | undefined, next: Sid | undefined, old?: Sid): void {
  if (self === undefined || next === undefined || next === self || next === old) return
  throw new SmbRefused('INVALID_OWNER')
}
