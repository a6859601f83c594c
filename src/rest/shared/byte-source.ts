/** Bytes to store: the request's body, or the source of a copy. */
export type ByteSource = {
  readonly lengthBytes: number
  stream(): AsyncIterable<Uint8Array>
  /** Reads everything at once, where that is cheaper for a few bytes. */
  read?(): Promise<Uint8Array>
  /** Takes back chunks of the stream whose memory can be reused. */
  used?(chunk: Uint8Array): void
}
