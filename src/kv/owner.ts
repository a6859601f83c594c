// One server owns a store. Its mark is a record that names a socket the owner listens on: the kernel
// closes the socket with the process, so a crashed owner is seen to be gone at once (a pid may be reused,
// a heartbeat must time out), also from another container on the same volume. The record is replaced by
// compare-and-set in a transaction, so two servers that start together can't both win.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, connect, type Server } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeKey } from './key.ts'
import type { Kv } from './kv.ts'
import { decodeRecord, encodeRecord } from './record.ts'

export type Owner = {
  readonly token: string
  /** Who writes: this process only, or it and its workers, or it for an owner. */
  readonly role: 'alone' | 'owner' | 'worker'
  release(): Promise<void>
}
type Mark = {
  readonly token: string
  readonly socket: string
  readonly pid: number
  /** Its worker processes may write too. */
  readonly workers?: boolean
}

export type Taker = {
  readonly folder: string
  readonly pid: number
  /** The owner will have worker processes. */
  readonly workers?: boolean
  /** Of the owner that this process works for. */
  readonly ownerToken?: string
}

const OWNER_KEY = encodeKey('owner')
/** The longest path that a Unix socket may have on every system. */
const SOCKET_PATH_MAX = 100

export class StoreInUse extends Error {}

/**
 * Takes the store of `folder`. A worker process passes the token of an owner that has workers and shares
 * the store; anyone else is refused while the owner lives.
 */
export async function takeOwnership(kv: Kv, taker: Taker): Promise<Owner> {
  const { folder, pid, workers = false, ownerToken } = taker
  const mark = ownerToken === undefined ? undefined : await readMark(kv)
  if (mark?.workers === true && mark.token === ownerToken) {
    return { token: mark.token, role: 'worker', release: async () => {} }
  }
  const token = randomUUID()
  const { server, path } = await listen(folder, token)
  try {
    await replaceDeadOwner(kv, { token, socket: path, pid, workers }, folder)
  } catch (error) {
    await close(server)
    throw error
  }
  return {
    token,
    role: workers ? 'owner' : 'alone',
    release: async () => {
      await kv.write(function* (tx) {
        const value = yield* tx.get(OWNER_KEY)
        if (value !== undefined && decodeRecord<Mark>(value).token === token) tx.delete(OWNER_KEY)
      })
      await close(server)
    },
  }
}

async function replaceDeadOwner(kv: Kv, mine: Mark, folder: string): Promise<void> {
  for (;;) {
    const seen = await readMark(kv)
    if (seen !== undefined && (await isAlive(seen.socket))) {
      throw new StoreInUse(`${folder} is in use by another Lazuli server (process ${seen.pid})`)
    }
    const taken = await kv.write(function* (tx) {
      const value = yield* tx.get(OWNER_KEY)
      const current = value === undefined ? undefined : decodeRecord<Mark>(value)
      if (current?.token !== seen?.token) return false
      tx.put(OWNER_KEY, encodeRecord(mine))
      return true
    })
    if (!taken) continue
    if (seen !== undefined && platform() !== 'win32') rmSync(seen.socket, { force: true })
    return
  }
}

function readMark(kv: Kv): Promise<Mark | undefined> {
  return kv.read(function* (tx) {
    const value = yield* tx.get(OWNER_KEY)
    return value === undefined ? undefined : decodeRecord<Mark>(value)
  })
}

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Some file systems have no sockets, and deep folders have paths that are too long: then in tmp. */
async function listen(folder: string, token: string): Promise<{ server: Server; path: string }> {
  const name = `lazuli-${token.slice(0, 8)}.sock`
  if (platform() === 'win32') return listenAt(`\\\\.\\pipe\\${name}`)
  const inside = join(folder, name)
  if (Buffer.byteLength(inside) <= SOCKET_PATH_MAX) {
    try {
      return await listenAt(inside)
    } catch {
      // Fall through: the folder can't hold a socket.
    }
  }
  return listenAt(join(tmpdir(), name))
}

function listenAt(path: string): Promise<{ server: Server; path: string }> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve({ server, path })
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
