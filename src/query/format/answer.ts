// Buffers the answer to a query: collects text until there is enough for a record, then Avro blocks until they are
// sent.
import { encodeEndBlock, encodeErrorBlock, encodeProgressBlock, encodeResultBlock } from './avro.ts'
import type { QueryError } from '../query-error.ts'

const RESULT_LENGTH_MAX = 64 * 1024
const READY_BYTES_MAX = 256 * 1024

export type QueryAnswer = {
  add(text: string): void
  error(error: QueryError, position: number): void
  /** Sets how many bytes of the blob have been read. */
  scanned(bytesScanned: number): void
  progress(): void
  /** Adds the last progress record and the end record. */
  end(): void
  isFull(): boolean
  /** Removes and returns the blocks to send. */
  take(): readonly Uint8Array[]
}

export function createQueryAnswer(totalBytes: number, syncMarker: Uint8Array): QueryAnswer {
  let [texts, textLength]: [string[], number] = [[], 0]
  let [ready, readyBytes]: [Uint8Array[], number] = [[], 0]
  let bytesScanned = 0
  const push = (block: Uint8Array) => {
    ready.push(block)
    readyBytes += block.length
  }
  const flush = () => {
    if (textLength > 0) push(encodeResultBlock(Buffer.from(texts.join('')), syncMarker))
    ;[texts, textLength] = [[], 0]
  }
  const progress = () => {
    flush()
    push(encodeProgressBlock({ bytesScanned, totalBytes }, syncMarker))
  }
  return {
    add(text) {
      if (text === '') return
      texts.push(text)
      textLength += text.length
      if (textLength >= RESULT_LENGTH_MAX) flush()
    },
    error({ fatal, code, message, position: exact }, position) {
      flush()
      const failure = { fatal, name: code, description: message, position: exact ?? position }
      push(encodeErrorBlock(failure, syncMarker))
    },
    scanned(bytes) {
      bytesScanned = bytes
    },
    progress,
    end() {
      progress()
      push(encodeEndBlock(totalBytes, syncMarker))
    },
    isFull: () => readyBytes >= READY_BYTES_MAX,
    take() {
      flush()
      const taken = ready
      ;[ready, readyBytes] = [[], 0]
      return taken
    },
  }
}
