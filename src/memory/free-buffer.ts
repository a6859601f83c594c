// Frees a buffer at once instead of leaving it to the garbage collector. Socket chunks and cipher output live outside
// V8's heap, but V8 counts them and runs a full collection for every 64 MiB: a quarter of all CPU while a client
// writes a long file, and every new buffer faults in fresh pages (docs/decisions/0008-speed.md).

/** Frees only views that span their whole ArrayBuffer: others, such as those from Buffer's pool, share it. */
export function freeBuffer({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < FREED_BYTES_MIN || byteLength !== buffer.byteLength) return
  if (buffer instanceof ArrayBuffer) (buffer as Transferable).transfer?.(0)
}

/** Smaller buffers are left to the collector. */
const FREED_BYTES_MIN = 4_096

/** Node 20 has no `transfer`; there the collector does all the work. */
type Transferable = ArrayBuffer & { readonly transfer?: (lengthBytes: number) => ArrayBuffer }
