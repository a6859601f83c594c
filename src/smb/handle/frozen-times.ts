// The times of a file that a handle has frozen with SET_INFO: its writes and changes do not update them.
import type { FrozenTimes } from '../../storage/file/tree/set-basic.ts'
import type { FileHandle } from '../world.ts'

const STATE_KEY = 'frozenTimes'

type StatefulHandle = Pick<FileHandle, 'commandState'>

export function frozenTimesOf({ commandState }: StatefulHandle): FrozenTimes {
  return (commandState.get(STATE_KEY) as FrozenTimes | undefined) ?? {}
}

export function setFrozenTimes({ commandState }: StatefulHandle, frozen: FrozenTimes): void {
  commandState.set(STATE_KEY, frozen)
}
