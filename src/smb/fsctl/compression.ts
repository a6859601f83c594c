// FSCTL_GET_COMPRESSION and FSCTL_SET_COMPRESSION ([MS-FSCC] 2.3.21, 2.3.67). Azure Files compresses nothing.
import { SmbError } from '../smb-error.ts'
import { decodeCompressionState, encodeCompressionState } from '../wire/file/fsctl.ts'
import { NO_OUTPUT, requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

const COMPRESSION_FORMAT_NONE = 0

export function runGetCompression(call: FsctlCall): FsctlReply {
  requireFile(call)
  const output = encodeCompressionState(COMPRESSION_FORMAT_NONE)
  if (call.outputMaxBytes < output.length) throw new SmbError('INVALID_PARAMETER')
  return { output }
}

export function runSetCompression(call: FsctlCall): FsctlReply {
  requireFile(call)
  const format = decodeCompressionState(call.input)
  if (format !== COMPRESSION_FORMAT_NONE) throw new SmbError('NOT_SUPPORTED')
  return { output: NO_OUTPUT }
}
