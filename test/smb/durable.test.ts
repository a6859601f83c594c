// State that survives a connection or the server: durable and persistent handles, replays, and clients that do not
// acknowledge. smbtorture covers the rest; these tests need to stop the server or to advance the time.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND, HEADER_FLAG } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { durableRequest, PERSISTENT, reconnectRequest } from './durable-request.ts'
import { createBody, RawClient, type Answer, type Fields } from './raw-client.ts'

const BATCH = 9
const FILE_ID_AT = 64 + 64
const CREATE_ACTION_AT = 64 + 4

async function start(t: TestContext, folder?: string): Promise<RunningTestServer> {
  const server = await runTestServer({
    silent: true,
    logLevel: 'error',
    ...(folder !== undefined && { folder }),
  })
  t.after(async () => {
    await server.close()
    assert.equal(server.logged(), '')
  })
  const place = { blobPort: server.filePort }
  await rawRequest(place, { method: 'PUT', path: '/box?restype=share' })
  return server
}

async function connect(t: TestContext, { smbPort }: RunningTestServer): Promise<RawClient> {
  const client = await RawClient.open(smbPort)
  t.after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return client
}

async function create(client: RawClient, body: Buffer, fields: Fields = {}): Promise<Answer> {
  const answer = await client.ask(COMMAND.CREATE, body, fields)
  assert(answer !== undefined)
  return answer
}

function fileIdOf({ message, status }: Answer): Buffer {
  assert.equal(status, 'SUCCESS')
  return message.subarray(FILE_ID_AT, FILE_ID_AT + 16)
}

test('a persistent handle survives a restart of the server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-persistent-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const before = await runTestServer({ silent: true, folder })
  await rawRequest({ blobPort: before.filePort }, { method: 'PUT', path: '/box?restype=share' })
  const opened = await create(await connect(t, before), durableRequest(PERSISTENT))
  const fileId = fileIdOf(opened)
  await before.close()
  const server = await start(t, folder)
  const client = await connect(t, server)
  const wrong = await create(client, reconnectRequest(fileId, Buffer.alloc(16, 0xff)))
  assert.equal(wrong.status, 'OBJECT_NAME_NOT_FOUND')
  const again = await create(client, reconnectRequest(fileId))
  assert.deepEqual(fileIdOf(again), fileId)
  const twice = await create(client, reconnectRequest(fileId))
  assert.equal(twice.status, 'OBJECT_NAME_NOT_FOUND')
})

/** The server notices a lost connection at some later time. */
async function untilDetached(client: RawClient, server: RunningTestServer): Promise<void> {
  client.close()
  await client.hasEnded()
  for (let turn = 0; turn < 20; turn += 1) {
    await rawRequest({ blobPort: server.filePort }, { method: 'GET', path: '/?comp=list' })
  }
}

// prettier-ignore
const LOSSES: readonly (readonly [what: string, flags: number, oplockLevel: number, isLate: boolean, outcome: string])[] = [
  ['with a batch oplock',              0,          BATCH, false, 'SUCCESS'],
  ['without an oplock or lease',      0,          0,     false, 'OBJECT_NAME_NOT_FOUND'],
  ['that is persistent',               PERSISTENT, 0,     false, 'SUCCESS'],
  ['with a batch oplock, too late',    0,          BATCH, true,  'OBJECT_NAME_NOT_FOUND'],
  ['that is persistent, too late',     PERSISTENT, 0,     true,  'OBJECT_NAME_NOT_FOUND'],
]
for (const [what, flags, oplockLevel, isLate, outcome] of LOSSES) {
  test(`reconnecting to a handle ${what}: ${outcome}`, async (t) => {
    const server = await start(t)
    const lost = await connect(t, server)
    const fileId = fileIdOf(await create(lost, durableRequest(flags, oplockLevel)))
    await untilDetached(lost, server)
    if (isLate) server.endWaits()
    const client = await connect(t, server)
    assert.equal((await create(client, reconnectRequest(fileId))).status, outcome)
  })
}

test('a replayed CREATE returns the handle and the action of the first one', async (t) => {
  const server = await start(t)
  const client = await connect(t, server)
  const body = durableRequest(0, BATCH)
  const first = await create(client, body)
  assert.equal((await create(client, body)).status, 'DUPLICATE_OBJECTID')
  const replayed = await create(client, body, { flags: HEADER_FLAG.replay })
  assert.deepEqual(fileIdOf(replayed), fileIdOf(first))
  assert.equal(replayed.message.readUInt32LE(CREATE_ACTION_AT), 2)
})

test('the wait for an acknowledgment ends', async (t) => {
  const server = await start(t)
  const holder = await connect(t, server)
  fileIdOf(await create(holder, durableRequest(0, BATCH)))
  const other = await connect(t, server)
  assert.equal((await create(other, createBody('a'))).status, 'PENDING')
  const [notification] = (await holder.answers()) ?? []
  assert.equal(notification?.header.command, COMMAND.OPLOCK_BREAK)
  server.endWaits()
  const [opened] = (await other.answers()) ?? []
  assert.equal(opened?.status, 'SUCCESS')
})
