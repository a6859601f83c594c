// The space that a client requests when it opens a file (SMB2_CREATE_ALLOCATION_SIZE). The handle reports it for as long
// as it lives. No space is reserved: a share has no disk of its own.
import type { FileHandle } from '../world.ts'

const STATE_KEY = 'allocatedBytes'

type StatefulHandle = Pick<FileHandle, 'commandState'>

export function setAllocation({ commandState }: StatefulHandle, lengthBytes: number): void {
  commandState.set(STATE_KEY, lengthBytes)
}

export function allocatedBytesOf({ commandState }: StatefulHandle): number {
  const allocated = commandState.get(STATE_KEY)
  return typeof allocated === 'number' ? allocated : 0
}
