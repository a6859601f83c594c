// What can go wrong with bytes, by name, so that the layer above answers each as Azure does.

/** The source gave fewer or more bytes than it promised (a client that went away, mostly). */
export class TornWrite extends Error {
  override readonly name = 'TornWrite'
  readonly expectedBytes: number
  readonly receivedBytes: number

  constructor(expectedBytes: number, receivedBytes: number) {
    super(`a source of ${expectedBytes} bytes gave ${receivedBytes}`)
    this.expectedBytes = expectedBytes
    this.receivedBytes = receivedBytes
  }
}

/** The memory store is full: 409 MemoryExtentStoreAtSizeLimit. */
export class ExtentLimitReached extends Error {
  override readonly name = 'ExtentLimitReached'

  constructor(limitBytes: number) {
    super(`the extents would take more than ${limitBytes} bytes`)
  }
}

/** The bytes that a slice names are not there, or are not those that were written. */
export class ExtentDamaged extends Error {
  override readonly name = 'ExtentDamaged'

  constructor(extent: number, reason: string) {
    super(`extent ${extent}: ${reason}`)
  }
}

/**
 * A transaction wants to point at an extent that a sweep has given up, because more than the grace
 * time went by since its bytes were written or its owner was read. The operation may be tried again.
 */
export class ExtentRetired extends Error {
  override readonly name = 'ExtentRetired'

  constructor(extent: number) {
    super(`extent ${extent} is retired`)
  }
}
