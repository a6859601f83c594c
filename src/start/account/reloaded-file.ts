// A list from a file that is reloaded when the file changes. There is no timer: each use checks the file, at most once
// a second.
import { readFileSync, statSync } from 'node:fs'
import { errorReason, usageError } from '../start-error.ts'

const CHECK_EVERY_MS = 1000

export type ReloadTerms<T> = {
  /** undefined: there is no file to watch. */
  readonly path: string | undefined
  readonly read: () => T
  readonly clock: () => number
  readonly changed: (value: T, path: string) => void
  /** The old value stays. Called once per change. */
  readonly failed: (reason: string) => void
}

/** Returns a function that returns the current value. */
export function reloadedFile<T>(terms: ReloadTerms<T>): () => T {
  const { path, read, clock, changed, failed } = terms
  let lastMark = fileMark(path)
  let value = read()
  let nextCheckMs = clock() + CHECK_EVERY_MS

  const check = (at: string, nowMs: number): void => {
    nextCheckMs = nowMs + CHECK_EVERY_MS
    const mark = fileMark(at)
    if (mark === lastMark) return
    lastMark = mark
    try {
      value = read()
      changed(value, at)
    } catch (error) {
      failed(errorReason(error))
    }
  }
  return () => {
    if (path !== undefined) {
      const nowMs = clock()
      // Also check if the clock was set back.
      if (nowMs >= nextCheckMs || nowMs < nextCheckMs - CHECK_EVERY_MS) check(path, nowMs)
    }
    return value
  }
}

/** Changes with the file. Includes the inode, since editors and Kubernetes replace files. */
function fileMark(path: string | undefined): string {
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.ino} ${stat.size} ${stat.mtimeMs}`
}

/** `what` names the file in the error message. */
export function readListFile(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    throw usageError(`cannot read the ${what} file ${path}: ${errorReason(error)}`)
  }
}
