// Writes of long bodies bypass the kernel's page cache. A body is synced before its upload is acknowledged, so a copy
// in the cache saves nothing, and making it takes more CPU than the rest of the upload (docs/decisions/0016-direct.md).
// The kernel accepts direct writes only in whole blocks, from page-aligned memory.
import type { Region } from '../region.ts'

/** The size of memory pages and file system blocks; no disk needs more. */
export const DIRECT_ALIGNMENT = 4_096
/** Shorter bodies go through the page cache: they share syncs and disk blocks with others. */
export const DIRECT_BYTES_MIN = 256 * 1_024

/** The longest single write. */
export const DIRECT_BLOCK_BYTES = 1_024 * 1_024
const WASM_PAGE_BYTES = 64 * 1_024

export function alignUp(bytes: number): number {
  return Math.ceil(bytes / DIRECT_ALIGNMENT) * DIRECT_ALIGNMENT
}

/** TypeScript declares WebAssembly only for browsers. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => {
    readonly buffer: ArrayBuffer
  }
}

/** Page-aligned memory: WebAssembly's is aligned, Node's buffers are not. */
export function alignedMemory(lengthBytes: number): ArrayBuffer {
  const initial = Math.ceil(lengthBytes / WASM_PAGE_BYTES)
  return new WebAssembly.Memory({ initial, maximum: initial }).buffer
}

/** Passes an aligned block to `fill`, which returns how many bytes of it to write. */
export type WriteBlock = (fill: (block: Uint8Array) => number, position: number) => Promise<void>

/** A region that is written in whole blocks. It begins at a block, and its last block is padded with zeros. */
export class DirectRegion implements Region {
  readonly offset: number
  readonly lengthBytes: number
  readonly #writeBlock: WriteBlock
  /** Bytes after the last whole block. */
  #rest: readonly Uint8Array[] = []
  #position: number

  constructor(offset: number, lengthBytes: number, writeBlock: WriteBlock) {
    this.offset = offset
    this.lengthBytes = lengthBytes
    this.#writeBlock = writeBlock
    this.#position = offset
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    let waiting = [...this.#rest, ...chunks]
    for (;;) {
      const wholeBytes = Math.min(lengthOf(waiting), DIRECT_BLOCK_BYTES)
      const lengthBytes = wholeBytes - (wholeBytes % DIRECT_ALIGNMENT)
      if (lengthBytes === 0) break
      let rest: Uint8Array[] = []
      await this.#writeBlock((block) => {
        rest = moveInto(block, waiting, lengthBytes)
        return lengthBytes
      }, this.#position)
      this.#position += lengthBytes
      waiting = rest
    }
    // Copied, since these few bytes would keep a whole chunk in memory.
    this.#rest = waiting.length === 0 ? [] : [Buffer.concat(waiting)]
  }

  async finish(): Promise<void> {
    const restBytes = lengthOf(this.#rest)
    if (restBytes === 0) return
    const lengthBytes = alignUp(restBytes)
    await this.#writeBlock((block) => {
      moveInto(block, this.#rest, restBytes)
      block.fill(0, restBytes, lengthBytes)
      return lengthBytes
    }, this.#position)
    this.#rest = []
  }
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  let lengthBytes = 0
  for (const chunk of chunks) lengthBytes += chunk.length
  return lengthBytes
}

/** Copies the first `lengthBytes` of the chunks and returns the rest. */
function moveInto(
  block: Uint8Array,
  chunks: readonly Uint8Array[],
  lengthBytes: number,
): Uint8Array[] {
  const rest: Uint8Array[] = []
  let at = 0
  for (const chunk of chunks) {
    const taken = Math.min(chunk.length, lengthBytes - at)
    if (taken > 0) block.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), at)
    if (taken < chunk.length) rest.push(chunk.subarray(taken))
    at += taken
  }
  return rest
}
