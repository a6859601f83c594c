// The space that a client has asked for when it opened a file (SMB2_CREATE_ALLOCATION_SIZE): shown for as long as
// the handle lives. Nothing is set aside for it: a share has no place of its own on a disk.
import type { FileHandle } from '../world.ts'

const KEY = 'allocatedBytes'

export function keepAllocation({ kept }: Pick<FileHandle, 'kept'>, lengthBytes: number): void {
  kept.set(KEY, lengthBytes)
}

export function allocatedBytesOf({ kept }: Pick<FileHandle, 'kept'>): number {
  const allocated = kept.get(KEY)
  return typeof allocated === 'number' ? allocated : 0
}
