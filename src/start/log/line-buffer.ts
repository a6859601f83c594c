// Lines on their way to a stream. They are gathered and written once per turn of the event loop, so
// that a log costs a busy server one write for many requests. A reader that is too slow loses lines,
// and is told how many, rather than filling the memory.

const PENDING_MAX = 65_536

export type LineStream = {
  write(text: string): boolean
  once(event: 'drain', listener: () => void): unknown
}

export class LineBuffer {
  readonly #stream: LineStream
  readonly #lostLine: (message: string) => string
  #lines: string[] = []
  #scheduled = false
  #blocked = false
  #lostCount = 0

  constructor(stream: LineStream, lostLine: (message: string) => string) {
    this.#stream = stream
    this.#lostLine = lostLine
  }

  /** A line, without its end. */
  write(line: string): void {
    if (this.#lines.length >= PENDING_MAX) {
      this.#lostCount += 1
      return
    }
    this.#lines.push(line)
    if (this.#scheduled || this.#blocked) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** Writes what has gathered, unless the stream has asked to wait. */
  flush(): void {
    this.#scheduled = false
    if (this.#blocked || this.#lines.length === 0) return
    if (this.#lostCount > 0) {
      this.#lines.push(this.#lostLine(`${this.#lostCount} lines of the log were lost`))
    }
    const text = `${this.#lines.join('\n')}\n`
    this.#lines = []
    this.#lostCount = 0
    if (this.#stream.write(text)) return
    this.#blocked = true
    this.#stream.once('drain', () => {
      this.#blocked = false
      this.flush()
    })
  }
}
