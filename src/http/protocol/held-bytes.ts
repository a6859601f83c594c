// The bytes of a connection that have come and were not looked at: a part of a head, or requests behind the one
// under way. A client may send them one by one, so adding some costs no more than they are long, and what was
// searched is not searched again.

const HEAD_END = Buffer.from('\r\n\r\n')
const NO_BYTES = Buffer.alloc(0)
const CAPACITY_MIN = 4 * 1024

export class HeldBytes {
  /** A chunk of the socket as it came, or memory of our own, of which `#to` is used. */
  #buffer: Buffer = NO_BYTES
  #from = 0
  #to = 0
  #isOwn = false
  /** Up to here there is no end of a head. */
  #searchedTo = 0

  get length(): number {
    return this.#to - this.#from
  }

  /** What all of it takes in memory. */
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

  /** Where the head ends that begins at `from`, counted from the first byte; -1 as long as it does not. */
  headEnd(from: number): number {
    const at = this.#buffer.indexOf(HEAD_END, Math.max(this.#from + from, this.#searchedTo))
    if (at >= 0 && at + HEAD_END.length <= this.#to) return at - this.#from
    this.#searchedTo = Math.max(this.#from, this.#to - HEAD_END.length + 1)
    return -1
  }

  /** Lets go of the first bytes. Views of them stay as they are: what comes is written behind them. */
  skip(count: number): void {
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
