// The access rights of an open: decodes the desired access, with generic rights mapped to file rights ([MS-SMB2]
// 2.2.13.1), and grants what the file allows. A read-only file or a snapshot can't be opened for writing, whatever the
// descriptors say ([MS-FSA] 2.1.5.1.2.1).
import { ACCESS, mapGenericRights } from '../security/access-check.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import type { FileNode } from '../tree/node.ts'
import type { ShareView } from '../share/snapshot-view.ts'
import { SmbRefused } from './smb-refused.ts'

export const WRITE_DATA = 0x2
const APPEND_DATA = 0x4
export const DELETE = 0x1_0000

/** Reserved bits: [MS-DTYP] 2.4.3. */
const RESERVED = 0x0ce0_fe00
/** FILE_GENERIC_READ and FILE_GENERIC_EXECUTE: all rights that change nothing. */
const READ_RIGHTS = 0x0012_00a9

/** Maps generic rights. MAXIMUM_ALLOWED stays, since its meaning depends on the file. */
export function decodeDesiredAccess(desired: number): number {
  if (desired === 0 || (desired & RESERVED) !== 0) throw new SmbRefused('ACCESS_DENIED')
  return mapGenericRights(desired)
}

/** The rights that can be granted; on a new node, all. */
export function maximalAccess(
  { snapshot }: Pick<ShareView, 'snapshot'>,
  node?: Pick<FileNode, 'kind' | 'attributes'>,
): number {
  if (snapshot !== undefined) return READ_RIGHTS
  const isReadOnly = node?.kind === 'file' && (node.attributes & READ_ONLY) !== 0
  return isReadOnly ? ACCESS.all & ~(WRITE_DATA | APPEND_DATA) : ACCESS.all
}

/** `desired` is the result of decodeDesiredAccess; `allowed` is what the descriptors allow (identity-access.ts). */
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
  // [MS-FSA] 2.1.5.1.2.1: MAXIMUM_ALLOWED is refused if there is no right at all.
  if (granted === 0) throw new SmbRefused('ACCESS_DENIED')
  if (view.snapshot !== undefined) return grantInSnapshot(granted & maximal)
  if ((named & ~maximal & ~ACCESS.systemSecurity) !== 0) throw new SmbRefused('ACCESS_DENIED')
  return granted
}

/** Like Windows and Samba, allows opening a snapshot for writing, but leaves out the write rights. */
function grantInSnapshot(granted: number): number {
  if (granted === 0) throw new SmbRefused('MEDIA_WRITE_PROTECTED')
  return granted
}
