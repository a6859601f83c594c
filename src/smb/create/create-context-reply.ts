// The contexts of CREATE's response ([MS-SMB2] 2.2.14.2), except those of caches and durable handles.
import type { Opened } from '../../storage/file/open/smb-open.ts'
import { fileIdOf } from '../handle/file-facts.ts'
import { volumeSerialNumber } from '../handle/volume.ts'
import {
  encodeMaximalAccessContext,
  encodeOnDiskIdContext,
  type CreateContexts,
  type ResponseContext,
} from '../wire/file/create-context.ts'
import { NT_STATUS } from '../wire/status.ts'

export function contextsOf(
  { queryMaximalAccess, queryOnDiskId }: CreateContexts,
  { open, node, maximalAccess }: Opened,
): readonly ResponseContext[] {
  const { shareId } = open
  return [
    ...(queryMaximalAccess ? [encodeMaximalAccessContext(NT_STATUS.SUCCESS, maximalAccess)] : []),
    ...(queryOnDiskId
      ? [encodeOnDiskIdContext(fileIdOf(shareId, node), BigInt(volumeSerialNumber(shareId)))]
      : []),
  ]
}
