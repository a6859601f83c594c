// The records of a backup, in files of some hundred KiB: u32 length of the key, u32 length of the value (little-endian), key,
// value, and so on. A file is named by its content, so one that a backup has already is not written again. Where a file
// ends depends on the keys in it and not on how much is before it: so a change moves no other ends.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Key } from '../../kv/kv.ts'
import { BackupDamaged } from './files.ts'
import type { ChunkEntry } from './manifest.ts'

export type StoredEntry = { readonly key: Key; readonly value: Uint8Array }

const CHUNK_BYTES_MIN = 64 * 1_024
/** How much there is between two ends, on average. */
const CHUNK_BYTES = 512 * 1_024
const CHUNK_BYTES_MAX = 4 * 1_024 * 1_024
const HEAD_BYTES = 8

/** Collects records until a chunk is full. */
export class ChunkBuilder {
  #parts: Uint8Array[] = []
  #firstKey: Key = new Uint8Array(0)
  #recordCount = 0
  #lengthBytes = 0

  /** Returns whether the chunk ends here. */
  add({ key, value }: StoredEntry): boolean {
    if (this.#recordCount === 0) this.#firstKey = key
    const head = Buffer.allocUnsafe(HEAD_BYTES)
    head.writeUInt32LE(key.length, 0)
    head.writeUInt32LE(value.length, 4)
    this.#parts.push(head, key, value)
    const addedBytes = HEAD_BYTES + key.length + value.length
    this.#recordCount += 1
    this.#lengthBytes += addedBytes
    if (this.#lengthBytes < CHUNK_BYTES_MIN) return false
    if (this.#lengthBytes >= CHUNK_BYTES_MAX) return true
    return crc32(key) < (addedBytes / CHUNK_BYTES) * 2 ** 32
  }

  /** undefined if nothing was added since the last call. */
  take(): { readonly bytes: Buffer; readonly entry: ChunkEntry } | undefined {
    if (this.#recordCount === 0) return undefined
    const bytes = Buffer.concat(this.#parts)
    const entry = {
      sha256: sha256Of(bytes),
      firstKey: Buffer.from(this.#firstKey).toString('base64'),
      recordCount: this.#recordCount,
      lengthBytes: bytes.length,
    }
    this.#parts = []
    this.#recordCount = 0
    this.#lengthBytes = 0
    return { bytes, entry }
  }
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Throws BackupDamaged. */
export function decodeChunk(
  bytes: Buffer,
  { sha256 }: Pick<ChunkEntry, 'sha256'>,
): readonly StoredEntry[] {
  if (sha256Of(bytes) !== sha256) throw new BackupDamaged(`the records ${sha256} have changed`)
  const entries: StoredEntry[] = []
  for (let at = 0; at < bytes.length;) {
    const hasHead = at + HEAD_BYTES <= bytes.length
    const keyEnd = hasHead ? at + HEAD_BYTES + bytes.readUInt32LE(at) : Infinity
    const valueEnd = hasHead ? keyEnd + bytes.readUInt32LE(at + 4) : Infinity
    if (valueEnd > bytes.length) throw new BackupDamaged(`the records ${sha256} end early`)
    entries.push({
      key: bytes.subarray(at + HEAD_BYTES, keyEnd),
      value: bytes.subarray(keyEnd, valueEnd),
    })
    at = valueEnd
  }
  return entries
}
