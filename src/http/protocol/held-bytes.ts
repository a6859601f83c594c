// A connection's buffer of received bytes that are not processed yet: part of a head, or requests after the
// current one. A client may send byte by byte, so adding a chunk takes amortized time in its length, and bytes
// are searched only once.

const HEAD_END = Buffer.from('\r\n\r\n')
const NO_BYTES = Buffer.alloc(0)
const CAPACITY_MIN = 4 * 1024

export class HeldBytes {
  /** The socket's own chunk, or a buffer of ours, used up to `#to`. */
  #buffer: Buffer = NO_BYTES
  #from = 0
  #to = 0
  #isOwn = false
  /** There is no end of a head before this. */
  #searchedTo = 0

  get length(): number {
    return this.#to - this.#from
  }

  /** The memory of the whole buffer. */
  get memoryBytes(): number {
    return this.#buffer.buffer.byteLength
  }

  get bytes(): Buffer {
    const isAll = this.#from === 0 && this.#to === this.#buffer.length
    return isAll ? this.#buffer : this.#buffer.subarray(this.#from, this.#to)
  }

  add(chunk: Buffer): void {
    if (this.length === 0) {
      this.#set(chunk, false)
      return
    }
    if (!this.#isOwn || this.#buffer.length - this.#to < chunk.length) this.#grow(chunk.length)
    this.#buffer.set(chunk, this.#to)
    this.#to += chunk.length
  }

  /** Where the head that starts at `from` ends, counted from the first byte; -1 if it is incomplete. */
  headEnd(from: number): number {
    const at = this.#buffer.indexOf(HEAD_END, Math.max(this.#from + from, this.#searchedTo))
    if (at >= 0 && at + HEAD_END.length <= this.#to) return at - this.#from
    this.#searchedTo = Math.max(this.#from, this.#to - HEAD_END.length + 1)
    return -1
  }

  /** Drops the first bytes. Views of them stay valid: new bytes are written after them. */
  consume(count: number): void {
    this.#from += count
    this.#searchedTo = this.#from
    if (this.#from === this.#to) this.clear()
  }

  clear(): void {
    this.#set(NO_BYTES, false)
  }

  #grow(moreBytes: number): void {
    const { bytes, length } = this
    const own = Buffer.allocUnsafeSlow(Math.max(CAPACITY_MIN, 2 * (length + moreBytes)))
    own.set(bytes, 0)
    const searched = this.#searchedTo - this.#from
    this.#set(own, true)
    this.#to = length
    this.#searchedTo = Math.max(searched, 0)
  }

  #set(buffer: Buffer, isOwn: boolean): void {
    this.#buffer = buffer
    this.#from = 0
    this.#to = buffer.length
    this.#isOwn = isOwn
    this.#searchedTo = 0
  }
}
