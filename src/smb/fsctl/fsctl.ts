// The context of an FSCTL. Each FSCTL has a row in the table of smb/command/ioctl.ts.
import type { SmbCall } from '../call.ts'
import type { FileHandle, Handle, PipeHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import type { FSCTL } from '../wire/file/fsctl.ts'
import type { NtStatusName } from '../wire/status.ts'

export type FsctlCall = SmbCall & {
  readonly input: Buffer
  readonly outputMaxBytes: number
  /** undefined for an FSCTL on the server. */
  readonly handle: Handle | undefined
}

export type FsctlReply = {
  readonly status?: NtStatusName
  readonly output: Buffer
}

export type Fsctl = {
  readonly name: keyof typeof FSCTL
  /** 'server': the client sends a FileId of all ones. */
  readonly on: 'server' | 'handle'
  run(call: FsctlCall): Promise<FsctlReply> | FsctlReply
}

export const NO_OUTPUT = Buffer.alloc(0)

export function requirePipe({ handle }: FsctlCall): PipeHandle {
  if (handle?.kind !== 'pipe') throw new SmbError('INVALID_DEVICE_REQUEST')
  return handle
}

export function requireFile({ handle }: FsctlCall): FileHandle {
  if (handle?.kind !== 'file') throw new SmbError('INVALID_DEVICE_REQUEST')
  return handle
}
