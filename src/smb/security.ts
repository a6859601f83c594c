// Security descriptors over SMB: parts of what the share's permission store has for a file, shown and replaced
// ([MS-SMB2] 3.3.5.20.3, 3.3.5.21.3).
import type { ReadTx, Step } from '../kv/kv.ts'
import { setNodeProperties } from '../storage/file/file-properties.ts'
import { checkOwner } from '../storage/file/identity-access.ts'
import type { FileOpen, FileTx } from '../storage/file/open.ts'
import { requireOpened } from '../storage/file/opened-node.ts'
import { requirePermission } from '../storage/file/permission.ts'
import { mergeDescriptor, selectDescriptor } from '../storage/file/security-descriptor-section.ts'
import {
  CONTROL,
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
  type SecurityDescriptor,
} from '../storage/file/security-descriptor.ts'
import type { Moment } from '../storage/moment.ts'
import { RIGHT, requireRights } from './access.ts'
import { requireDisk, requireSession, type DiskTree, type SmbCall } from './call.ts'
import type { FileHandle } from './handle.ts'
import { SmbError } from './smb-error.ts'
import type { Information } from './wire/information.ts'
import { SECURITY_PART, type QueryInfoRequest } from './wire/query-info.ts'
import type { SetInfoRequest } from './wire/set-info.ts'

const { owner, group, dacl, sacl } = SECURITY_PART

/** READ_CONTROL, but for the SACL; who asks for nothing gets it without ([MS-FSA] 2.1.5.14). */
function readRights(sections: number): number {
  const isSacl = (sections & sacl) !== 0
  const isOther = (sections & (owner | group | dacl)) !== 0
  return (isSacl ? RIGHT.systemSecurity : 0) | (isOther ? RIGHT.readControl : 0)
}

function writeRights(sections: number): number {
  return (
    ((sections & (owner | group)) !== 0 ? RIGHT.writeOwner : 0) |
    ((sections & dacl) !== 0 ? RIGHT.writeDacl : 0) |
    ((sections & sacl) !== 0 ? RIGHT.systemSecurity : 0)
  )
}

export async function querySecurity(
  call: SmbCall,
  handle: FileHandle,
  { additionalInformation, outputMaxBytes }: QueryInfoRequest,
): Promise<Information> {
  requireRights(handle, readRights(additionalInformation))
  const tree = requireDisk(call)
  const stored = await call.world.kv.read((tx) => permissionOf(tx, tree, handle.open))
  const descriptor = selectDescriptor(decodeSecurityDescriptor(stored), additionalInformation)
  const bytes = Buffer.from(encodeSecurityDescriptor(descriptor))
  if (bytes.length > outputMaxBytes) throw new SmbError('BUFFER_TOO_SMALL', needed(bytes.length))
  return { status: 'SUCCESS', bytes }
}

function* permissionOf(tx: ReadTx, tree: DiskTree, open: FileOpen): Step<Uint8Array> {
  const { node, view } = yield* requireOpened(tx, tree, open)
  return yield* requirePermission(tx, view.shareId, node.permissionKey)
}

function needed(lengthBytes: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(lengthBytes, 0)
  return bytes
}

export async function setSecurity(
  call: SmbCall,
  handle: FileHandle,
  { additionalInformation, input }: SetInfoRequest,
): Promise<void> {
  requireRights(handle, writeRights(additionalInformation))
  const tree = requireDisk(call)
  const self = requireSession(call).identity?.sid
  const given = decodeSecurityDescriptor(input)
  // A DACL that is set and isn't there is NULL, as Windows and Samba take it.
  const present = (additionalInformation & dacl) === 0 ? 0 : CONTROL.daclPresent
  const next = { ...given, control: given.control | present }
  const change = { self, next, sections: additionalInformation }
  const moment = call.world.moment()
  await call.world.kv.write((tx) => replaceSections(tx, tree, handle.open, change, moment))
}

type SecurityChange = {
  /** Who asks; undefined for the account itself. */
  readonly self: string | undefined
  readonly next: SecurityDescriptor
  readonly sections: number
}

function* replaceSections(
  tx: FileTx,
  tree: DiskTree,
  open: FileOpen,
  { self, next, sections }: SecurityChange,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, tree, open)
  const { node, view } = opened
  const stored = yield* requirePermission(tx, view.shareId, node.permissionKey)
  const old = decodeSecurityDescriptor(stored)
  if ((sections & owner) !== 0) checkOwner(self, next.owner, old.owner)
  const descriptorBytes = encodeSecurityDescriptor(mergeDescriptor(old, next, sections))
  const properties = { permission: { descriptorBytes } }
  yield* setNodeProperties(tx, opened, { properties }, moment)
}
