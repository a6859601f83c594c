// A list that is kept in a file: read at the start, and again when the file has changed, without a timer: whoever
// asks for it looks at the file's time, at most once a second.
import { readFileSync, statSync } from 'node:fs'
import { reasonOf, usageError } from '../start-error.ts'

const LOOK_EVERY_MS = 1000

export type RereadTerms<T> = {
  /** undefined: there is no file, and what was read first stays. */
  readonly path: string | undefined
  readonly read: () => T
  readonly clock: () => number
  readonly changed: (value: T, path: string) => void
  /** What was read stays; told once for each change. */
  readonly failed: (reason: string) => void
}

export type Reread<T> = {
  current(): T
  /** Reads it again, now; a wrong one throws and changes nothing. */
  reread(): void
}

export function rereadFile<T>({ path, read, clock, changed, failed }: RereadTerms<T>): Reread<T> {
  let seen = fileMark(path)
  let value = read()
  let lookAtMs = clock() + LOOK_EVERY_MS

  const look = (at: string, nowMs: number): void => {
    lookAtMs = nowMs + LOOK_EVERY_MS
    const mark = fileMark(at)
    if (mark === seen) return
    seen = mark
    try {
      value = read()
      changed(value, at)
    } catch (error) {
      failed(reasonOf(error))
    }
  }
  return {
    current: () => {
      if (path !== undefined) {
        const nowMs = clock()
        // A clock that was set back must not stop the looking.
        if (nowMs >= lookAtMs || nowMs < lookAtMs - LOOK_EVERY_MS) look(path, nowMs)
      }
      return value
    },
    reread: () => {
      const mark = fileMark(path)
      value = read()
      seen = mark
    },
  }
}

/** Differs when the file does; an inode, because an editor or Kubernetes puts a new file in place. */
function fileMark(path: string | undefined): string {
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.ino} ${stat.size} ${stat.mtimeMs}`
}

/** `what` names it in the message. */
export function readListFile(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    throw usageError(`cannot read the ${what} file ${path}: ${reasonOf(error)}`)
  }
}
