// What the local store asks of a file system, as a parameter, so that a test can fail the n-th call.
// The callback functions of node:fs on plain descriptors cost less per call than FileHandle.
import fs from 'node:fs'
import { platform } from 'node:os'

export interface Disk {
  /** Creates the folder if it is not there. */
  makeFolder(folder: string): Promise<void>
  list(folder: string): Promise<readonly string[]>
  /** Makes the names in the folder durable: a new file, a removed one. */
  syncFolder(folder: string): Promise<void>
  /** Creates a file to write; fails if it exists. */
  create(path: string): Promise<number>
  /** A descriptor of a file that is there, around the page cache; fails as `isRefusedDirect` says where there are none. */
  openDirect(path: string, use: 'read' | 'write'): Promise<number>
  open(path: string): Promise<number>
  /** Fills `buffer` from `position`, and returns how many bytes there were. */
  read(fd: number, buffer: Uint8Array, position: number): Promise<number>
  /** Writes all chunks one after the other from `position` on. */
  write(fd: number, chunks: readonly Uint8Array[], position: number): Promise<void>
  sync(fd: number): Promise<void>
  close(fd: number): Promise<void>
  /** A file that is not there is not missed. */
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
    const stats = await fs.promises.stat(path).catch(missing)
    return stats?.size
  },
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

async function openDirect(path: string, use: 'read' | 'write'): Promise<number> {
  // Linux has it, and there not every file system.
  const { O_DIRECT } = fs.constants as { O_DIRECT?: number }
  if (O_DIRECT === undefined) throw Object.assign(new Error(path), { code: 'ENOTSUP' })
  const { O_RDONLY, O_WRONLY } = fs.constants
  return openFile(path, O_DIRECT | (use === 'read' ? O_RDONLY : O_WRONLY))
}

/** What is said to what can't be done around the page cache, for its place, its length or its file system. */
export function isRefusedDirect(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EINVAL' || code === 'ENOTSUP' || code === 'EOPNOTSUPP'
}

async function syncFolder(folder: string): Promise<void> {
  // Windows has no descriptor of a folder; NTFS journals names by itself.
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

/** The chunks behind their first `count` bytes: the kernel may write less than it was given. */
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
