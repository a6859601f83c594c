// A folder with Azurite's data: the databases, and the files with the bytes of blobs and messages.
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../../start/start-error.ts'
import type { OwnStream } from '../seed/own-client.ts'
import type { Chunk } from './document.ts'

export const AZURITE_SERVICES = ['blob', 'queue', 'table'] as const

export type AzuriteService = (typeof AZURITE_SERVICES)[number]

export type ByteService = Exclude<AzuriteService, 'table'>

const STORAGE: Readonly<Record<ByteService, string>> = {
  blob: '__blobstorage__',
  queue: '__queuestorage__',
}

/** Bytes that nobody has written. */
const ZERO_EXTENT = '*ZERO*'
const ZERO_BYTES = 1024 * 1024

export class AzuriteFolder {
  readonly path: string
  readonly #lengths = new Map<string, number>()

  constructor(path: string) {
    this.path = path
  }

  /** undefined if the service has never been used. */
  database(service: AzuriteService): string | undefined {
    const path = join(this.path, `__azurite_db_${service}__.json`)
    return existsSync(path) ? path : undefined
  }

  /** With AZURITE_DB the records of blobs are in MySQL or SQL Server, and only their bytes are here. */
  hasOnlyBytes(): boolean {
    const folder = join(this.path, STORAGE.blob)
    return (
      this.database('blob') === undefined && existsSync(folder) && readdirSync(folder).length > 0
    )
  }

  /** Changes while Azurite runs. */
  state(): string {
    const files = readdirSync(this.path).filter((name) => name.startsWith('__azurite_db_'))
    return files.map((name) => {
      const { size, mtimeMs } = statSync(join(this.path, name))
      return `${name} ${size} ${mtimeMs}`
    }).join() // prettier-ignore
  }

  check(service: ByteService, { id, offset, count }: Chunk, what: string): void {
    if (count === 0 || id === ZERO_EXTENT) return
    const path = this.#path(service, id)
    const length = this.#lengths.get(path) ?? lengthOf(path)
    this.#lengths.set(path, length)
    if (offset + count <= length) return
    const missing = length === 0 ? 'is missing' : `ends at byte ${length}`
    throw new StartError(
      `the bytes ${offset} to ${offset + count} of ${what} are lost: ${path} ${missing}`,
    )
  }

  stream(service: ByteService, chunks: readonly Chunk[]): OwnStream {
    const lengthBytes = chunks.reduce((sum, { count }) => sum + count, 0)
    return { lengthBytes, stream: () => this.#read(service, chunks) }
  }

  async bytes(service: ByteService, chunk: Chunk): Promise<Buffer> {
    const parts: Uint8Array[] = []
    for await (const part of this.#read(service, [chunk])) parts.push(part)
    return Buffer.concat(parts)
  }

  async *#read(service: ByteService, chunks: readonly Chunk[]): AsyncGenerator<Uint8Array> {
    for (const { id, offset, count } of chunks) {
      if (count === 0) continue
      if (id === ZERO_EXTENT) yield* zeros(count)
      else
        yield* createReadStream(this.#path(service, id), { start: offset, end: offset + count - 1 })
    }
  }

  #path(service: ByteService, id: string): string {
    // An id is a name that Azurite has made; anything else must not lead out of the folder.
    if (!/^[\w-]+$/.test(id)) throw new StartError(`a document is damaged: ${id} is no extent`)
    return join(this.path, STORAGE[service], id)
  }
}

/** Whether a folder has data of Azurite. */
export function isAzuriteFolder(path: string): boolean {
  const folder = new AzuriteFolder(path)
  return (
    AZURITE_SERVICES.some((service) => folder.database(service) !== undefined) ||
    folder.hasOnlyBytes()
  )
}

function lengthOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function* zeros(count: number): Generator<Uint8Array> {
  for (let left = count; left > 0; left -= ZERO_BYTES)
    yield Buffer.alloc(Math.min(left, ZERO_BYTES))
}
