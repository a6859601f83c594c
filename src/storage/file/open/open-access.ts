// What an open may do: the rights that are asked for, generic ones as those of files ([MS-SMB2] 2.2.13.1), and
// what of them is given on a file as it is. Whatever else is allowed, nobody writes to a read-only file or to a
// snapshot ([MS-FSA] 2.1.5.1.2.1).
import { ACCESS, mapGenericRights } from '../security/access-check.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import type { FileNode } from '../tree/node.ts'
import type { ShareView } from '../share/snapshot-view.ts'
import { SmbRefused } from './smb-refused.ts'

export const WRITE_DATA = 0x2
const APPEND_DATA = 0x4
export const DELETE = 0x1_0000

/** Bits that mean nothing: [MS-DTYP] 2.4.3. */
const RESERVED = 0x0ce0_fe00
/** FILE_GENERIC_READ and FILE_GENERIC_EXECUTE: all that nothing is changed with. */
const READ_RIGHTS = 0x0012_00a9

/** With generic rights mapped. MAXIMUM_ALLOWED stays: what that is depends on the file. */
export function decodeDesiredAccess(desired: number): number {
  if (desired === 0 || (desired & RESERVED) !== 0) throw new SmbRefused('ACCESS_DENIED')
  return mapGenericRights(desired)
}

/** All that can be asked for; of something new, everything. */
export function maximalAccess(
  { snapshot }: Pick<ShareView, 'snapshot'>,
  node?: Pick<FileNode, 'kind' | 'attributes'>,
): number {
  if (snapshot !== undefined) return READ_RIGHTS
  const isReadOnly = node?.kind === 'file' && (node.attributes & READ_ONLY) !== 0
  return isReadOnly ? ACCESS.all & ~(WRITE_DATA | APPEND_DATA) : ACCESS.all
}

/** `desired` as decodeDesiredAccess has it; `allowed` is what the descriptors allow (identity-access.ts). */
export function grantAccess(
  desired: number,
  view: Pick<ShareView, 'snapshot'>,
  node?: Pick<FileNode, 'kind' | 'attributes'>,
  allowed: number = ACCESS.all | ACCESS.systemSecurity,
): number {
  const maximal = maximalAccess(view, node) & allowed
  const named = desired & ~ACCESS.maximumAllowed
  if ((named & ~allowed) !== 0) throw new SmbRefused('ACCESS_DENIED')
  const granted = (desired & ACCESS.maximumAllowed) === 0 ? named : named | maximal
  // [MS-FSA] 2.1.5.1.2.1: whoever asks for all there is and has no right at all does not open it.
  if (granted === 0) throw new SmbRefused('ACCESS_DENIED')
  if (view.snapshot !== undefined) return grantInSnapshot(granted & maximal)
  if ((named & ~maximal & ~ACCESS.systemSecurity) !== 0) throw new SmbRefused('ACCESS_DENIED')
  return granted
}

/** Windows and Samba open a snapshot to write, too, and refuse the writes: the rights to them are left out. */
function grantInSnapshot(granted: number): number {
  if (granted === 0) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
  return granted
}
