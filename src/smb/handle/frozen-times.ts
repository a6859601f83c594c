// The times of a file that a handle has stopped from moving (SET_INFO); its writes and changes leave them.
import type { FrozenTimes } from '../../storage/file/tree/set-basic.ts'
import type { FileHandle } from '../world.ts'

const KEPT = 'frozenTimes'

export function frozenTimesOf({ kept }: Pick<FileHandle, 'kept'>): FrozenTimes {
  return (kept.get(KEPT) as FrozenTimes | undefined) ?? {}
}

export function keepFrozenTimes({ kept }: Pick<FileHandle, 'kept'>, frozen: FrozenTimes): void {
  kept.set(KEPT, frozen)
}
