// What the fuzzer needs to know of a decoder.

type ErrorClass = abstract new (...args: never[]) => Error

export type Target = {
  readonly name: string
  /** Inputs to begin with: valid ones, so that mutations start inside the decoder. Text is Latin-1. */
  readonly seeds: readonly (string | Uint8Array)[]
  /** Words of the format, which mutations insert. Text is Latin-1. */
  readonly words?: readonly string[]
  /** The longest input; 4 KiB if left out. */
  readonly lengthMax?: number
  /** Returns what the input means, or throws one of the errors in `refuses`. */
  decode(input: Buffer): unknown
  /** The errors that the decoder declares for bad input. Any other error is a bug. */
  readonly refuses: readonly ErrorClass[]
  /** Encodes what was decoded and decodes it again, which must give the same. undefined: it can't be encoded. */
  again?(decoded: never): unknown
}

/** Keeps the type of what is decoded between `decode` and `again`. */
export function target<T>(given: {
  readonly name: string
  readonly seeds: readonly (string | Uint8Array)[]
  readonly words?: readonly string[]
  readonly lengthMax?: number
  readonly refuses: readonly ErrorClass[]
  decode(input: Buffer): T
  again?(decoded: Awaited<T>): unknown
}): Target {
  return given
}

/** For formats in UTF-8. */
export function textOf(input: Buffer): string {
  return input.toString('utf8')
}

export function bytesOf(input: string | Uint8Array): Buffer {
  return typeof input === 'string' ? Buffer.from(input, 'latin1') : Buffer.from(input)
}
