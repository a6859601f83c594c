// Writes a JSON file piece by piece, one entry a line, so that a store of any size needs little memory.
import { open, type FileHandle } from 'node:fs/promises'

export class JsonFile {
  readonly #handle: FileHandle
  #isFirst = true
  #indent = ''

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** An object, with the entries and sections that `fill` adds. */
  static async write(path: string, fill: (file: JsonFile) => Promise<void>): Promise<void> {
    await JsonFile.#with(path, (file) => file.#within('{', '}', () => fill(file)))
  }

  static async writeList(path: string, items: AsyncIterable<unknown>): Promise<void> {
    await JsonFile.#with(path, (file) => file.#within('[', ']', () => file.#items(items)))
  }

  static async #with(path: string, fill: (file: JsonFile) => Promise<void>): Promise<void> {
    const handle = await open(path, 'wx')
    try {
      await fill(new JsonFile(handle))
      await handle.write('\n')
    } finally {
      await handle.close()
    }
  }

  /** Nothing if the value has no fields. */
  async entry(name: string, value: unknown): Promise<void> {
    await this.#line(`${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  }

  async section(name: string, fill: () => Promise<void>): Promise<void> {
    await this.#line(`${JSON.stringify(name)}: `)
    await this.#within('{', '}', fill)
  }

  async list(name: string, items: AsyncIterable<unknown>): Promise<void> {
    await this.#line(`${JSON.stringify(name)}: `)
    await this.#within('[', ']', () => this.#items(items))
  }

  async #items(items: AsyncIterable<unknown>): Promise<void> {
    for await (const item of items) await this.#line(JSON.stringify(item))
  }

  async #within(begin: string, end: string, fill: () => Promise<void>): Promise<void> {
    const outer = this.#indent
    await this.#handle.write(begin)
    this.#indent = `${outer}  `
    this.#isFirst = true
    await fill()
    this.#indent = outer
    await this.#handle.write(this.#isFirst ? end : `\n${outer}${end}`)
    this.#isFirst = false
  }

  async #line(text: string): Promise<void> {
    await this.#handle.write(`${this.#isFirst ? '' : ','}\n${this.#indent}${text}`)
    this.#isFirst = false
  }
}
