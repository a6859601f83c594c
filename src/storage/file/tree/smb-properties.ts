// Attributes, times, permission and, on NFS shares, owner and mode of a file: how a request changes them. REST and SMB
// decode their own formats into these types.
import { memoize } from '../../../memory/memoize.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { ARCHIVE } from './attributes.ts'
import { fileTimeOf, msOfFileTime, type FileTime } from './file-time.ts'
import { getNode, type FileNode, type NodeKind } from './node.ts'
import { requirePermission, storePermission } from '../security/permission.ts'
import { inheritDescriptor, type Creator } from '../security/security-descriptor-inherit.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../security/security-descriptor.ts'
import type { Share } from '../share/share.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** `source` is for copies only. A time that is left out does not change. */
export type TimeChange = 'now' | 'source' | { readonly at: FileTime }

/**
 * A key of the share's permission store, a descriptor to store there, or the permission inherited from the directory: as
 * the account's ('inherit') or as a user's.
 */
export type PermissionChange =
  | 'inherit'
  | { readonly creator: Creator }
  | { readonly key: string }
  | { readonly descriptorBytes: Uint8Array }

/** x-ms-owner, x-ms-group, x-ms-mode. */
export type PosixProperties = {
  readonly owner?: string
  readonly group?: string
  readonly mode?: string
}

/** Properties that are left out don't change; in a new node they get their defaults. */
export type SmbProperties = {
  /** FILE_ATTRIBUTE_*, all of them. */
  readonly attributes?: number | 'source'
  readonly creationTime?: TimeChange
  readonly lastWriteTime?: TimeChange
  readonly changeTime?: TimeChange
  readonly lastAccessTime?: TimeChange
  readonly permission?: PermissionChange
  readonly posix?: PosixProperties
}

type Applied = Pick<
  FileNode,
  'attributes' | 'creationTime' | 'lastWriteTime' | 'changeTime' | 'permissionKey'
> &
  Partial<Pick<FileNode, 'owner' | 'group' | 'mode' | 'lastAccessTime'>>

/** Where a node is or will be; it may inherit its permission from the directory. */
export type Place = {
  readonly share: Share
  readonly view: ShareView
  readonly directoryId: number
}

/** The properties of a new node. */
export function* newProperties(
  tx: Tx,
  place: Place,
  kind: NodeKind,
  properties: SmbProperties,
  { nowMs }: Moment,
): Step<Applied> {
  const { attributes = 0, permission = 'inherit' } = properties
  const now = fileTimeOf(nowMs)
  const posix = posixOf(place.share, kind, properties.posix)
  return {
    attributes: attributes === 'source' ? 0 : attributes,
    creationTime: timeOf(properties.creationTime, now) ?? now,
    lastWriteTime: timeOf(properties.lastWriteTime, now) ?? now,
    changeTime: timeOf(properties.changeTime, now) ?? now,
    permissionKey: yield* permissionKeyFor(tx, place, kind, permission),
    ...posix,
  }
}

/** The properties of a node after a change. `changeTime` is now unless it is given. */
export function* changedProperties(
  tx: Tx,
  place: Place,
  node: FileNode,
  properties: SmbProperties,
  { nowMs }: Moment,
): Step<Applied> {
  const { attributes, permission, lastAccessTime } = properties
  const now = fileTimeOf(nowMs)
  const accessed = timeOf(lastAccessTime, now)
  const posix = properties.posix && changedPosix(place.share, node, properties.posix)
  return {
    attributes: typeof attributes === 'number' ? attributes : node.attributes,
    creationTime: timeOf(properties.creationTime, now) ?? node.creationTime,
    lastWriteTime: timeOf(properties.lastWriteTime, now) ?? node.lastWriteTime,
    changeTime: timeOf(properties.changeTime, now) ?? now,
    permissionKey:
      permission === undefined
        ? node.permissionKey
        : yield* permissionKeyFor(tx, place, node.kind, permission),
    ...(accessed !== undefined && { lastAccessTime: accessed }),
    ...posix,
  }
}

function timeOf(change: TimeChange | undefined, now: FileTime): FileTime | undefined {
  if (change === undefined || change === 'source') return undefined
  return change === 'now' ? now : change.at
}

/** A node created with a change time gets it as Last-Modified, as recorded answers show; a renamed node does not. */
export function createdModifiedMs({ changeTime }: SmbProperties): { readonly modifiedMs?: number } {
  return typeof changeTime === 'object' ? { modifiedMs: msOfFileTime(changeTime.at) } : {}
}

/** x-ms-file-property-semantics: a new file gets the Archive attribute, since no backup contains it yet. */
export function withArchive(properties: SmbProperties): SmbProperties {
  const { attributes = 0 } = properties
  return attributes === 'source' ? properties : { ...properties, attributes: attributes | ARCHIVE }
}

export function* permissionKeyFor(
  tx: Tx,
  place: Place,
  kind: NodeKind,
  change: PermissionChange,
): Step<string> {
  const { id: shareId } = place.share
  if (change === 'inherit') return yield* inheritedKey(tx, place, kind)
  if ('creator' in change) return yield* inheritedKey(tx, place, kind, change.creator)
  if ('descriptorBytes' in change)
    return yield* storePermission(tx, shareId, change.descriptorBytes)
  yield* requirePermission(tx, shareId, change.key)
  return change.key
}

function* inheritedKey(
  tx: Tx,
  { share, view, directoryId }: Place,
  kind: NodeKind,
  creator?: Creator,
): Step<string> {
  const directory = yield* requireDirectory(tx, view, directoryId)
  const bytes = yield* requirePermission(tx, share.id, directory.permissionKey)
  const text = Buffer.from(bytes).toString('latin1')
  const isDirectory = kind === 'directory'
  const inherit = isDirectory ? inheritForDirectory : inheritForFile
  const inherited =
    creator === undefined
      ? inherit(text)
      : inheritForCreator([isDirectory ? 1 : 0, creator.owner, creator.group, text].join(' '))
  return yield* storePermission(tx, share.id, inherited)
}

function* requireDirectory(tx: ReadTx, view: ShareView, directoryId: number): Step<FileNode> {
  const directory = yield* getNode(tx, view, directoryId)
  if (directory === undefined) throw new StorageError('ParentNotFound')
  return directory
}

// Most files of a share inherit the same few descriptors.
const inheritForFile = memoize((latin1) => inheritedBytes(latin1, false))
const inheritForDirectory = memoize((latin1) => inheritedBytes(latin1, true))

const inheritForCreator = memoize((text) => {
  const [isDirectory, owner = '', group = '', ...latin1] = text.split(' ')
  return inheritedBytes(latin1.join(' '), isDirectory === '1', { owner, group })
})

function inheritedBytes(latin1: string, isDirectory: boolean, creator?: Creator): Uint8Array {
  const parent = decodeSecurityDescriptor(Buffer.from(latin1, 'latin1'))
  return encodeSecurityDescriptor(inheritDescriptor(parent, isDirectory, creator))
}

// The defaults of "Create File" and "Create Directory"; the mode of a link has no effect.
const MODES: Readonly<Record<NodeKind, string>> = {
  directory: '0755',
  file: '0664',
  symlink: '0777',
}

function changedPosix(share: Share, node: FileNode, posix: PosixProperties): PosixProperties {
  const { owner = '0', group = '0', mode = MODES[node.kind] } = node
  if (share.enabledProtocol !== 'NFS') return posixOf(share, node.kind, posix)
  return posixOf(share, node.kind, { owner, group, mode, ...posix })
}

function posixOf(share: Share, kind: NodeKind, posix: PosixProperties = {}): PosixProperties {
  if (share.enabledProtocol !== 'NFS') {
    const [name] = Object.entries(posix).find(([, value]) => value !== undefined) ?? []
    if (name === undefined) return {}
    throw new StorageError('UnsupportedHeader', { HeaderName: `x-ms-${name}` })
  }
  return {
    owner: posix.owner ?? '0',
    group: posix.group ?? '0',
    mode: posix.mode ?? MODES[kind],
  }
}
