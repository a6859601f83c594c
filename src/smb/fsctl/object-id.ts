// FSCTL_CREATE_OR_GET_OBJECT_ID ([MS-FSCC] 2.3.7). Azure Files stores no object ids, and none can be set. The answer
// is built from the ids of share and node, which identify the file; Samba does the same.
import { SmbError } from '../smb-error.ts'
import { requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

/** FILE_OBJECTID_BUFFER type 1: ObjectId, BirthVolumeId, BirthObjectId, DomainId */
const OBJECT_ID_BYTES = 64

export function runCreateOrGetObjectId(call: FsctlCall): FsctlReply {
  const { open } = requireFile(call)
  if (call.outputMaxBytes < OBJECT_ID_BYTES) throw new SmbError('INVALID_PARAMETER')
  const output = Buffer.alloc(OBJECT_ID_BYTES)
  for (const at of [0, 32]) {
    output.writeBigUInt64LE(BigInt(open.shareId), at)
    output.writeBigUInt64LE(BigInt(open.nodeId), at + 8)
  }
  output.writeBigUInt64LE(BigInt(open.shareId), 16)
  return { output }
}
