// The errors of the extent layer; the layers above map each to Azure's answer.

/** The source had fewer or more bytes than announced, mostly because the client disconnected. */
export class TornWrite extends Error {
  override readonly name = 'TornWrite'
  readonly expectedBytes: number
  readonly receivedBytes: number

  constructor(expectedBytes: number, receivedBytes: number) {
    super(`expected ${expectedBytes} bytes, received ${receivedBytes}`)
    this.expectedBytes = expectedBytes
    this.receivedBytes = receivedBytes
  }
}

/** The memory store is full: 409 MemoryExtentStoreAtSizeLimit. */
export class ExtentLimitReached extends Error {
  override readonly name = 'ExtentLimitReached'

  constructor(limitBytes: number) {
    super(`the extents would exceed the memory limit of ${limitBytes} bytes`)
  }
}

/** The bytes of a slice are missing or have changed. */
export class ExtentDamaged extends Error {
  override readonly name = 'ExtentDamaged'

  constructor(extent: number, reason: string) {
    super(`extent ${extent}: ${reason}`)
  }
}

/**
 * A transaction refers to an extent that a sweep has retired, or to a map that it has discarded: more than the grace period
 * has passed since its bytes were written, its owner was read or the map was begun. The operation may be retried.
 */
export class ExtentRetired extends Error {
  override readonly name = 'ExtentRetired'

  constructor(what: string) {
    super(`${what} is retired`)
  }
}
