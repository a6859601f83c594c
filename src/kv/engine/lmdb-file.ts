// Looks at the file of LMDB before LMDB does: the package ends the process over a file without a valid first page.
import { closeSync, fstatSync, openSync, readSync, truncateSync } from 'node:fs'

/** Where the two pages that make commits valid have their mark and the number of the transaction (mdb.c, MDB_meta). */
const MAGIC_OFFSET = 24
const MAGIC = 0xbeefc0de
const TRANSACTION_OFFSET = 152
/** Longer than the first commit of a store. */
const UNFINISHED_BYTES_MAX = 2 ** 20

/**
 * A power cut may leave a file whose creation never became durable. The first commit is acknowledged after both pages are, so
 * nothing was stored, and the file begins again. Any other file without a valid first page is damaged.
 */
export function prepareLmdbFile(path: string, pageBytes: number): void {
  const pages = firstPages(path, 2 * pageBytes)
  if (pages === undefined || pages.lengthBytes === 0) return
  const [first, second] = [pages.bytes.subarray(0, pageBytes), pages.bytes.subarray(pageBytes)]
  if (isMeta(first)) return
  if (pages.lengthBytes > UNFINISHED_BYTES_MAX || (isMeta(second) && hasCommitted(second))) {
    throw new Error(`${path} is damaged: it does not begin like a store`)
  }
  truncateSync(path)
}

function isMeta(page: Buffer): boolean {
  return page.length >= TRANSACTION_OFFSET + 8 && page.readUInt32LE(MAGIC_OFFSET) === MAGIC
}

function hasCommitted(page: Buffer): boolean {
  return page.readBigUInt64LE(TRANSACTION_OFFSET) > 0n
}

function firstPages(path: string, lengthBytes: number) {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  try {
    const bytes = Buffer.alloc(lengthBytes)
    const count = readSync(fd, bytes, 0, lengthBytes, 0)
    return { bytes: bytes.subarray(0, count), lengthBytes: fstatSync(fd).size }
  } finally {
    closeSync(fd)
  }
}
