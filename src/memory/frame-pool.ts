// The memory of large frames, used again for others. Fresh memory for each costs more than the copy into it: the
// kernel maps and zeroes its pages, and the collector runs for every few of them (measured here: half of the
// server's time while a client writes).

/** Smaller ones are not worth it. */
const FRAME_BYTES_MIN = 256 * 1024
/** A frame is not put into memory for one that is much longer. */
const WASTE_MAX = 4

export class FramePool {
  readonly #keptBytesMax: number
  readonly #free: ArrayBuffer[] = []
  #keptBytes = 0

  constructor(keptBytesMax: number) {
    this.#keptBytesMax = keptBytesMax
  }

  /** With room for so many bytes, and what was in it before; undefined if there is none. */
  take(lengthBytes: number): Buffer<ArrayBuffer> | undefined {
    if (lengthBytes < FRAME_BYTES_MIN) return undefined
    const index = this.#free.findIndex(
      ({ byteLength }) => byteLength >= lengthBytes && byteLength <= WASTE_MAX * lengthBytes,
    )
    const [found] = index < 0 ? [] : this.#free.splice(index, 1)
    if (found === undefined) return undefined
    this.#keptBytes -= found.byteLength
    return Buffer.from(found)
  }

  /** Nobody looks at these bytes any more, and they were the only ones in their memory. */
  giveBack(frame: Buffer): void {
    const { buffer } = frame
    const { byteLength } = buffer
    if (!(buffer instanceof ArrayBuffer) || byteLength < FRAME_BYTES_MIN) return
    if (this.#keptBytes + byteLength > this.#keptBytesMax) return
    this.#free.push(buffer)
    this.#keptBytes += byteLength
  }
}
