// Refuses a commit that the disk may have no room for. LMDB must never meet a full disk: for its message about one
// it writes past the end of a buffer (mdb.c of lmdb 3.5, mdb_page_flush), which ends the process sooner or later.
import { statfsSync } from 'node:fs'
import type { Write } from './engine.ts'

/** There is no room for a write, which has changed nothing. */
export class DiskFull extends Error {
  readonly code = 'ENOSPC'
}

/** A commit writes the pages of its records, and those above them in the tree, to new places. */
const FREE_BYTES_MIN = 2 ** 20
const FREE_BYTES_PER_BYTE = 16
/** Nothing fills this much in AMPLE_MS: while it is free, the disk is not asked again. */
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

/** Where the system can't tell, nothing is refused. */
function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
