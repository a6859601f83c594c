// A copy in progress, as its service lists it.
import type { Key } from '../../../kv/kv.ts'
import type { CopyState, PendingCopy } from './copy-state.ts'

export type HeldCopy = {
  readonly kind: 'blob' | 'file'
  /** Of the destination's record. */
  readonly key: Key
  readonly account: string
  /** The names of the destination below the account. */
  readonly path: readonly string[]
  readonly pending: PendingCopy
  readonly copy: CopyState
}
