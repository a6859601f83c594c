// Reads a database of Azurite: one JSON file of LokiJS, whose collections have their documents in `data`. The file may be
// longer than the longest string, so it is cut into documents as it is read, and only one of them is in memory.
import { createReadStream } from 'node:fs'
import { errorReason, StartError } from '../../start/start-error.ts'

export type LokiDocument = { readonly collection: string; readonly document: unknown }

const READ_BYTES = 1024 * 1024

/** Throws StartError if the file is damaged or ends early. */
export function readLokiFile(path: string): AsyncGenerator<LokiDocument> {
  return readLoki(path, createReadStream(path, { highWaterMark: READ_BYTES }))
}

/** `path` is for people. */
export async function* readLoki(
  path: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<LokiDocument> {
  const cutter = new DocumentCutter(path)
  try {
    for await (const chunk of chunks) yield* cutter.cut(chunk)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`cannot read ${path}: ${errorReason(error)}`)
  }
  cutter.end()
}

// How deep the parts of a database are: { collections: [ { name, data: [ document ] } ] }
const DATABASE = 1
const COLLECTION = 3
const DATA = 4

class DocumentCutter {
  readonly #path: string
  #offset = 0
  #depth = 0
  #inString = false
  #isEscaped = false
  /** The last string, at the depths where it may be a key or the name of a collection. */
  #text: number[] | undefined
  #last: string | undefined
  #keys: Record<number, string | undefined> = {}
  #name: string | undefined
  #parts: Buffer[] | undefined
  #hasEnded = false

  constructor(path: string) {
    this.#path = path
  }

  *cut(chunk: Buffer): Generator<LokiDocument> {
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (this.#inString) {
        this.#readString(byte)
        continue
      }
      const wasInside = this.#parts !== undefined
      const isEnd = this.#read(byte, at)
      if (!wasInside && this.#parts !== undefined) from = at
      if (isEnd) {
        yield this.#document(chunk.subarray(from, at + 1))
        from = at + 1
      }
    }
    // The stream reuses nothing of the chunk, so a part of it can be kept.
    this.#parts?.push(chunk.subarray(from))
    this.#offset += chunk.length
  }

  end(): void {
    if (!this.#hasEnded || this.#depth !== 0) {
      throw this.#damaged(this.#offset, this.#offset === 0 ? 'it is empty' : 'it ends early')
    }
  }

  #readString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === 0x5c) this.#isEscaped = true
    else if (byte === 0x22) {
      this.#inString = false
      if (this.#text !== undefined) this.#last = Buffer.from(this.#text).toString('utf8')
      this.#text = undefined
      return
    }
    this.#text?.push(byte)
  }

  /** Returns whether a document ends here. */
  #read(byte: number, at: number): boolean {
    switch (byte) {
      case 0x22:
        this.#inString = true
        this.#text = this.#depth === DATABASE || this.#depth === COLLECTION ? [] : undefined
        return false
      case 0x3a:
        this.#keys[this.#depth] = this.#last
        this.#last = undefined
        return false
      case 0x2c:
        this.#endMember()
        return false
      case 0x7b:
      case 0x5b:
        if (this.#hasEnded) throw this.#damaged(this.#offset + at, 'there is more behind its end')
        this.#depth += 1
        if (byte === 0x7b && this.#depth === DATA + 1 && this.#isData()) this.#parts = []
        return false
      case 0x7d:
      case 0x5d:
        return this.#close(at)
      default:
        if (byte < 0x09) throw this.#damaged(this.#offset + at, 'it is not JSON')
        return false
    }
  }

  #close(at: number): boolean {
    this.#endMember()
    this.#depth -= 1
    if (this.#depth < 0) throw this.#damaged(this.#offset + at, 'it is not JSON')
    if (this.#depth < COLLECTION) this.#name = undefined
    this.#hasEnded = this.#depth === 0
    return this.#parts !== undefined && this.#depth === DATA
  }

  #endMember(): void {
    const isName = this.#depth === COLLECTION && this.#keys[COLLECTION] === 'name'
    if (isName && this.#last !== undefined) this.#name = this.#last
    this.#last = undefined
  }

  #isData(): boolean {
    return this.#keys[DATABASE] === 'collections' && this.#keys[COLLECTION] === 'data'
  }

  #document(end: Buffer): LokiDocument {
    const text = Buffer.concat([...(this.#parts ?? []), end]).toString('utf8')
    this.#parts = undefined
    if (this.#name === undefined) throw this.#damaged(this.#offset, 'a collection has no name')
    try {
      return { collection: this.#name, document: JSON.parse(text) }
    } catch (error) {
      throw this.#damaged(this.#offset, error instanceof SyntaxError ? 'it is not JSON' : '')
    }
  }

  #damaged(offset: number, why: string): StartError {
    return new StartError(`${this.#path} is damaged: ${why} (byte ${offset})`)
  }
}
