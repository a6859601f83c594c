// Parts of CREATE ([MS-FSA] 2.1.5.1): which view of the share it opens, whether the node has the expected kind, and the
// properties of a new or overwritten file.
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

/** The properties that a client requests for a new node. */
export type NewProperties = {
  /** The settable FILE_ATTRIBUTE_* bits. */
  readonly attributes: number
  /** SMB2_CREATE_SD_BUFFER; may lack some sections. */
  readonly descriptorBytes?: Uint8Array
  /** The user who creates the node; left out, the account. */
  readonly creator?: Creator
}

type ViewRequest = {
  readonly address: Pick<ShareAddress, 'account' | 'share'>
  readonly shareId: number
  readonly snapshotMs?: number
}

/** Clients specify a snapshot by its second; of several in that second, the last is opened. */
export function* viewToOpen(
  tx: ReadTx,
  { address, shareId, snapshotMs }: ViewRequest,
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

/** A hidden or system file can be overwritten only by a request with the same attribute. */
export function checkOverwrite(
  { snapshot }: Pick<ShareView, 'snapshot'>,
  { attributes }: Pick<FileNode, 'attributes'>,
  requested: Pick<NewProperties, 'attributes'>,
): void {
  if (snapshot !== undefined) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
  const isMismatch = (attributes & ~requested.attributes & (HIDDEN | SYSTEM)) !== 0
  if (isMismatch || (attributes & READ_ONLY) !== 0) throw new SmbRefused('ACCESS_DENIED')
}

export function* propertiesOfNew(
  tx: Tx,
  place: Place,
  kind: NodeKind,
  requested: NewProperties,
): Step<SmbProperties> {
  const { attributes } = requested
  return {
    attributes: kind === 'directory' ? attributes : attributes | ARCHIVE,
    permission: yield* permissionOf(tx, place, kind, requested),
  }
}

const ALL_SECTIONS = SECTION.owner | SECTION.group | SECTION.dacl | SECTION.sacl

/** Sections that the client's descriptor lacks are inherited from the directory. */
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

/** An overwritten file keeps everything but its bytes; a superseded one keeps only its id. */
export function* overwrittenFile(
  tx: Tx,
  { node, ...place }: Existing,
  requested: NewProperties,
  action: 'overwritten' | 'superseded',
): Step<NewFile> {
  const { nodeId, metadata, headers, creationTime, permissionKey } = node
  if (action === 'superseded') {
    const properties = yield* propertiesOfNew(tx, place, 'file', requested)
    return { nodeId, properties, lengthBytes: 0 }
  }
  return {
    nodeId,
    properties: {
      attributes: requested.attributes | ARCHIVE,
      creationTime: { at: creationTime },
      permission: { key: permissionKey },
    },
    metadata,
    ...(headers !== undefined && { headers }),
    lengthBytes: 0,
  }
}
