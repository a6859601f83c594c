// Looks at the file of LMDB before LMDB does: the process would end over a file without a valid first page, or over a page
// that lies behind the end of the file.
import { closeSync, fstatSync, openSync, readSync, truncateSync } from 'node:fs'

/** Where the two pages that make commits valid have their mark and the number of the transaction (mdb.c, MDB_meta). */
const MAGIC_OFFSET = 24
const MAGIC = 0xbeefc0de
const TRANSACTION_OFFSET = 152
const LAST_PAGE_OFFSET = 144
/** The first page of the free list, and that of the records; all ones if there is none. */
const ROOT_OFFSETS = [88, 136] as const
const NO_PAGE = 2n ** 64n - 1n
/** Longer than the first commit of a store. */
const UNFINISHED_BYTES_MAX = 2 ** 20

class LmdbDamaged extends Error {}

/**
 * A power cut may leave a file whose creation never became durable. The first commit is acknowledged after both pages are, so
 * nothing was stored, and the file begins again. Any other file without a valid first page is damaged.
 */
export function prepareLmdbFile(path: string, pageBytes: number): void {
  const pages = firstPages(path, 2 * pageBytes)
  if (pages === undefined || pages.lengthBytes === 0) return
  const [first, second] = [pages.bytes.subarray(0, pageBytes), pages.bytes.subarray(pageBytes)]
  if (isMeta(first)) return fillUp(path, pages.lengthBytes, pageBytes, [first, second])
  if (pages.lengthBytes > UNFINISHED_BYTES_MAX || (isMeta(second) && hasCommitted(second))) {
    throw new LmdbDamaged(`${path} is damaged: it does not begin like a store`)
  }
  truncateSync(path)
}

/**
 * A file that has lost its end, such as a copy that was interrupted. LMDB may also leave out last pages that nobody uses, so a
 * short file is not necessarily damaged: it is filled up with zeros, over which a read fails.
 */
function fillUp(
  path: string,
  lengthBytes: number,
  pageBytes: number,
  pages: readonly Buffer[],
): void {
  const [meta] = pages
    .filter(isMeta)
    .toSorted((a, b) => Number(transactionOf(b) - transactionOf(a)))
  if (meta === undefined) return
  const pageCount = BigInt(Math.floor(lengthBytes / pageBytes))
  const roots = ROOT_OFFSETS.map((offset) => meta.readBigUInt64LE(offset))
  if (roots.some((root) => root !== NO_PAGE && root >= pageCount))
    throw new LmdbDamaged(`${path} is damaged: its end is missing`)
  const wholeBytes = (Number(meta.readBigUInt64LE(LAST_PAGE_OFFSET)) + 1) * pageBytes
  if (lengthBytes < wholeBytes) truncateSync(path, wholeBytes)
}

/** The file was refused, or LMDB could not read its own pages. */
export function isLmdbDamage(error: unknown): error is Error {
  if (error instanceof LmdbDamaged) return true
  return error instanceof Error && /^MDB_(PAGE_NOTFOUND|CORRUPTED|INVALID)\b/.test(error.message)
}

function transactionOf(page: Buffer): bigint {
  return page.readBigUInt64LE(TRANSACTION_OFFSET)
}

function isMeta(page: Buffer): boolean {
  return page.length >= TRANSACTION_OFFSET + 8 && page.readUInt32LE(MAGIC_OFFSET) === MAGIC
}

function hasCommitted(page: Buffer): boolean {
  return transactionOf(page) > 0n
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
