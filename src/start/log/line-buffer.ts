// Buffers log lines and writes them once per turn of the event loop, so that a busy server needs one write for many
// requests. If the reader is too slow, lines are dropped and counted instead of filling the memory.

const PENDING_MAX = 65_536
const PENDING_CHARACTERS_MAX = 32 * 1024 * 1024

export type LineStream = {
  write(text: string): boolean
  once(event: 'drain', listener: () => void): unknown
}

export class LineBuffer {
  readonly #stream: LineStream
  readonly #droppedLine: (count: number) => string
  #lines: string[] = []
  #characters = 0
  #scheduled = false
  #blocked = false
  #droppedCount = 0

  constructor(stream: LineStream, droppedLine: (count: number) => string) {
    this.#stream = stream
    this.#droppedLine = droppedLine
  }

  /** Takes a line without its line break. */
  write(line: string): void {
    if (this.#lines.length >= PENDING_MAX || this.#characters >= PENDING_CHARACTERS_MAX) {
      this.#droppedCount += 1
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
    if (this.#scheduled || this.#blocked) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** Writes the buffered lines, unless the stream is full. */
  flush(): void {
    this.#scheduled = false
    if (this.#blocked || this.#lines.length === 0) return
    if (this.#droppedCount > 0) {
      this.#lines.push(this.#droppedLine(this.#droppedCount))
    }
    const text = `${this.#lines.join('\n')}\n`
    this.#lines = []
    this.#characters = 0
    this.#droppedCount = 0
    if (this.#stream.write(text)) return
    this.#blocked = true
    this.#stream.once('drain', () => {
      this.#blocked = false
      this.flush()
    })
  }
}
