// Memory that nobody will look at any more, given back at once. What comes from a socket and what a cipher makes lies outside
// of V8's heap, which counts it and, for every 64 MiB of it, looks through all that is alive: a quarter of all
// CPU while a client writes a long file, and the memory is fresh, page by page, every time (docs/decisions/0008-speed.md).

/** Only a view that is all there is of its memory: what shares it with others, as what Buffer's pool lends, is left alone. */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < WORTH_BYTES_MIN || byteLength !== buffer.byteLength) return
  if (buffer instanceof ArrayBuffer) (buffer as Transferable).transfer?.(0)
}

/** Less is gone soon enough. */
const WORTH_BYTES_MIN = 4_096

/** Node 20 has no such function: there the collector has to do it. */
type Transferable = ArrayBuffer & { readonly transfer?: (lengthBytes: number) => ArrayBuffer }
