// Malicious and broken SMB clients. Whatever they send, the server answers or ends the connection: no error in the log,
// no silence, no unbounded memory, and it serves the next valid client.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { COMMAND, HEADER_FLAG, protocolOf } from '../../src/smb/wire/header.ts'
import { recordedSessions } from '../../src/smb/wire/example.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { mutate } from '../mutation.ts'
import { randomFrom, type Random } from '../random.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { createBody, negotiateBody, RawClient, SIMPLE_BODY } from './raw-client.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let server: RunningTestServer

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  const place = { blobPort: server.filePort }
  await rawRequest(place, { method: 'PUT', path: '/box?restype=share' })
})
after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

/** Requests of real clients, to be mutated. */
const REQUESTS: readonly Buffer[] = recordedSessions()
  .flatMap(({ messages }) => messages)
  .filter(({ from, bytes }) => from === 'client' && protocolOf(bytes) === 'smb2')
  .map(({ bytes }) => bytes)

async function onTree(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  assert.equal((await client.logIn(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return client
}

async function checkAlive(): Promise<void> {
  const client = await onTree()
  assert.equal((await client.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
  client.close()
}

function frameOf(message: Buffer): Buffer {
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32BE(message.length)
  return Buffer.concat([prefix, message])
}

/** Whatever the responses are, the last one is that of an ECHO, or the connection has ended. */
async function finish(client: RawClient, lastId: bigint): Promise<void> {
  for (;;) {
    const answers = await client.answers()
    if (answers === undefined || answers.some(({ header }) => header.messageId === lastId)) break
  }
  client.close()
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]

for (const seed of SEEDS) {
  test(`random and mutated messages before a login are survived, seed ${seed}`, async () => {
    const random = randomFrom(seed)
    for (let round = 0; round < 20; round += 1) {
      const client = await RawClient.open(server.smbPort)
      if (round % 2 === 0) client.send(client.next(COMMAND.NEGOTIATE, negotiateBody([0x0210])))
      client.write(noise(random))
      // After half a frame this is part of that frame, and the server correctly waits for the rest.
      client.write(Buffer.alloc(128 * 1024, 0xff))
      assert(await client.hasEnded())
    }
    await checkAlive()
  })
}

function noise(random: Random): Buffer {
  const message = mutate(random.pick(REQUESTS), random)
  switch (random.below(3)) {
    case 0:
      return random.bytes(1 + random.below(400))
    case 1:
      return frameOf(random.bytes(4 + random.below(400)))
    default:
      return frameOf(message)
  }
}

for (const seed of SEEDS) {
  test(`mutated requests after a login are survived, seed ${seed}`, async () => {
    const random = randomFrom(seed * 1_000)
    for (let round = 0; round < 6; round += 1) {
      const client = await onTree()
      await client.ask(COMMAND.ECHO, SIMPLE_BODY, { credits: 500 })
      for (let count = 0; count < 60; count += 1) client.send(...mutatedChain(client, random))
      const lastId = client.nextMessageId
      client.send(client.next(COMMAND.ECHO, SIMPLE_BODY))
      await finish(client, lastId)
    }
    await checkAlive()
  })
}

/** The offset of the file id in the body of a request. */
const FILE_ID_AT: Readonly<Record<number, number>> = {
  [COMMAND.CLOSE]: 8,
  [COMMAND.FLUSH]: 8,
  [COMMAND.READ]: 16,
  [COMMAND.WRITE]: 16,
  [COMMAND.LOCK]: 8,
  [COMMAND.IOCTL]: 8,
  [COMMAND.QUERY_DIRECTORY]: 8,
  [COMMAND.CHANGE_NOTIFY]: 8,
  [COMMAND.QUERY_INFO]: 24,
  [COMMAND.SET_INFO]: 16,
}

const ENDS: ReadonlySet<number> = new Set([
  COMMAND.NEGOTIATE,
  COMMAND.SESSION_SETUP,
  COMMAND.LOGOFF,
  COMMAND.TREE_DISCONNECT,
  COMMAND.CANCEL,
])
const SPOILABLE = REQUESTS.filter((each) => !ENDS.has(each.readUInt16LE(12)))

/** The headers are valid, so that the command itself gets the mutated body; often it has an open file. */
function mutatedChain(client: RawClient, random: Random): readonly Buffer[] {
  const isOpen = random.below(4) > 0
  const isDirectory = random.below(2) === 0
  const create = createBody(`f${random.below(5)}${isDirectory}`, 3, isDirectory ? 1 : 0x40)
  const first = isOpen ? [client.next(COMMAND.CREATE, create)] : []
  const others = Array.from({ length: 1 + random.below(3) }, () => {
    const recorded = random.pick(SPOILABLE)
    const command = recorded.readUInt16LE(12)
    const body = Buffer.from(recorded.subarray(64))
    const fileIdAt = FILE_ID_AT[command]
    if (isOpen && fileIdAt !== undefined) body.fill(0xff, fileIdAt, fileIdAt + 16)
    const mutated = random.below(4) === 0 ? body : mutateField(body, random)
    return client.next(command, mutated, { flags: isOpen ? HEADER_FLAG.related : 0 })
  })
  return [...first, ...others]
}

/** Mostly changes a number, since a truncated or shifted body fails the first check. */
function mutateField(body: Buffer, random: Random): Buffer {
  if (random.below(3) === 0) return mutate(body, random)
  const mutated = Buffer.from(body)
  const value = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)])
  const at = 2 + random.below(mutated.length - 2)
  mutated.fill(value, at, Math.min(mutated.length, at + random.pick([1, 2, 4, 8])))
  return mutated
}

const READ_BYTES = 1024 * 1024
const READ_COUNT = 400

function readBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(49)
  body.writeUInt16LE(49, 0)
  body.writeUInt32LE(READ_BYTES, 4)
  fileId.copy(body, 16)
  return body
}

function writeBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt16LE(49, 0)
  body.writeUInt16LE(64 + 48, 2)
  body.writeUInt32LE(READ_BYTES, 4)
  fileId.copy(body, 16)
  return Buffer.concat([body, Buffer.alloc(READ_BYTES, 7)])
}

const heldBytes = (): number => {
  collect()
  return process.memoryUsage().arrayBuffers
}

test('the server stops reading from a client that does not read responses', async () => {
  const client = await onTree()
  await client.ask(COMMAND.ECHO, SIMPLE_BODY, { credits: 8_000 })
  const created = await client.ask(COMMAND.CREATE, createBody('large'))
  assert.equal(created?.status, 'SUCCESS')
  const fileId = created.message.subarray(64 + 64, 64 + 80)
  const creditCharge = 16
  const written = await client.ask(COMMAND.WRITE, writeBody(fileId), { creditCharge })
  assert.equal(written?.status, 'SUCCESS')
  const beforeBytes = heldBytes()
  client.pause()
  for (let count = 0; count < READ_COUNT; count += 1) {
    client.send(client.next(COMMAND.READ, readBody(fileId), { creditCharge }))
  }
  // Requests of another client show that the server has processed everything.
  for (let turn = 0; turn < 5; turn += 1) await checkAlive()
  assert(heldBytes() - beforeBytes < 200 * 1024 * 1024, 'not all responses are buffered')
  client.resume()
  for (let count = 0; count < READ_COUNT; count += 1) {
    const [answer] = (await client.answers()) ?? []
    assert.equal(answer?.status, 'SUCCESS')
  }
  client.close()
})

test('a client that never reads is disconnected', async () => {
  const client = await onTree()
  await client.ask(COMMAND.ECHO, SIMPLE_BODY, { credits: 8_000 })
  const created = await client.ask(COMMAND.CREATE, createBody('large'))
  const fileId = created?.message.subarray(64 + 64, 64 + 80) ?? Buffer.alloc(16)
  client.pause()
  for (let count = 0; count < READ_COUNT; count += 1) {
    client.send(client.next(COMMAND.READ, readBody(fileId), { creditCharge: 16 }))
  }
  for (let turn = 0; turn < 5; turn += 1) await checkAlive()
  for (let look = 0; look < 3; look += 1) server.endWaits()
  client.resume()
  assert(await client.hasEnded())
})

test('closed connections leave nothing behind', async () => {
  for (let round = 0; round < 3; round += 1) {
    const clients = await Promise.all(Array.from({ length: 30 }, () => onTree()))
    for (const client of clients) {
      client.send(client.next(COMMAND.CREATE, createBody('left')))
      client.close()
    }
  }
  await checkAlive()
})
