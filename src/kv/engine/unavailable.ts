// The store can't be reached now, or does not answer in time. The same request may succeed later.
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}
