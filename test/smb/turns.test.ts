// Long requests of an SMB client give way: another client is answered before they end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encodeFramePrefix } from '../../src/smb/wire/frame.ts'
import { COMMAND, HEADER_FLAG } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { closeBody, createBody, RawClient, SIMPLE_BODY } from './raw-client.ts'

const COMPOUND_COUNT_MAX = 1_024
const FRAMES_PER_TURN = 128
const LOCK_COUNT_MAX = 1_000
const OPEN_COUNT = 1_900
const CREDITS = 8_192

let server: RunningTestServer

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  await rawRequest({ blobPort: server.filePort }, { method: 'PUT', path: '/box?restype=share' })
})
after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

async function onTree(): Promise<RawClient> {
  const client = await RawClient.open(server.smbPort)
  await client.negotiate([0x0210], { credits: CREDITS })
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box', { credits: CREDITS }))?.status, 'SUCCESS')
  return client
}

/** CREATE and CLOSE of one file, again and again. */
function createsAndCloses(client: RawClient, count: number): Buffer[] {
  const related = { flags: HEADER_FLAG.related }
  return Array.from({ length: count }, (_, at) =>
    at % 2 === 0
      ? client.next(COMMAND.CREATE, createBody('file'))
      : client.next(COMMAND.CLOSE, closeBody(), related),
  )
}

function sendAtOnce(client: RawClient, messages: readonly Buffer[]): void {
  client.write(Buffer.concat(messages.flatMap((each) => [encodeFramePrefix(each.length), each])))
}

async function openMany(client: RawClient): Promise<void> {
  const creates = Array.from({ length: OPEN_COUNT }, () =>
    client.next(COMMAND.CREATE, createBody('file'), { credits: 1 }),
  )
  sendAtOnce(client, creates)
  for (const _ of creates) assert.equal((await client.answers())?.[0]?.status, 'SUCCESS')
}

/** Sends the long request and then an ECHO of another client, and returns the frames received for the former. */
async function framesBeforeEcho(long: RawClient, send: () => void): Promise<number> {
  const other = await onTree()
  send()
  assert.equal((await other.ask(COMMAND.ECHO, SIMPLE_BODY))?.status, 'SUCCESS')
  other.close()
  return long.waitingCount
}

test('a long compound gives way to other clients', async () => {
  const client = await onTree()
  const parts = createsAndCloses(client, COMPOUND_COUNT_MAX)
  assert.equal(await framesBeforeEcho(client, () => client.send(...parts)), 0)
  assert.equal((await client.answers())?.length, COMPOUND_COUNT_MAX)
  client.close()
})

test('requests that a client sends at once start over many turns', async () => {
  const client = await onTree()
  const count = 6_000
  const echoes = Array.from({ length: count }, () => client.next(COMMAND.ECHO, SIMPLE_BODY))
  let turnCount = 0
  let isDone = false
  const countTurns = (): void => {
    turnCount += 1
    if (!isDone) setImmediate(countTurns)
  }
  setImmediate(countTurns)
  sendAtOnce(client, echoes)
  for (const _ of echoes) assert.equal((await client.answers())?.[0]?.status, 'SUCCESS')
  isDone = true
  client.close()
  assert(turnCount >= Math.floor(count / FRAMES_PER_TURN), `${turnCount} turns`)
})

test('the end of a session with many opens gives way to other clients', async () => {
  const client = await onTree()
  await openMany(client)
  const logoff = client.next(COMMAND.LOGOFF, SIMPLE_BODY)
  assert.equal(await framesBeforeEcho(client, () => client.send(logoff)), 0)
  assert.equal((await client.answers())?.[0]?.status, 'SUCCESS')
  client.close()
})

test('a compound of more messages than any client sends ends the connection', async () => {
  const client = await onTree()
  const parts = Array.from({ length: COMPOUND_COUNT_MAX + 1 }, () =>
    client.next(COMMAND.ECHO, SIMPLE_BODY),
  )
  client.send(...parts)
  assert(await client.hasEnded())
})

for (const [count, status] of [
  [LOCK_COUNT_MAX, 'SUCCESS'],
  [LOCK_COUNT_MAX + 1, 'INSUFFICIENT_RESOURCES'],
] as const) {
  test(`LOCK of ${count} ranges, and unlocking them: ${status}`, async () => {
    const client = await onTree()
    const created = await client.ask(COMMAND.CREATE, createBody('locked'))
    assert(created)
    for (const flags of [0x12, 4]) {
      const body = Buffer.alloc(24 + 24 * count)
      body.writeUInt16LE(48, 0)
      body.writeUInt16LE(count, 2)
      created.message.copy(body, 8, 128, 144)
      for (let at = 0; at < count; at += 1) {
        body.writeBigUInt64LE(BigInt(at * 2), 24 + 24 * at)
        body.writeBigUInt64LE(1n, 32 + 24 * at)
        body.writeUInt32LE(flags, 40 + 24 * at)
      }
      assert.equal((await client.ask(COMMAND.LOCK, body))?.status, status)
    }
    client.close()
  })
}
