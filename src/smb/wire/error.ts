// A malformed message. It carries the status of the response, so that decoders know nothing about sessions and the
// dispatcher nothing about layouts.
import type { NtStatusName } from './status.ts'

export class WireError extends Error {
  override readonly name = 'WireError'
  readonly status: NtStatusName

  constructor(status: NtStatusName) {
    super(status)
    this.status = status
  }
}
