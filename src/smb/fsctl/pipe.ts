// FSCTL_PIPE_TRANSCEIVE, FSCTL_PIPE_PEEK, FSCTL_PIPE_WAIT ([MS-FSCC] 2.3.50 to 2.3.54).
import { openPipe } from '../rpc/pipe.ts'
import { SmbError } from '../smb-error.ts'
import { asBuffer } from '../handle/transfer.ts'
import { decodePipeWait, encodePipePeek } from '../wire/file/fsctl.ts'
import { rpcWorldOf } from '../rpc/pipe-world.ts'
import { NO_OUTPUT, requirePipe, type FsctlCall, type FsctlReply } from './fsctl.ts'

export function runPipeTransceive(call: FsctlCall): FsctlReply {
  const { pipe } = requirePipe(call)
  if (pipe.isDisconnected()) throw new SmbError('PIPE_DISCONNECTED')
  const { bytes, more } = pipe.transceive(call.input, call.outputMaxBytes)
  const output = asBuffer(bytes)
  return more ? { status: 'BUFFER_OVERFLOW', output } : { output }
}

const PEEK_HEAD_BYTES = 16

/** Returns unread bytes and leaves them in the pipe. */
export function runPipePeek(call: FsctlCall): FsctlReply {
  const { pipe } = requirePipe(call)
  if (call.outputMaxBytes < PEEK_HEAD_BYTES) throw new SmbError('INVALID_PARAMETER')
  if (pipe.isDisconnected()) throw new SmbError('PIPE_DISCONNECTED')
  const { bytes, more } = pipe.peek(call.outputMaxBytes - PEEK_HEAD_BYTES)
  const output = encodePipePeek(pipe.unreadBytes(), asBuffer(bytes))
  return more ? { status: 'BUFFER_OVERFLOW', output } : { output }
}

/** Pipes are always available, so no client ever waits for an instance. */
export async function runPipeWait(call: FsctlCall): Promise<FsctlReply> {
  const { name } = decodePipeWait(call.input)
  if (openPipe(name, await rpcWorldOf(call)) === undefined) {
    throw new SmbError('OBJECT_NAME_NOT_FOUND')
  }
  return { output: NO_OUTPUT }
}
