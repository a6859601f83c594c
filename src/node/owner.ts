// Ensures that only one server owns a store. A record names a socket that the owner listens on. The kernel closes the
// socket when the process ends, so a crash is detected at once, even from another container on the same volume; a pid
// may be reused, and a heartbeat has to time out. The record is replaced by compare-and-set, so only one of two servers
// that start together wins.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, connect, type Server } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LmdbEngine } from '../kv/engine/lmdb.ts'
import type { Value } from '../kv/engine/engine.ts'
import { encodeKey } from '../kv/key.ts'
import { decodeRecord, encodeRecord, StoredRecord } from '../kv/record.ts'

export type Owner = { release(): Promise<void> }

type Mark = { readonly token: string; readonly socket: string; readonly pid: number }

export type Taker = { readonly folder: string; readonly pid: number }

const OWNER_KEY = encodeKey('owner')
/** The longest path of a Unix socket that works on all systems. */
const SOCKET_PATH_MAX = 100

export class StoreInUse extends Error {}

/** Takes ownership of the store in `folder`, unless its owner is alive. */
export async function takeOwnership(engine: LmdbEngine, { folder, pid }: Taker): Promise<Owner> {
  const token = randomUUID()
  const { server, path } = await listen(folder, token)
  const mine = encodeRecord({ token, socket: path, pid } satisfies Mark).value
  try {
    await replaceDeadOwner(engine, mine, folder)
  } catch (error) {
    await close(server)
    throw error
  }
  return {
    release: async () => {
      engine.replace(OWNER_KEY, mine, undefined)
      await close(server)
    },
  }
}

async function replaceDeadOwner(engine: LmdbEngine, mine: Value, folder: string): Promise<void> {
  for (;;) {
    const seen = await readMark(engine)
    const mark = seen && decodeRecord<Mark>(new StoredRecord(seen))
    if (mark !== undefined && (await isAlive(mark.socket))) {
      throw new StoreInUse(
        `${folder} is in use by another Lazuli server (process ${mark.pid}); stop it or choose another --location`,
      )
    }
    if (!engine.replace(OWNER_KEY, seen, mine)) continue
    if (mark !== undefined && platform() !== 'win32') rmSync(mark.socket, { force: true })
    return
  }
}

async function readMark(engine: LmdbEngine): Promise<Value | undefined> {
  const { keys } = await engine.read({ keys: [{ key: OWNER_KEY }], ranges: [] })
  const [found] = keys
  return typeof found === 'object' ? found.value : undefined
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

/** In the temporary folder if the file system has no sockets or the path is too long. */
async function listen(folder: string, token: string): Promise<{ server: Server; path: string }> {
  const name = `lazuli-${token.slice(0, 8)}.sock`
  if (platform() === 'win32') return listenAt(`\\\\.\\pipe\\${name}`)
  const inside = join(folder, name)
  if (Buffer.byteLength(inside) <= SOCKET_PATH_MAX) {
    try {
      return await listenAt(inside)
    } catch {
      // The folder can't contain a socket.
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
