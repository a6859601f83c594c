// The SMB rows of loop-delay.ts: the longest requests that a client can send over one connection.
import { encodeFramePrefix } from '../src/smb/wire/frame.ts'
import { COMMAND, HEADER_FLAG } from '../src/smb/wire/header.ts'
import {
  closeBody,
  createBody,
  RawClient,
  SIMPLE_BODY,
  type Fields,
} from '../test/smb/raw-client.ts'
import type { Row, World } from './loop-delay.ts'
import { ACCOUNT, ACCOUNT_KEY } from './sas.ts'

const SHARE = 'smb'
const DIRECTORY_COUNT = 20_000
const OPEN_COUNT = 10_000
/** One less than the limit. */
const ROOT_OPEN_COUNT = 9_999
/** The most that an open may hold, and that a request may name. */
const LOCK_COUNT = 10_000
const ELEMENT_COUNT = 1_000
const COMPOUND_COUNT = 1_024
const PIPELINED_COUNT = 4_000
/** Each request asks for this many credits, so that a whole compound can be sent. */
const CREDITS = 8_192
const TRANSFER_BYTES = 8 * 1_024 * 1_024
/** FILE_ID_BOTH_DIRECTORY_INFORMATION */
const ENTRY_CLASS = 37
const DIRECTORY = 1
const [UNLOCK, EXCLUSIVE] = [4, 0x12]

async function connect({ smbPort }: World): Promise<RawClient> {
  const client = await RawClient.open(smbPort)
  await client.negotiate([0x0210], { credits: CREDITS })
  await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  await client.connectTree(SHARE, { credits: CREDITS })
  return client
}

async function ask(client: RawClient, command: number, body: Buffer, fields: Fields = {}) {
  const answer = await client.ask(command, body, { credits: CREDITS, ...fields })
  if (answer === undefined) throw new Error('the connection has ended')
  return answer
}

/** Returns the id of the open. */
async function open(client: RawClient, name: string, options = 0): Promise<Buffer> {
  const { message, status } = await ask(client, COMMAND.CREATE, createBody(name, 3, options))
  if (status !== 'SUCCESS') throw new Error(`CREATE ${name}: ${status}`)
  return message.subarray(128, 144)
}

function queryDirectoryBody(fileId: Buffer, pattern: string): Buffer {
  const text = Buffer.from(pattern, 'utf16le')
  const body = Buffer.alloc(32)
  body.writeUInt16LE(33, 0)
  body.writeUInt8(ENTRY_CLASS, 2)
  body.writeUInt8(0x10, 3)
  fileId.copy(body, 8)
  body.writeUInt16LE(64 + 32, 24)
  body.writeUInt16LE(text.length, 26)
  body.writeUInt32LE(TRANSFER_BYTES, 28)
  return Buffer.concat([body, text])
}

/** Locks or unlocks every other byte, starting at the element `from`. */
function lockBody(fileId: Buffer, flags: number, from: number, count = ELEMENT_COUNT): Buffer {
  const body = Buffer.alloc(24 + 24 * count)
  body.writeUInt16LE(48, 0)
  body.writeUInt16LE(count, 2)
  fileId.copy(body, 8)
  for (let at = 0; at < count; at += 1) {
    body.writeBigUInt64LE(BigInt((from + at) * 2), 24 + 24 * at)
    body.writeBigUInt64LE(1n, 32 + 24 * at)
    body.writeUInt32LE(flags, 40 + 24 * at)
  }
  return body
}

function changeNotifyBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(32)
  body.writeUInt16LE(32, 0)
  body.writeUInt16LE(1, 2)
  body.writeUInt32LE(0xffff, 4)
  fileId.copy(body, 8)
  body.writeUInt32LE(0xfff, 24)
  return body
}

async function createFiles({ ask: askRest }: World, folder: string, count: number): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const name = String(next++).padStart(8, '0')
      const headers = {
        'x-ms-type': 'file',
        'x-ms-content-length': '0',
        'x-ms-file-request-intent': 'backup',
      }
      await askRest({
        service: 'file',
        method: 'PUT',
        path: `/${SHARE}/${folder}/${name}`,
        headers,
      })
    }
  }
  await Promise.all(Array.from({ length: 16 }, work))
}

async function openMany(
  client: RawClient,
  count: number,
  nameOf: (at: number) => string,
  options = 0,
): Promise<void> {
  const BATCH = 64
  for (let at = 0; at < count; at += BATCH) {
    const size = Math.min(BATCH, count - at)
    for (let index = at; index < at + size; index += 1) {
      client.send(
        client.next(COMMAND.CREATE, createBody(nameOf(index), 3, options), { credits: CREDITS }),
      )
    }
    for (let index = 0; index < size; index += 1) await client.answers()
  }
}

async function measureDirectory(world: World, client: RawClient): Promise<void> {
  const directory = await open(client, 'many', DIRECTORY)
  await createFiles(world, 'many', DIRECTORY_COUNT)
  const charged = { creditCharge: TRANSFER_BYTES / 65_536 }
  for (const [name, pattern] of [
    ['all', '*'],
    ['none matches', '*none'],
    ['hostile pattern', `${'*0'.repeat(60)}none`],
  ] as const) {
    await world.measure(`QUERY_DIRECTORY of 20,000, ${name}`, () =>
      ask(client, COMMAND.QUERY_DIRECTORY, queryDirectoryBody(directory, pattern), charged),
    )
  }
}

async function measureLocks(world: World, client: RawClient): Promise<void> {
  const file = await open(client, 'locked')
  const lock = (flags: number, from: number) =>
    ask(client, COMMAND.LOCK, lockBody(file, flags, from))
  const last = LOCK_COUNT - ELEMENT_COUNT
  for (let from = 0; from < last; from += ELEMENT_COUNT) await lock(EXCLUSIVE, from)
  await world.measure('LOCK of 1,000 ranges, 9,000 held', () => lock(EXCLUSIVE, last))
  await world.measure('LOCK of 1 range, 10,000 held', () =>
    ask(client, COMMAND.LOCK, lockBody(file, EXCLUSIVE, 0, 1)),
  )
  await world.measure('LOCK to unlock 1,000, 10,000 held', () => lock(UNLOCK, last))
}

async function measureWatch(world: World, client: RawClient): Promise<void> {
  const root = await open(client, '', DIRECTORY)
  await open(client, 'watched', DIRECTORY)
  const watcher = client.next(COMMAND.CHANGE_NOTIFY, changeNotifyBody(root), { credits: CREDITS })
  await world.measure('CHANGE_NOTIFY of a tree, 5,000 changes', async () => {
    client.send(watcher)
    await createFiles(world, 'watched', 5_000)
  })
  client.close()
}

async function measureCompound(world: World, client: RawClient): Promise<void> {
  const file = await open(client, 'compound')
  const directory = await open(client, 'many', DIRECTORY)
  const compound = (name: string, make: (at: number) => Buffer) =>
    world.measure(`Compound of 1,024, ${name}`, async () => {
      client.send(...Array.from({ length: COMPOUND_COUNT }, (_, at) => make(at)))
      for (let count = 0; count < COMPOUND_COUNT;) {
        count += (await client.answers())?.length ?? Infinity
      }
    })
  const create = createBody('compound')
  await compound('ECHO', () => client.next(COMMAND.ECHO, SIMPLE_BODY))
  await compound('CREATE and CLOSE', (at) =>
    at % 2 === 0
      ? client.next(COMMAND.CREATE, create)
      : client.next(COMMAND.CLOSE, closeBody(), { flags: HEADER_FLAG.related }),
  )
  const query = queryDirectoryBody(directory, '*')
  query.writeUInt32LE(65_536, 28)
  await compound('QUERY_DIRECTORY', () => client.next(COMMAND.QUERY_DIRECTORY, query))
  await world.measure('4,000 CREATEs and CLOSEs at once', async () => {
    const frames = Array.from({ length: PIPELINED_COUNT }, (_, at) =>
      at % 2 === 0
        ? client.next(COMMAND.CREATE, create)
        : client.next(COMMAND.CLOSE, closeBody(file)),
    )
    client.write(Buffer.concat(frames.flatMap((frame) => [encodeFramePrefix(frame.length), frame])))
    for (let at = 0; at < PIPELINED_COUNT; at += 1) await client.answers()
  })
}

async function measureOpens(world: World, client: RawClient): Promise<void> {
  await openMany(client, ROOT_OPEN_COUNT, () => '', DIRECTORY)
  await world.measure('CREATE of the root, 9,999 opens', () => open(client, '', DIRECTORY))
  await world.measure('LOGOFF with 10,000 opens of the root', () =>
    ask(client, COMMAND.LOGOFF, SIMPLE_BODY),
  )
}

async function measureTree(world: World, client: RawClient): Promise<void> {
  await openMany(client, OPEN_COUNT, (at) => `many\\${String(at).padStart(8, '0')}`)
  await world.measure('TREE_DISCONNECT of 10,000 opens', () =>
    ask(client, COMMAND.TREE_DISCONNECT, SIMPLE_BODY),
  )
}

export const SMB_ROW: Row = {
  name: 'smb',
  async run(world) {
    await world.ask({ service: 'file', method: 'PUT', path: `/${SHARE}?restype=share` })
    const works = [
      measureDirectory,
      measureLocks,
      measureWatch,
      measureCompound,
      measureTree,
      measureOpens,
    ]
    for (const work of works) {
      const client = await connect(world)
      await work(world, client).catch((error: unknown) => console.log(String(error)))
      client.close()
    }
  },
}
