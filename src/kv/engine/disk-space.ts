// Refuses a commit that may not fit on the disk. LMDB must never meet a full disk: while it formats that error it
// writes past the end of a buffer (mdb.c of lmdb 3.5, mdb_page_flush), which crashes the process sooner or later.
import { statfsSync } from 'node:fs'
import type { Write } from './engine.ts'

/** The disk has no room for a write. Nothing was changed. */
export class DiskFull extends Error {
  readonly code = 'ENOSPC'
}

/** A commit copies the pages of its records, and their parents up to the root of the tree. */
const FREE_BYTES_MIN = 2 ** 20
const FREE_BYTES_PER_BYTE = 16
/** Too much to be filled within AMPLE_MS, so the last measurement is still good enough. */
const AMPLE_BYTES = 2 * 2 ** 30
const AMPLE_MS = 100

export type DiskSpaceSettings = {
  readonly freeBytes?: () => number
  readonly nowMs?: () => number
}

export class DiskSpace {
  readonly #freeBytes: () => number
  readonly #nowMs: () => number
  #known = 0
  #untilMs = 0

  constructor(folder: string, settings: DiskSpaceSettings) {
    this.#freeBytes = settings.freeBytes ?? (() => freeBytesOf(folder))
    this.#nowMs = settings.nowMs ?? (() => performance.now())
  }

  check(writes: readonly Pick<Write, 'key' | 'value'>[]): void {
    let bytes = 0
    for (const { key, value } of writes) bytes += key.length + (value?.length ?? 0)
    if (this.#free() < FREE_BYTES_MIN + FREE_BYTES_PER_BYTE * bytes) {
      throw new DiskFull('the disk is full')
    }
  }

  #free(): number {
    const now = this.#nowMs()
    if (this.#known < AMPLE_BYTES || now >= this.#untilMs) {
      this.#known = this.#freeBytes()
      this.#untilMs = now + AMPLE_MS
    }
    return this.#known
  }
}

/** Infinite where the system doesn't say. */
function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
