// The file system operations of the local store, as a parameter, so that a test can fail the n-th call. The callback
// functions of node:fs on plain descriptors cost less per call than FileHandle.
import fs from 'node:fs'
import { platform } from 'node:os'

export interface Disk {
  /** Creates the folder if it does not exist. */
  makeFolder(folder: string): Promise<void>
  list(folder: string): Promise<readonly string[]>
  /** Makes the names in the folder durable: a new file, a removed one. */
  syncFolder(folder: string): Promise<void>
  /** Creates a file to write; fails if it exists. */
  create(path: string): Promise<number>
  /** Opens an existing file for writes that bypass the page cache; see `isRefusedDirect` for file systems that can't. */
  openDirect(path: string): Promise<number>
  open(path: string): Promise<number>
  /** Fills `buffer` from `position` and returns how many bytes it read. */
  read(fd: number, buffer: Uint8Array, position: number): Promise<number>
  /** Writes all chunks in order, starting at `position`. */
  write(fd: number, chunks: readonly Uint8Array[], position: number): Promise<void>
  sync(fd: number): Promise<void>
  close(fd: number): Promise<void>
  /** Ignores a missing file. */
  remove(path: string): Promise<void>
  sizeBytes(path: string): Promise<number | undefined>
}

export const nodeDisk: Disk = {
  makeFolder: async (folder) => {
    await fs.promises.mkdir(folder, { recursive: true, mode: 0o700 })
  },
  list: (folder) => fs.promises.readdir(folder),
  syncFolder,
  create: (path) => openFile(path, 'wx'),
  openDirect,
  open: (path) => openFile(path, 'r'),
  read: readFully,
  write: writeFully,
  sync: (fd) => done((callback) => fs.fdatasync(fd, callback)),
  close: (fd) => done((callback) => fs.close(fd, callback)),
  remove: (path) => fs.promises.rm(path, { force: true }),
  sizeBytes: async (path) => {
    // Not `stat`: on NFS, it may not know yet what another node has written.
    const fd = await openFile(path, 'r').catch(missing)
    if (fd === undefined) return undefined
    try {
      return await fileSize(fd)
    } finally {
      await nodeDisk.close(fd)
    }
  },
}

function fileSize(fd: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.fstat(fd, (error, stats) => (error === null ? resolve(stats.size) : reject(error)))
  })
}

type Callback = (error: NodeJS.ErrnoException | null) => void

function done(start: (callback: Callback) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)))
  })
}

function openFile(path: string, flags: string | number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, 0o600, (error, fd) => (error === null ? resolve(fd) : reject(error)))
  })
}

async function openDirect(path: string): Promise<number> {
  // Only Linux has O_DIRECT.
  const { O_DIRECT } = fs.constants as { O_DIRECT?: number }
  if (O_DIRECT === undefined) throw Object.assign(new Error(path), { code: 'ENOTSUP' })
  return openFile(path, O_DIRECT | fs.constants.O_WRONLY)
}

/** Whether the system refused direct I/O: unsupported by the file system, or not aligned. */
export function isRefusedDirect(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EINVAL' || code === 'ENOTSUP' || code === 'EOPNOTSUPP'
}

async function syncFolder(folder: string): Promise<void> {
  // Windows has no descriptors for folders; NTFS journals names by itself.
  if (platform() === 'win32') return
  const fd = await openFile(folder, 'r')
  try {
    await done((callback) => fs.fsync(fd, callback))
  } finally {
    await nodeDisk.close(fd)
  }
}

async function readFully(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  let filled = 0
  while (filled < buffer.length) {
    const count = await readOnce(
      fd,
      filled === 0 ? buffer : buffer.subarray(filled),
      position + filled,
    )
    if (count === 0) break
    filled += count
  }
  return filled
}

function readOnce(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.read(fd, buffer, 0, buffer.length, position, (error, count) =>
      error === null ? resolve(count) : reject(error),
    )
  })
}

async function writeFully(
  fd: number,
  chunks: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let rest = chunks
  let at = position
  while (rest.length > 0) {
    const count = await writeOnce(fd, rest, at)
    at += count
    rest = without(rest, count)
  }
}

function writeOnce(fd: number, chunks: readonly Uint8Array[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.writev(fd, chunks, position, (error, count) =>
      error === null ? resolve(count) : reject(error),
    )
  })
}

/** The chunks without their first `count` bytes: the kernel may write less than asked. */
function without(chunks: readonly Uint8Array[], count: number): Uint8Array[] {
  const rest: Uint8Array[] = []
  let skip = count
  for (const chunk of chunks) {
    if (chunk.length > skip) rest.push(skip === 0 ? chunk : chunk.subarray(skip))
    skip = Math.max(skip - chunk.length, 0)
  }
  return rest
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
