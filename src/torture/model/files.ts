// The files of one directory of a share.
import type { Lease } from './lease.ts'
import type { Opens } from './open.ts'

export type File = {
  readonly etag?: string
  /** A value for each slot; `0` where nothing was written. */
  readonly content: string
  readonly lease?: Lease
  /** By the names that clients give them. */
  readonly opens?: Opens
  /** Deleted over SMB, and still open. */
  readonly isDeletePending?: true
}

export type DirectoryState = Readonly<Record<string, File>>

export function sorted(state: DirectoryState): DirectoryState {
  return Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function without(state: DirectoryState, name: string): DirectoryState {
  const { [name]: _, ...rest } = state
  return rest
}
