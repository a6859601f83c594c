// Security descriptors over SMB: queries and replaces sections of a file's descriptor in the share's permission store
// ([MS-SMB2] 3.3.5.20.3, 3.3.5.21.3).
import { selectDescriptor } from '../../storage/file/security/security-descriptor-section.ts'
import {
  CONTROL,
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
} from '../../storage/file/security/security-descriptor.ts'
import { RIGHT, requireRights } from './access.ts'
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import type { Information } from '../wire/information/information.ts'
import { SECURITY_PART, type QueryInfoRequest } from '../wire/information/query-info.ts'
import type { SetInfoRequest } from '../wire/information/set-info.ts'
import { permissionOf, replaceSections } from '../../storage/file/security/opened-security.ts'

const { owner, group, dacl, sacl } = SECURITY_PART

/** READ_CONTROL, except for the SACL; no right for a query of no section ([MS-FSA] 2.1.5.14). */
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
  if (bytes.length > outputMaxBytes) throw new SmbError('BUFFER_TOO_SMALL', u32(bytes.length))
  return { status: 'SUCCESS', bytes }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value, 0)
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
  // Setting an absent DACL sets a NULL DACL, as in Windows and Samba.
  const present = (additionalInformation & dacl) === 0 ? 0 : CONTROL.daclPresent
  const next = { ...given, control: given.control | present }
  const change = { self, next, sections: additionalInformation }
  const moment = call.world.moment()
  await call.world.kv.write((tx) => replaceSections(tx, tree, handle.open, change, moment))
}
