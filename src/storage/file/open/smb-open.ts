// CREATE as one transaction: opens or creates a file or directory, checked against all other opens. If other clients
// must give up cached data first, it breaks their caches and is run again when they have acknowledged.
import type { MustWait } from '../cache/smb-cache.ts'
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { ACCESS } from '../security/access-check.ts'
import { grantCache, isLeasedElsewhere } from '../cache/cache-grant.ts'
import { createDirectory, createFile } from '../tree/create.ts'
import { isLeased } from '../tree/file-lease.ts'
import { checkMayAdd, checkMayOverwrite, rightsOn } from '../security/identity-access.ts'
import { locateIn, ROOT_ID, type Existing, type FileNode, type Located } from '../tree/node.ts'
import { DELETE, grantAccess, maximalAccess, WRITE_DATA } from './open-access.ts'
import {
  checkKind,
  checkOverwrite,
  overwrittenFile,
  propertiesOfNew,
  viewToOpen,
  type NewProperties,
} from './open-place.ts'
import {
  holdersOf,
  isDeletePending,
  opensOf,
  putOpen,
  SHARE_DELETE,
  SHARE_WRITE,
  type CacheHolder,
  type FileOpen,
  type FileTx,
} from './open.ts'
import { putPersistentOpen } from './persistent-open.ts'
import { sharedAccessOf } from './rest-access.ts'
import type { ShareAddress } from '../share/share.ts'
import { isSharingViolation } from './share-mode.ts'
import { breakHolders, breaksForOpen, type CacheRequest } from '../cache/smb-cache.ts'
import { checkDeletable } from './smb-disposition.ts'
import type { SmbIdentity } from '../security/smb-identity.ts'
import { SmbRefused } from './smb-refused.ts'

export type Disposition = 'supersede' | 'open' | 'create' | 'openIf' | 'overwrite' | 'overwriteIf'
export type CreateAction = 'superseded' | 'opened' | 'created' | 'overwritten'

/** [MS-SMB2] 2.2.13: the outcome for an existing name, and for a new one. */
// prettier-ignore
const DISPOSITIONS: Readonly<Record<Disposition, readonly [present: CreateAction | 'ResourceAlreadyExists', absent: 'created' | 'ResourceNotFound']>> = {
  supersede:   ['superseded',            'created'],
  open:        ['opened',                'ResourceNotFound'],
  create:      ['ResourceAlreadyExists', 'created'],
  openIf:      ['opened',                'created'],
  overwrite:   ['overwritten',           'ResourceNotFound'],
  overwriteIf: ['overwritten',           'created'],
}

/** "Azure Files scalability and performance targets" */
const OPENS_MAX = 2_000
const ROOT_OPENS_MAX = 10_000

export type OpenRequest = {
  readonly address: Pick<ShareAddress, 'account' | 'share'>
  /** The share that the client has connected to; by now, another share may have its name. */
  readonly shareId: number
  /** The second of the snapshot to open. */
  readonly snapshotMs?: number
  readonly path: readonly string[]
  readonly disposition: Disposition
  /** FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE */
  readonly wants: 'directory' | 'file' | 'any'
  /** Decoded by open-access.ts. */
  readonly desiredAccess: number
  /** All fields of the record that don't depend on the node. */
  readonly open: Omit<
    FileOpen,
    'shareId' | 'nodeId' | 'parentId' | 'path' | 'isDirectory' | 'access' | 'snapshot'
  >
  /** For a new or overwritten file. */
  readonly properties: NewProperties
  readonly cache: CacheRequest | undefined
  /** The request has already waited for breaks. */
  readonly hasWaited?: boolean
  readonly newNodeId: number
  /** The user; left out, the account itself, which may do everything. */
  readonly identity?: SmbIdentity
}

export type Opened = {
  readonly kind: 'opened'
  readonly action: CreateAction
  readonly open: FileOpen
  readonly node: FileNode
  /** All rights that the client could have requested. */
  readonly maximalAccess: number
  /** The granted oplock or lease. */
  readonly cache: CacheHolder | undefined
}

export type OpenOutcome = Opened | MustWait

export function* openFile(tx: FileTx, request: OpenRequest, moment: Moment): Step<OpenOutcome> {
  const { identity, desiredAccess, open } = request
  // [MS-FSA] 2.1.5.1, phase 1: DELETE must be requested explicitly; MAXIMUM_ALLOWED does not count.
  if (open.deleteOnClose === true && (desiredAccess & DELETE) === 0) {
    throw new SmbRefused('INVALID_PARAMETER')
  }
  if (identity !== undefined && (desiredAccess & ACCESS.systemSecurity) !== 0) {
    throw new SmbRefused('PRIVILEGE_NOT_HELD')
  }
  const { share, view } = yield* viewToOpen(tx, request)
  const located = yield* locateIn(tx, share, view, request.path)
  const { node } = located
  const place = node && { shareId: view.shareId, nodeId: node.nodeId }
  if (yield* isLeasedElsewhere(tx, request.cache, place)) throw new SmbRefused('INVALID_PARAMETER')
  const [present, absent] = DISPOSITIONS[request.disposition]
  if (node === undefined) {
    if (absent === 'ResourceNotFound') throw new StorageError(absent)
    return yield* openNew(tx, located, request, moment)
  }
  const isPresent = view.snapshot === undefined
  if (isPresent && (yield* isDeletePending(tx, view.shareId, node.nodeId))) {
    throw new StorageError('SMBDeletePending')
  }
  if (present === 'ResourceAlreadyExists') throw new StorageError(present)
  return yield* openExisting(tx, { ...located, node }, request, present, moment)
}

function* openNew(
  tx: FileTx,
  located: Located,
  request: OpenRequest,
  moment: Moment,
): Step<Opened> {
  const { view, directoryId } = located
  if (view.snapshot !== undefined) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
  if (yield* isDeletePending(tx, view.shareId, directoryId)) {
    throw new StorageError('SMBDeletePending')
  }
  const { newNodeId: nodeId, open, wants } = request
  if (open.deleteOnClose === true) checkDeletable({ nodeId, ...request.properties })
  const kind = wants === 'directory' ? 'directory' : 'file'
  yield* checkMayAdd(tx, located, kind, request.identity)
  const properties = yield* propertiesOfNew(tx, located, kind, request.properties)
  const node =
    kind === 'directory'
      ? yield* createDirectory(tx, located, { nodeId, properties }, moment)
      : yield* createFile(tx, located, { nodeId, properties, lengthBytes: 0 }, moment)
  // The creator gets the requested access, whatever the new descriptor allows.
  const access = grantAccess(request.desiredAccess, view)
  const existing = { ...located, node }
  const allowed = yield* rightsOn(tx, existing, request.identity)
  return yield* grant(tx, existing, request, { action: 'created', access, allowed })
}

function* openExisting(
  tx: FileTx,
  located: Existing,
  request: OpenRequest,
  action: CreateAction,
  moment: Moment,
): Step<OpenOutcome> {
  const { node, view } = located
  const willOverwrite = action !== 'opened'
  checkKind(node, request.wants, willOverwrite)
  const allowed = yield* rightsOn(tx, located, request.identity)
  const access = grantAccess(request.desiredAccess, view, node, allowed)
  if (willOverwrite) {
    yield* checkMayOverwrite(tx, located, { action, allowed, identity: request.identity })
    checkOverwrite(view, node, request.properties)
  }
  if (request.open.deleteOnClose === true) {
    if (view.snapshot !== undefined) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
    checkDeletable(node)
  }
  // Overwriting is a write, whatever access was requested.
  const used = willOverwrite ? access | WRITE_DATA : access
  const granted = { action, access, allowed }
  if (view.snapshot !== undefined) return yield* grant(tx, located, request, granted)
  const wait = yield* checkOthers(tx, located, request, { used, willOverwrite }, moment)
  if (wait !== undefined) return wait
  if (action !== 'superseded' && action !== 'overwritten') {
    return yield* grant(tx, located, request, granted)
  }
  const file = yield* overwrittenFile(tx, located, request.properties, action)
  const written = yield* createFile(tx, located, file, moment)
  const after = { ...located, node: written }
  const allowedAfter = yield* rightsOn(tx, after, request.identity)
  return yield* grant(tx, after, request, { ...granted, allowed: allowedAfter })
}

type Use = { readonly used: number; readonly willOverwrite: boolean }

/** Checks REST leases and copies, breaks caches, and checks share modes, in the order that clients rely on. */
function* checkOthers(
  tx: FileTx,
  { node, view }: Existing,
  request: OpenRequest,
  { used, willOverwrite }: Use,
  moment: Moment,
): Step<MustWait | undefined> {
  const at = { shareId: view.shareId, nodeId: node.nodeId }
  const changes = (sharedAccessOf(used) & (SHARE_WRITE | SHARE_DELETE)) !== 0
  if (changes && isLeased(node, moment.nowMs)) throw new StorageError('SharingViolation')
  if (changes && node.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  const opens = (yield* opensOf(tx, at.shareId, at.nodeId)).filter(
    ({ snapshot }) => snapshot === undefined,
  )
  const { shareAccess } = request.open
  const hasSharingViolation = isSharingViolation(opens, { access: used, shareAccess })
  const holders = yield* holdersOf(tx, at.shareId, at.nodeId)
  const { breaks, mustWait } = breaksForOpen(holders, {
    access: used,
    hasSharingViolation,
    willOverwrite,
    holder: request.cache?.holder,
    isFirst: request.hasWaited !== true,
    deletesOnClose: request.open.deleteOnClose === true,
  })
  breakHolders(tx, at, breaks, mustWait)
  if (mustWait) return { kind: 'wait', ...at }
  if (hasSharingViolation) throw new StorageError('SharingViolation')
  return undefined
}

type Granted = { readonly action: CreateAction; readonly access: number; readonly allowed: number }

function* grant(
  tx: FileTx,
  { node, view, entry, name, directoryId }: Existing,
  request: OpenRequest,
  { action, access, allowed }: Granted,
): Step<Opened> {
  const { shareId, snapshot } = view
  const { nodeId } = node
  const opens = yield* opensOf(tx, shareId, nodeId)
  if (opens.length >= (nodeId === ROOT_ID ? ROOT_OPENS_MAX : OPENS_MAX)) {
    throw new SmbRefused('QUOTA_EXCEEDED')
  }
  const place = {
    access,
    shareId,
    nodeId,
    isDirectory: node.kind === 'directory',
    ...(snapshot !== undefined && { snapshot }),
  }
  const cache = yield* grantCache(tx, place, request.cache)
  const open: FileOpen = {
    ...request.open,
    ...place,
    parentId: directoryId,
    path: [...request.path.slice(0, -1), entry?.name ?? name].join('/'),
    ...(cache !== undefined && { holder: cache.holder }),
  }
  putOpen(tx, open)
  if (open.persistent !== undefined) putPersistentOpen(tx, { open, ...(cache && { cache }) })
  const maximal = maximalAccess(view, action === 'created' ? undefined : node) & allowed
  return { kind: 'opened', action, open, node, maximalAccess: maximal & ACCESS.all, cache }
}
