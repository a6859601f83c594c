// Long bodies go to the disk around the kernel's page cache: they are synced before anybody hears of them, so a copy
// in the cache saves nothing, and making one takes more CPU than all else that an upload needs
// (docs/decisions/0016-direct.md). The kernel takes such writes only in whole blocks, from memory that begins
// where a page does.
import type { Region } from '../region.ts'

/** Pages of memory and blocks of file systems; no disk asks for more. */
export const DIRECT_ALIGNMENT = 4_096
/** Shorter ones share their syncs, and blocks of the disk, with others. */
export const DIRECT_BYTES_MIN = 256 * 1_024

const BLOCK_BYTES = 1_024 * 1_024
const WASM_PAGE_BYTES = 64 * 1_024

export function alignUp(bytes: number): number {
  return Math.ceil(bytes / DIRECT_ALIGNMENT) * DIRECT_ALIGNMENT
}

/** What is used of it here: TypeScript knows it as a part of browsers only. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => {
    readonly buffer: ArrayBuffer
  }
}

/** Memory to write from, used again and again. As many blocks as files are written to at once: one, or a few. */
export class AlignedBlocks {
  readonly #free: Uint8Array[] = []

  take(): Uint8Array {
    return this.#free.pop() ?? alignedBlock()
  }

  giveBack(block: Uint8Array): void {
    this.#free.push(block)
  }
}

function alignedBlock(): Uint8Array {
  return new Uint8Array(alignedMemory(BLOCK_BYTES))
}

/** Node's buffers begin anywhere; the memory of WebAssembly begins with a page. */
export function alignedMemory(lengthBytes: number): ArrayBuffer {
  const initial = Math.ceil(lengthBytes / WASM_PAGE_BYTES)
  return new WebAssembly.Memory({ initial, maximum: initial }).buffer
}

/** Lends a block to be filled, and writes as much of it as `fill` says. */
export type WriteBlock = (fill: (block: Uint8Array) => number, position: number) => Promise<void>

/** A region whose bytes are put together to whole blocks. It begins with one, and what is behind its end is zero. */
export class DirectRegion implements Region {
  readonly offset: number
  readonly lengthBytes: number
  readonly #writeBlock: WriteBlock
  /** Bytes behind the last whole block. */
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
      const wholeBytes = Math.min(lengthOf(waiting), BLOCK_BYTES)
      const lengthBytes = wholeBytes - (wholeBytes % DIRECT_ALIGNMENT)
      if (lengthBytes === 0) break
      let behind: Uint8Array[] = []
      await this.#writeBlock((block) => {
        behind = moveInto(block, waiting, lengthBytes)
        return lengthBytes
      }, this.#position)
      this.#position += lengthBytes
      waiting = behind
    }
    // Copied, since so few bytes would hold the memory of a whole chunk.
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

/** Copies the first bytes of the chunks, and gives what is behind them. */
function moveInto(
  block: Uint8Array,
  chunks: readonly Uint8Array[],
  lengthBytes: number,
): Uint8Array[] {
  const behind: Uint8Array[] = []
  let at = 0
  for (const chunk of chunks) {
    const taken = Math.min(chunk.length, lengthBytes - at)
    if (taken > 0) block.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), at)
    if (taken < chunk.length) behind.push(chunk.subarray(taken))
    at += taken
  }
  return behind
}
