// The changes in a watched directory that the client has not received yet ([MS-SMB2] 3.3.1.3, [MS-FSA] 2.1.5.11): as
// many as fit into the buffer of the first request. After an overflow they are dropped, and the client has to list the
// directory itself.
import { encodeChanges, NOTIFY_ACTION, type Change } from '../wire/file/change-notify.ts'

export type NotifyBuffer = {
  add(change: Change): void
  readonly isEmpty: boolean
  /** Removes all changes and encodes them; undefined if they exceed the buffer or this request. */
  take(outputMaxBytes: number): Buffer | undefined
}

/** The layout of encodeChanges: 12 bytes and the name, rounded up to a multiple of four. */
function lengthOf({ name }: Change): number {
  return Math.ceil((12 + 2 * name.length) / 4) * 4
}

export function createNotifyBuffer(lengthMax: number): NotifyBuffer {
  let changes: Change[] = []
  let lengthBytes = 0
  let hasOverflown = false
  return {
    get isEmpty() {
      return changes.length === 0 && !hasOverflown
    },
    add(change) {
      const last = changes.at(-1)
      const isRepeated =
        change.action === NOTIFY_ACTION.modified &&
        last?.action === change.action &&
        last.name === change.name
      if (hasOverflown || isRepeated) return
      changes.push(change)
      lengthBytes += lengthOf(change)
      if (lengthBytes <= lengthMax) return
      hasOverflown = true
      changes = []
    },
    take(outputMaxBytes) {
      const all = hasOverflown ? undefined : encodeChanges(changes, outputMaxBytes)
      changes = []
      lengthBytes = 0
      hasOverflown = false
      return all
    },
  }
}
