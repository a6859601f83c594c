// A message that breaks the wire rules. It carries the status to answer with, so that a decoder needs to
// know nothing of sessions and a dispatcher nothing of layouts.
import type { NtStatusName } from './status.ts'

export class WireError extends Error {
  override readonly name = 'WireError'
  readonly status: NtStatusName

  constructor(status: NtStatusName) {
    super(status)
    this.status = status
  }
}
