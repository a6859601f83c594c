// What a watched directory has seen and its client has not been told yet ([MS-SMB2] 3.3.1.3, [MS-FSA] 2.1.5.11): a
// list of changes as large as the first request's buffer. What does not fit is forgotten, and the client is told
// to look for itself.
import { encodeChanges, NOTIFY_ACTION, type Change } from '../wire/file/change-notify.ts'

export type NotifyBuffer = {
  add(change: Change): void
  readonly isEmpty: boolean
  /** All of it, encoded; undefined when it is too much for the buffer or for this request. Empties it. */
  take(outputMaxBytes: number): Buffer | undefined
}

/** As encodeChanges lays them out: 12 bytes and the name, up to the next multiple of four. */
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
