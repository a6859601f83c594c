/** Bytes to be stored, from the request's body or from another place. */
export type Source = {
  readonly lengthBytes: number
  stream(): AsyncIterable<Uint8Array>
  /** All at once, where that is cheaper for a few bytes. */
  read?(): Promise<Uint8Array>
  /** Gets the chunks of the stream back, if their memory is of use to anybody. */
  used?(chunk: Uint8Array): void
}
