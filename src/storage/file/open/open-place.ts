// What CREATE finds at a name, and what it makes of it: which state of the share it looks at, whether that is what
// the client takes it for, and what a new or an overwritten file is like ([MS-FSA] 2.1.5.1).
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { STAMPS_PER_MS } from '../../../node/moment.ts'
import { ARCHIVE, HIDDEN, READ_ONLY, SYSTEM } from '../tree/attributes.ts'
import type { NewFile } from '../tree/create.ts'
import { checkOwner } from '../security/identity-access.ts'
import type { Existing, FileNode, NodeKind } from '../tree/node.ts'
import { requirePermission } from '../security/permission.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../security/security-descriptor.ts'
import type { Creator } from '../security/security-descriptor-inherit.ts'
import { mergeDescriptor, SECTION } from '../security/security-descriptor-section.ts'
import { requireShare, shareSnapshots, type Share, type ShareAddress } from '../share/share.ts'
import {
  permissionKeyFor,
  type PermissionChange,
  type Place,
  type SmbProperties,
} from '../tree/smb-properties.ts'
import { SmbRefused } from './smb-refused.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** What a client says of something new. */
export type NewProperties = {
  /** Of FILE_ATTRIBUTE_* those that can be set. */
  readonly attributes: number
  /** SMB2_CREATE_SD_BUFFER; some parts may be left out of it. */
  readonly descriptorBytes?: Uint8Array
  /** A user who makes it; left out, the account does. */
  readonly creator?: Creator
}

export type Viewed = {
  readonly address: Pick<ShareAddress, 'account' | 'share'>
  readonly shareId: number
  readonly snapshotMs?: number
}

/** Clients name a snapshot by its second: of several, the last one is meant. */
export function* viewToOpen(
  tx: ReadTx,
  { address, shareId, snapshotMs }: Viewed,
): Step<{ readonly share: Share; readonly view: ShareView }> {
  const share = yield* requireShare(tx, address)
  if (share.id !== shareId) throw new StorageError('ShareNotFound')
  const view = { shareId, lastSnapshot: share.lastSnapshot }
  if (snapshotMs === undefined) return { share, view }
  const found = (yield* shareSnapshots(tx, shareId)).findLast(
    ({ snapshot }) => secondOf(snapshot / STAMPS_PER_MS) === secondOf(snapshotMs),
  )
  if (found === undefined) throw new StorageError('ResourceNotFound')
  return { share, view: { ...view, snapshot: found.snapshot } }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}

export function checkKind(
  { kind }: Pick<FileNode, 'kind'>,
  wants: 'directory' | 'file' | 'any',
  willOverwrite: boolean,
): void {
  const isDirectory = kind === 'directory'
  if (wants === 'directory' && !isDirectory) throw new SmbRefused('NOT_A_DIRECTORY')
  if (wants === 'file' && isDirectory) throw new SmbRefused('FILE_IS_A_DIRECTORY')
  if (isDirectory && willOverwrite) throw new SmbRefused('INVALID_PARAMETER')
}

/** What is hidden or the system's is overwritten only by who says that it is. */
export function checkOverwrite(
  { snapshot }: Pick<ShareView, 'snapshot'>,
  { attributes }: Pick<FileNode, 'attributes'>,
  asked: Pick<NewProperties, 'attributes'>,
): void {
  if (snapshot !== undefined) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
  const isUntold = (attributes & ~asked.attributes & (HIDDEN | SYSTEM)) !== 0
  if (isUntold || (attributes & READ_ONLY) !== 0) throw new SmbRefused('ACCESS_DENIED')
}

export function* propertiesOfNew(
  tx: Tx,
  place: Place,
  kind: NodeKind,
  asked: NewProperties,
): Step<SmbProperties> {
  const { attributes } = asked
  return {
    attributes: kind === 'directory' ? attributes : attributes | ARCHIVE,
    permission: yield* permissionOf(tx, place, kind, asked),
  }
}

const ALL_SECTIONS = SECTION.owner | SECTION.group | SECTION.dacl | SECTION.sacl

/** What the client leaves out of its descriptor is handed down by the directory. */
function* permissionOf(
  tx: Tx,
  place: Place,
  kind: NodeKind,
  { descriptorBytes, creator }: NewProperties,
): Step<PermissionChange> {
  const inherit = creator === undefined ? 'inherit' : { creator }
  if (descriptorBytes === undefined) return inherit
  const given = decodeSecurityDescriptor(descriptorBytes)
  checkOwner(creator?.owner, given.owner)
  if (creator !== undefined && given.sacl !== undefined) throw new SmbRefused('PRIVILEGE_NOT_HELD')
  const inheritedKey = yield* permissionKeyFor(tx, place, kind, inherit)
  const inherited = yield* requirePermission(tx, place.share.id, inheritedKey)
  const own = mergeDescriptor(decodeSecurityDescriptor(inherited), given, ALL_SECTIONS)
  return { descriptorBytes: encodeSecurityDescriptor(own) }
}

/** Overwriting takes the bytes only; what supersedes a file is a new one in all but its id. */
export function* overwrittenFile(
  tx: Tx,
  { node, ...place }: Existing,
  asked: NewProperties,
  action: 'overwritten' | 'superseded',
): Step<NewFile> {
  const { nodeId, metadata, headers, creationTime, permissionKey } = node
  if (action === 'superseded') {
    const properties = yield* propertiesOfNew(tx, place, 'file', asked)
    return { nodeId, properties, lengthBytes: 0 }
  }
  return {
    nodeId,
    properties: {
      attributes: asked.attributes | ARCHIVE,
      creationTime: { at: creationTime },
      permission: { key: permissionKey },
    },
    metadata,
    ...(headers !== undefined && { headers }),
    lengthBytes: 0,
  }
}
