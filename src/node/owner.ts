// Ensures that only one server owns a store. A record names a socket that the owner listens on. The kernel closes the
// socket when the process ends, so a crash is detected at once, even from another container on the same volume; a pid
// may be reused, and a heartbeat has to time out. The record is replaced by compare-and-set, so only one of two servers
// that start together wins. A copy of the folder has the same record; claim.ts tells it from the original.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { LmdbEngine } from '../kv/engine/lmdb.ts'
import type { Value } from '../kv/engine/engine.ts'
import { encodeKey } from '../kv/key.ts'
import { decodeRecord, encodeRecord, StoredRecord } from '../kv/record.ts'
import { answerClaims, claimFolder } from './claim.ts'

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
  const { path, close } = await listen(folder, token)
  const mine = encodeRecord({ token, socket: path, pid } satisfies Mark).value
  try {
    await replaceDeadOwner(engine, mine, folder)
  } catch (error) {
    await close()
    throw error
  }
  return {
    release: async () => {
      engine.replace(OWNER_KEY, mine, undefined)
      await close()
    },
  }
}

async function replaceDeadOwner(engine: LmdbEngine, mine: Value, folder: string): Promise<void> {
  for (;;) {
    const seen = await readMark(engine)
    const mark = seen && decodeRecord<Mark>(new StoredRecord(seen))
    if (mark !== undefined) await requireNotInUse(mark, folder)
    if (engine.replace(OWNER_KEY, seen, mine)) return
  }
}

/** Removes what a dead owner left behind. Whatever belongs to the original of a copied folder stays. */
async function requireNotInUse({ socket, pid }: Mark, folder: string): Promise<void> {
  for (const path of new Set([socket, ...placesOf(socket, folder)])) {
    const claimed = await claimFolder(path, folder)
    if (claimed === 'inUse') {
      throw new StoreInUse(
        `${folder} is in use by another Lazuli server (process ${pid}); stop it or choose another --location`,
      )
    }
    if (claimed === 'dead' && platform() !== 'win32') removeSocket(path)
  }
}

function removeSocket(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It is in a folder of somebody else, where the folder of this store was copied from.
  }
}

/** Another container may have the folder under another path. */
function placesOf(socket: string, folder: string): readonly string[] {
  return platform() === 'win32' ? [] : [join(folder, basename(socket))]
}

async function readMark(engine: LmdbEngine): Promise<Value | undefined> {
  const { keys } = await engine.read({ keys: [{ key: OWNER_KEY }], ranges: [] })
  const [found] = keys
  return typeof found === 'object' ? found.value : undefined
}

/** In the temporary folder if the file system has no sockets or the path is too long. */
async function listen(folder: string, token: string): Promise<Listening> {
  const name = `lazuli-${token.slice(0, 8)}.sock`
  const answer = answerClaims(folder)
  if (platform() === 'win32') return listenAt(`\\\\.\\pipe\\${name}`, answer)
  const inside = join(folder, name)
  if (Buffer.byteLength(inside) <= SOCKET_PATH_MAX) {
    try {
      return await listenAt(inside, answer)
    } catch {
      // The folder can't contain a socket.
    }
  }
  return listenAt(join(tmpdir(), name), answer)
}

type Listening = { readonly path: string; close(): Promise<void> }

function listenAt(path: string, answer: (socket: Socket) => void): Promise<Listening> {
  const open = new Set<Socket>()
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      open.add(socket.unref())
      socket.once('close', () => open.delete(socket))
      answer(socket)
    })
    server.once('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve({ path, close: () => closeServer(server, open) })
    })
  })
}

function closeServer(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  for (const socket of open) socket.destroy()
  return new Promise((resolve) => server.close(() => resolve()))
}
